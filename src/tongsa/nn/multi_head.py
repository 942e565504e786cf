"""Multi-head attention (Vaswani et al. 2017, section 3.2.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from tongsa.nn.attention import AttentionKind, AttentionScore, KeyValue, build_attention, is_recording
from tongsa.nn.beam_layout import BeamLayout
from tongsa.nn.linear import Linear
from tongsa.nn.local_attention import Window, blockwise_local_attention, masked_local_attention
from tongsa.nn.masks import key_mask
from tongsa.nn.positions import apply_rotary


@dataclass(frozen=True, kw_only=True)
class HeadConfig:
    count: int
    key_width: int
    """Of each head's queries and keys (d_k)."""
    value_width: int
    """Of each head's values (d_v)."""
    score_function: AttentionScore = "scaled-dot"
    qk_norm: bool = False
    """Whether queries and keys are normalised before they are compared."""

    @property
    def equal_widths(self) -> bool:
        """Whether keys and values can lie in one matrix, block by block."""
        return self.key_width == self.value_width


def split_heads(merged: Tensor, heads: int) -> Tensor:  # (batch, head, length, width of a head)
    return merged.view(*merged.shape[:2], heads, -1).transpose(1, 2)


def build_qk_norm(heads: HeadConfig) -> nn.Module:
    """Of each query, or key, of each head; one learned scale serves all heads."""
    return nn.RMSNorm(heads.key_width, eps=1e-5) if heads.qk_norm else nn.Identity()


def merge_heads(split: Tensor) -> Tensor:  # (batch, length, width)
    return split.transpose(1, 2).flatten(2)


def split_rows(rows: Tensor, counts: Sequence[int]) -> Sequence[Tensor]:
    """So many rows each."""
    return [rows] if len(counts) == 1 else torch.split(rows, list(counts))


def concat_rows(parts: Sequence[Tensor]) -> Tensor:
    """All rows again; a part that is all of them is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


@dataclass(frozen=True)
class KVCache:
    """What rows that began together have behind them."""

    kv: KeyValue
    position: int
    """The place of the next."""
    row_order: Tensor | None = None
    """The rows (row,) that go on; all of them, in order, if none are named."""

    @property
    def row_count(self) -> int:
        return (self.kv.keys if self.row_order is None else self.row_order).shape[0]


class SelfAttention(nn.Module):
    """Queries, keys and values of all heads from one product, or from two where d_k and d_v differ."""

    def __init__(
        self,
        width: int,
        heads: HeadConfig,
        role: AttentionKind,
        *,
        gain: float,
        window: Window | None = None,
        rotary: bool = False,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.role: AttentionKind = role
        self.window = window
        self.rotary = rotary
        keys, values = heads.count * heads.key_width, heads.count * heads.value_width
        blocks = 3 if heads.equal_widths else 2
        self.qkv_projection = Linear(width, blocks * keys, blocks=blocks)
        self.value_projection = None if heads.equal_widths else Linear(width, values)
        self.query_norm, self.key_norm = build_qk_norm(heads), build_qk_norm(heads)
        self.attention = build_attention(heads.score_function, heads.count, heads.key_width)
        self.output_projection = Linear(values, width, gain=gain)

    def _project_qkv(self, inputs: Tensor) -> tuple[Tensor, KeyValue]:
        if self.value_projection is None:
            parts = self.qkv_projection(inputs).chunk(3, dim=-1)
        else:
            parts = (*self.qkv_projection(inputs).chunk(2, dim=-1), self.value_projection(inputs))
        query, keys, values = (split_heads(part, self.heads.count) for part in parts)
        return self.query_norm(query), KeyValue(self.key_norm(keys), values)

    def _apply_rotary(self, query: Tensor, kv: KeyValue, position: int) -> tuple[Tensor, KeyValue]:
        if not self.rotary:
            return query, kv
        return apply_rotary(query, position), kv._replace(keys=apply_rotary(kv.keys, position))

    def forward(self, inputs: Tensor, padding_mask: Tensor, *, causal: bool = False) -> Tensor:
        """`places` (batch, length) are those with a piece; a causal query has no padding to its left."""
        query, read = self._apply_rotary(*self._project_qkv(inputs), 0)
        if self.window is None:
            mask = None if causal else key_mask(padding_mask)
            context = self.attention(query, read, mask, self.role, causal=causal)
        else:
            restrict = (
                masked_local_attention
                if is_recording() or query.shape[2] <= self.window.size
                else blockwise_local_attention
            )
            context = restrict(query, read, padding_mask, self.window, partial(self.attention, role=self.role))
        joined: Tensor = self.output_projection(merge_heads(context))
        return joined

    def empty_cache(self, batch_size: int, like: Tensor) -> KeyValue:
        """What a first step has behind it."""
        return KeyValue(
            like.new_empty(batch_size, self.heads.count, 0, self.heads.key_width),
            like.new_empty(batch_size, self.heads.count, 0, self.heads.value_width),
        )

    def step(self, inputs: Tensor, caches: Sequence[KVCache]) -> tuple[Tensor, list[KeyValue]]:
        """One position further, each part of the rows behind its own past; there is no future yet for a mask to hide.

        All rows are projected in one product, and then looked at by those that have as much behind them.
        """
        query, new = self._project_qkv(inputs)
        counts = [past.row_count for past in caches]
        contexts: list[Tensor] = []
        after: list[KeyValue] = []
        for past, *own in zip(caches, *(split_rows(part, counts) for part in (query, *new)), strict=True):
            asking, latest = self._apply_rotary(own[0], KeyValue(*own[1:]), past.position)
            read = past.kv.append(latest, past.row_order)
            after.append(read if self.window is None else read.last(self.window.size))
            contexts.append(self.attention(asking, after[-1], None, self.role))
        return self.output_projection(merge_heads(concat_rows(contexts))), after


@dataclass(frozen=True)
class CachedMemory:
    """What rows of hypotheses read: keys and values of their sentences."""

    kv: KeyValue  # a row for each sentence
    mask: Tensor  # (sentence, head, query, slot)
    beam_layout: BeamLayout
    row_count: int


class CrossAttention(nn.Module):
    """Queries from the decoder, keys and values from the memory, which are computed once for each sentence."""

    def __init__(self, width: int, heads: HeadConfig, *, gain: float) -> None:
        super().__init__()
        self.heads = heads
        keys, values = heads.count * heads.key_width, heads.count * heads.value_width
        blocks = 2 if heads.equal_widths else 1
        self.query_projection = Linear(width, keys)
        self.kv_projection = Linear(width, blocks * keys, blocks=blocks)
        self.value_projection = None if heads.equal_widths else Linear(width, values)
        self.query_norm, self.key_norm = build_qk_norm(heads), build_qk_norm(heads)
        self.attention = build_attention(heads.score_function, heads.count, heads.key_width)
        self.output_projection = Linear(values, width, gain=gain)

    def project_memory(self, slots: Tensor) -> KeyValue:
        if self.value_projection is None:
            keys, values = self.kv_projection(slots).chunk(2, dim=-1)
        else:
            keys, values = self.kv_projection(slots), self.value_projection(slots)
        return KeyValue(self.key_norm(split_heads(keys, self.heads.count)), split_heads(values, self.heads.count))

    def forward(self, inputs: Tensor, kv: KeyValue, mask: Tensor) -> Tensor:
        joined: Tensor = self.output_projection(self._attend(self.query_projection(inputs), kv, mask))
        return joined

    def _attend(self, queries: Tensor, kv: KeyValue, mask: Tensor) -> Tensor:  # (batch, query, width)
        query = self.query_norm(split_heads(queries, self.heads.count))
        return merge_heads(self.attention(query, kv, mask, "cross"))

    def step(self, inputs: Tensor, memories: Sequence[CachedMemory]) -> Tensor:
        """The same for rows (row, width), a part of them before each memory."""
        queries = split_rows(self.query_projection(inputs), [memory.row_count for memory in memories])
        contexts = [
            memory.beam_layout.gather(
                self._attend(memory.beam_layout.scatter(own, memory.mask.shape[0]), memory.kv, memory.mask)
            )
            for own, memory in zip(queries, memories, strict=True)
        ]
        joined: Tensor = self.output_projection(concat_rows(contexts))
        return joined
