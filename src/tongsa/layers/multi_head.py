"""Multi-head attention (Vaswani et al. 2017, section 3.2.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from tongsa.layers.attention import Comparison, KeysValues, Role, comparing, watched
from tongsa.layers.linear import Linear
from tongsa.layers.masks import over_keys
from tongsa.layers.positions import rotated
from tongsa.layers.restricted import Span, by_blocks, by_mask
from tongsa.layers.shared import Rectangle


@dataclass(frozen=True, kw_only=True)
class Heads:
    count: int
    key_width: int
    """Of each head's queries and keys (d_k)."""
    value_width: int
    """Of each head's values (d_v)."""
    comparison: Comparison = "scaled-dot"
    normed: bool = False
    """Whether queries and keys are normalised before they are compared."""

    @property
    def alike(self) -> bool:
        """Whether keys and values can lie in one matrix, block by block."""
        return self.key_width == self.value_width


def split_heads(joined: Tensor, heads: int) -> Tensor:  # (batch, head, length, width of a head)
    return joined.view(*joined.shape[:2], heads, -1).transpose(1, 2)


def head_norm(heads: Heads) -> nn.Module:
    """Of each query, or key, of each head; one learned scale serves all heads."""
    return nn.RMSNorm(heads.key_width, eps=1e-5) if heads.normed else nn.Identity()


def join_heads(split: Tensor) -> Tensor:  # (batch, length, width)
    return split.transpose(1, 2).flatten(2)


def apart(rows: Tensor, counts: Sequence[int]) -> Sequence[Tensor]:
    """So many rows each."""
    return [rows] if len(counts) == 1 else torch.split(rows, list(counts))


def together(parts: Sequence[Tensor]) -> Tensor:
    """All rows again; a part that is all of them is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


@dataclass(frozen=True)
class Past:
    """What rows that began together have behind them."""

    read: KeysValues
    start: int
    """The place of the next."""
    order: Tensor | None = None
    """The rows (row,) that go on; all of them, in order, if none are named."""

    @property
    def rows(self) -> int:
        return (self.read.keys if self.order is None else self.order).shape[0]


class SelfAttention(nn.Module):
    """Queries, keys and values of all heads from one product, or from two where d_k and d_v differ."""

    def __init__(
        self, width: int, heads: Heads, role: Role, *, gain: float, span: Span | None = None, rotary: bool = False
    ) -> None:
        super().__init__()
        self.heads = heads
        self.role: Role = role
        self.span = span
        self.rotary = rotary
        keys, values = heads.count * heads.key_width, heads.count * heads.value_width
        blocks = 3 if heads.alike else 2
        self.project = Linear(width, blocks * keys, blocks=blocks)
        self.values = None if heads.alike else Linear(width, values)
        self.query_norm, self.key_norm = head_norm(heads), head_norm(heads)
        self.weigh = comparing(heads.comparison, heads.count, heads.key_width)
        self.join = Linear(values, width, gain=gain)

    def _projected(self, inputs: Tensor) -> tuple[Tensor, KeysValues]:
        if self.values is None:
            parts = self.project(inputs).chunk(3, dim=-1)
        else:
            parts = (*self.project(inputs).chunk(2, dim=-1), self.values(inputs))
        query, keys, values = (split_heads(part, self.heads.count) for part in parts)
        return self.query_norm(query), KeysValues(self.key_norm(keys), values)

    def _placed(self, query: Tensor, read: KeysValues, start: int) -> tuple[Tensor, KeysValues]:
        if not self.rotary:
            return query, read
        return rotated(query, start), read._replace(keys=rotated(read.keys, start))

    def forward(self, inputs: Tensor, places: Tensor, *, causal: bool = False) -> Tensor:
        """`places` (batch, length) are those with a piece; a causal query has no padding to its left."""
        query, read = self._placed(*self._projected(inputs), 0)
        if self.span is None:
            mask = None if causal else over_keys(places)
            context = self.weigh(query, read, mask, self.role, causal=causal)
        else:
            restrict = by_mask if watched() or query.shape[2] <= self.span.size else by_blocks
            context = restrict(query, read, places, self.span, partial(self.weigh, role=self.role))
        joined: Tensor = self.join(join_heads(context))
        return joined

    def nothing(self, rows: int, like: Tensor) -> KeysValues:
        """What a first step has behind it."""
        return KeysValues(
            like.new_empty(rows, self.heads.count, 0, self.heads.key_width),
            like.new_empty(rows, self.heads.count, 0, self.heads.value_width),
        )

    def step(self, inputs: Tensor, pasts: Sequence[Past]) -> tuple[Tensor, list[KeysValues]]:
        """One position further, each part of the rows behind its own past; there is no future yet for a mask to hide.

        All rows are projected in one product, and then looked at by those that have as much behind them.
        """
        query, new = self._projected(inputs)
        counts = [past.rows for past in pasts]
        contexts: list[Tensor] = []
        after: list[KeysValues] = []
        for past, *own in zip(pasts, *(apart(part, counts) for part in (query, *new)), strict=True):
            asking, latest = self._placed(own[0], KeysValues(*own[1:]), past.start)
            read = past.read.append(latest, past.order)
            after.append(read if self.span is None else read.last(self.span.size))
            contexts.append(self.weigh(asking, after[-1], None, self.role))
        return self.join(join_heads(together(contexts))), after


@dataclass(frozen=True)
class Reading:
    """What rows of hypotheses read: keys and values of their sentences."""

    read: KeysValues  # a row for each sentence
    mask: Tensor  # (sentence, head, query, slot)
    beams: Rectangle
    rows: int


class CrossAttention(nn.Module):
    """Queries from the decoder, keys and values from the memory, which are computed once for each sentence."""

    def __init__(self, width: int, heads: Heads, *, gain: float) -> None:
        super().__init__()
        self.heads = heads
        keys, values = heads.count * heads.key_width, heads.count * heads.value_width
        blocks = 2 if heads.alike else 1
        self.query = Linear(width, keys)
        self.memory = Linear(width, blocks * keys, blocks=blocks)
        self.values = None if heads.alike else Linear(width, values)
        self.query_norm, self.key_norm = head_norm(heads), head_norm(heads)
        self.weigh = comparing(heads.comparison, heads.count, heads.key_width)
        self.join = Linear(values, width, gain=gain)

    def read(self, slots: Tensor) -> KeysValues:
        if self.values is None:
            keys, values = self.memory(slots).chunk(2, dim=-1)
        else:
            keys, values = self.memory(slots), self.values(slots)
        return KeysValues(self.key_norm(split_heads(keys, self.heads.count)), split_heads(values, self.heads.count))

    def forward(self, inputs: Tensor, read: KeysValues, mask: Tensor) -> Tensor:
        joined: Tensor = self.join(self._context(self.query(inputs), read, mask))
        return joined

    def _context(self, queries: Tensor, read: KeysValues, mask: Tensor) -> Tensor:  # (batch, query, width)
        query = self.query_norm(split_heads(queries, self.heads.count))
        return join_heads(self.weigh(query, read, mask, "cross"))

    def step(self, inputs: Tensor, memories: Sequence[Reading]) -> Tensor:
        """The same for rows (row, width), a part of them before each memory."""
        queries = apart(self.query(inputs), [memory.rows for memory in memories])
        contexts = [
            memory.beams.rows(self._context(memory.beams.filled(own, memory.mask.shape[0]), memory.read, memory.mask))
            for own, memory in zip(queries, memories, strict=True)
        ]
        joined: Tensor = self.join(together(contexts))
        return joined
