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
from tongsa.nn.beam_layout import BeamLayout
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


def split_rows(rows: Tensor, counts: Sequence[int]) -> Sequence[Tensor]:
    """Split rows into groups of these sizes."""
    return [rows] if len(counts) == 1 else torch.split(rows, list(counts))


def concat_rows(groups: Sequence[Tensor]) -> Tensor:
    """Join groups of rows again; a single group is not copied."""
    return groups[0] if len(groups) == 1 else torch.cat(list(groups))


@dataclass(frozen=True)
class KVCache:
    """The KV cache of one layer, for rows that are at the same position."""

    kv: KeyValue
    position: int
    """Position of the next token."""
    row_order: Tensor | None = None
    """Rows (row,) of the cache that continue, in their new order; None continues all of them as they are."""

    @property
    def row_count(self) -> int:
        return (self.kv.keys if self.row_order is None else self.row_order).shape[0]


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

    def empty_cache(self, batch_size: int, like: Tensor) -> KeyValue:
        """Return the cache before the first step: no slots."""
        return KeyValue(
            like.new_empty(batch_size, self.heads.count, 0, self.heads.key_width),
            like.new_empty(batch_size, self.heads.count, 0, self.heads.value_width),
        )

    def step(self, inputs: Tensor, caches: Sequence[KVCache]) -> tuple[Tensor, list[KeyValue]]:
        """Attend from one position (row, 1, width) to all before it; return the next cache of each group too.

        No mask is needed: the cache holds only earlier positions of the same row.
        """
        query, kv = self._project_qkv(inputs)
        counts = [cache.row_count for cache in caches]
        contexts: list[Tensor] = []
        next_caches: list[KeyValue] = []
        for cache, *qkv in zip(caches, *(split_rows(part, counts) for part in (query, *kv)), strict=True):
            group_query, new_slot = self._apply_rotary(qkv[0], KeyValue(*qkv[1:]), cache.position)
            group_kv = cache.kv.append(new_slot, cache.row_order)  # one copy: reorders the rows and adds the slot
            next_caches.append(group_kv if self.window is None else group_kv.last(self.window.size))
            contexts.append(self.attention(group_query, next_caches[-1], None, self.role))
        return self.output_projection(merge_heads(concat_rows(contexts))), next_caches


@dataclass(frozen=True)
class CachedMemory:
    """The keys and values of one layer's cross-attention, for rows that are at the same position."""

    kv: KeyValue  # one row for each sentence
    mask: Tensor  # (sentence, head, query, slot)
    layout: BeamLayout
    row_count: int


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

    def step(self, inputs: Tensor, memories: Sequence[CachedMemory]) -> Tensor:  # (row, width)
        """Attend from one position of each row (row, width), in groups of rows that belong to each memory."""
        queries = split_rows(self.query_projection(inputs), [memory.row_count for memory in memories])
        contexts: list[Tensor] = []
        for group_queries, memory in zip(queries, memories, strict=True):
            # the hypotheses of a sentence become its queries: (sentence, hypothesis, width)
            grid = split_heads(memory.layout.scatter(group_queries, memory.mask.shape[0]), self.heads.count)
            contexts.append(memory.layout.gather(self._attend(grid, memory.kv, memory.mask)))
        outputs: Tensor = self.output_projection(concat_rows(contexts))
        return outputs
