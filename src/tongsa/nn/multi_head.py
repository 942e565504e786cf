"""Multi-head attention (Vaswani et al. 2017, section 3.2.2), for whole sequences and step by step.

    inputs (batch, length, width)
       │ one product projects queries, keys and values of all heads
       ▼
    split heads: (batch, head, length, head width)
       │ attention in each head (nn/attention.py), with an optional window (nn/local_attention.py)
       ▼
    merge heads: (batch, length, heads · value width) ─► output projection ─► (batch, length, width)

In a step there is one query for each row. The rows may be in several groups at different positions. Linear layers run
over all rows together; attention runs group by group, because the caches have different lengths.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from tongsa.nn.attention import AttentionScore, KeyValue, build_attention
from tongsa.nn.kv_cache import RowGroup, concat_groups
from tongsa.nn.linear import Linear
from tongsa.nn.local_attention import Window, blockwise_local_attention, masked_local_attention
from tongsa.nn.masks import key_mask
from tongsa.nn.positions import apply_rotary
from tongsa.nn.recording import AttentionRole, is_recording, record


@dataclass(frozen=True, kw_only=True)
class HeadConfig:
    """Number and widths of the heads, and the score function."""

    count: int
    key_width: int
    """Width of each head's queries and keys (d_k)."""
    value_width: int
    """Width of each head's values (d_v)."""
    score_function: AttentionScore = "scaled-dot"
    qk_norm: bool = False
    """Normalize queries and keys before they are compared."""
    dropout: float = 0.0
    """Dropout rate of the attention weights."""
    bias: bool = True
    """Biases of the projections of queries, keys, values and the output."""

    @property
    def equal_widths(self) -> bool:
        """True if d_k = d_v: then keys and values fit into one matrix of equal blocks."""
        return self.key_width == self.value_width


def split_heads(merged: Tensor, heads: int) -> Tensor:  # (batch, head, length, head width)
    return merged.view(*merged.shape[:2], heads, -1).transpose(1, 2)


def merge_heads(split: Tensor) -> Tensor:  # (batch, length, width)
    return split.transpose(1, 2).flatten(2)


class QKNorm(nn.RMSNorm):
    """The norm of each head's queries or keys; all heads share its learned scale."""

    def __init__(self, key_width: int) -> None:
        super().__init__(key_width, eps=1e-5)

    def forward(self, x: Tensor) -> Tensor:  # (batch, head, length, key width)
        return record("attention.qk_norm", self, super().forward(x), x=x, gamma=self.weight, eps=1e-5)


def build_qk_norm(heads: HeadConfig) -> nn.Module:
    return QKNorm(heads.key_width) if heads.qk_norm else nn.Identity()


class SelfAttention(nn.Module):
    """Queries, keys and values of all heads from one product, or from two products if d_k and d_v differ."""

    def __init__(
        self,
        width: int,
        heads: HeadConfig,
        role: AttentionRole,
        *,
        gain: float,
        window: Window | None = None,
        rotary: bool = False,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.role: AttentionRole = role
        self.window = window
        self.rotary = rotary
        keys, values = heads.count * heads.key_width, heads.count * heads.value_width
        blocks = 3 if heads.equal_widths else 2
        self.qkv_projection = Linear(width, blocks * keys, blocks=blocks, bias=heads.bias)
        self.value_projection = None if heads.equal_widths else Linear(width, values, bias=heads.bias)
        self.query_norm, self.key_norm = build_qk_norm(heads), build_qk_norm(heads)
        self.attention = build_attention(heads.score_function, heads.count, heads.key_width, heads.dropout)
        self.output_projection = Linear(values, width, gain=gain, bias=heads.bias)

    def _project_qkv(self, inputs: Tensor) -> tuple[Tensor, KeyValue]:  # each (batch, head, length, head width)
        if self.value_projection is None:
            projected = self.qkv_projection(inputs).chunk(3, dim=-1)
        else:
            projected = (*self.qkv_projection(inputs).chunk(2, dim=-1), self.value_projection(inputs))
        query, keys, values = (split_heads(part, self.heads.count) for part in projected)
        query = record("attention.query", self, query, x=inputs)
        keys = record("attention.key", self, keys, x=inputs)
        values = record("attention.value", self, values, x=inputs)
        return self.query_norm(query), KeyValue(self.key_norm(keys), values)

    def _apply_rotary(self, query: Tensor, kv: KeyValue, position: int) -> tuple[Tensor, KeyValue]:
        if not self.rotary:
            return query, kv
        rotated_query, rotated_keys = apply_rotary(query, position), apply_rotary(kv.keys, position)
        rotated_query = record("attention.rotary_query", self, rotated_query, x=query)
        return rotated_query, kv._replace(keys=record("attention.rotary_key", self, rotated_keys, x=kv.keys))

    def forward(self, inputs: Tensor, padding_mask: Tensor, *, causal: bool = False) -> Tensor:
        """Attend over whole sequences (batch, length, width); padding_mask (batch, length) is True for tokens."""
        query, kv = self._apply_rotary(*self._project_qkv(inputs), 0)
        if self.window is None:
            # padding is on the right: a causal query cannot see it, and needs no other mask
            mask = None if causal else key_mask(padding_mask)
            context = self.attention(query, kv, mask, self.role, causal=causal)
        else:
            fits_window = query.shape[2] <= self.window.size
            local_attention = masked_local_attention if is_recording() or fits_window else blockwise_local_attention
            context = local_attention(query, kv, padding_mask, self.window, partial(self.attention, role=self.role))
        merged = record("attention.merged", self, merge_heads(context), Z=context)
        return record("attention.output", self, self.output_projection(merged), x=merged)

    def step(self, inputs: Tensor, groups: Sequence[RowGroup], layer_index: int) -> Tensor:  # (row, width)
        """Attend from one position of each row (row, width) to all before it; write keys and values into the cache.

        No mask is needed: the cache holds only earlier positions of the same row.
        """
        qkv = self.qkv_projection.forward(inputs)  # (row, queries, keys and values of all heads)
        if self.value_projection is not None:
            qkv = torch.cat([qkv, self.value_projection.forward(inputs)], dim=1)
        key_width = self.heads.count * self.heads.key_width
        contexts: list[Tensor] = []
        for group in groups:
            query, new_slot = qkv[group.rows, :key_width], qkv[group.rows, key_width:]
            query = query.view(-1, self.heads.count, 1, self.heads.key_width)  # (row, head, 1, key width)
            if self.heads.qk_norm or self.rotary:
                query, new_slot = self._normalize_and_rotate(query, new_slot, group.position)
            slots = group.slots[:, :, layer_index]  # (slot, row, keys and values of all heads)
            slots[-1].copy_(new_slot)
            context = self.attention.forward(query, self._split_cache(slots), None, self.role)
            contexts.append(context.flatten(1))
        return self.output_projection.forward(concat_groups(contexts, inputs.shape[0]))

    def _normalize_and_rotate(self, query: Tensor, new_slot: Tensor, position: int) -> tuple[Tensor, Tensor]:
        """Return the query (row, head, 1, key width) and the new slot (row, keys and values) as they are compared."""
        key_width = self.heads.count * self.heads.key_width
        keys, values = new_slot[:, :key_width].view_as(query), new_slot[:, key_width:]
        query, kv = self._apply_rotary(self.query_norm(query), KeyValue(self.key_norm(keys), values), position)
        return query, torch.cat([kv.keys.flatten(1), values], dim=1)

    def _split_cache(self, slots: Tensor) -> KeyValue:  # each (row, head, slot, head width): views
        """Split the cached slots (slot, row, keys and values of all heads)."""
        num_slots, rows, _ = slots.shape
        if self.heads.equal_widths:
            split = slots.view(num_slots, rows, 2, self.heads.count, self.heads.key_width)
            return KeyValue(*split.permute(2, 1, 3, 0, 4).unbind(0))
        key_width, by_row = self.heads.count * self.heads.key_width, slots.transpose(0, 1)
        keys, values = by_row[:, :, :key_width], by_row[:, :, key_width:]
        return KeyValue(split_heads(keys, self.heads.count), split_heads(values, self.heads.count))


class CrossAttention(nn.Module):
    """Queries from the decoder; keys and values from the memory, computed once for each sentence."""

    def __init__(self, width: int, heads: HeadConfig, *, gain: float) -> None:
        super().__init__()
        self.heads = heads
        keys, values = heads.count * heads.key_width, heads.count * heads.value_width
        blocks = 2 if heads.equal_widths else 1
        self.query_projection = Linear(width, keys, bias=heads.bias)
        self.kv_projection = Linear(width, blocks * keys, blocks=blocks, bias=heads.bias)
        self.value_projection = None if heads.equal_widths else Linear(width, values, bias=heads.bias)
        self.query_norm, self.key_norm = build_qk_norm(heads), build_qk_norm(heads)
        self.attention = build_attention(heads.score_function, heads.count, heads.key_width, heads.dropout)
        self.output_projection = Linear(values, width, gain=gain, bias=heads.bias)

    def project_memory(self, slots: Tensor) -> KeyValue:
        """Project the memory's slots (batch, slot, width): they do not depend on the query."""
        if self.value_projection is None:
            keys, values = self.kv_projection(slots).chunk(2, dim=-1)
        else:
            keys, values = self.kv_projection(slots), self.value_projection(slots)
        keys = record("attention.key", self, split_heads(keys, self.heads.count), x=slots)
        values = record("attention.value", self, split_heads(values, self.heads.count), x=slots)
        return KeyValue(self.key_norm(keys), values)

    def forward(self, inputs: Tensor, kv: KeyValue, mask: Tensor) -> Tensor:  # (batch, query, width)
        query = split_heads(self.query_projection(inputs), self.heads.count)
        merged = self._attend(record("attention.query", self, query, x=inputs), kv, mask)
        return record("attention.output", self, self.output_projection(merged), x=merged)

    def _attend(self, query: Tensor, kv: KeyValue, mask: Tensor) -> Tensor:  # (batch, query, heads · value width)
        context = self.attention(self.query_norm(query), kv, mask, "cross")
        return record("attention.merged", self, merge_heads(context), Z=context)

    def step(self, inputs: Tensor, groups: Sequence[RowGroup], layer_index: int) -> Tensor:  # (row, width)
        """Attend from one position of each row (row, width) to the memory of its sentence."""
        queries = self.query_projection.forward(inputs)
        contexts: list[Tensor] = []
        for group in groups:
            kv = group.memory[layer_index]
            # the hypotheses of a sentence become its queries: (sentence, hypothesis, width)
            grid = group.layout.scatter(queries[group.rows], kv.keys.shape[0])
            query = split_heads(grid, self.heads.count)
            if self.heads.qk_norm:
                query = self.query_norm(query)
            context = self.attention.forward(query, kv, group.memory_mask, "cross")
            contexts.append(group.layout.gather(merge_heads(context)))
        return self.output_projection.forward(concat_groups(contexts, inputs.shape[0]))
