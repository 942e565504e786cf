"""Multi-head attention (Vaswani et al. 2017, section 3.2.2)."""

from dataclasses import dataclass
from functools import partial

from torch import Tensor, nn

from tongsa.layers.attention import Comparison, KeysValues, Role, comparing, watched
from tongsa.layers.linear import Linear
from tongsa.layers.masks import over_keys
from tongsa.layers.positions import rotated
from tongsa.layers.restricted import Span, by_blocks, by_mask


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

    def _projected(self, inputs: Tensor, start: int) -> tuple[Tensor, KeysValues]:
        if self.values is None:
            parts = self.project(inputs).chunk(3, dim=-1)
        else:
            parts = (*self.project(inputs).chunk(2, dim=-1), self.values(inputs))
        query, keys, values = (split_heads(part, self.heads.count) for part in parts)
        query, keys = self.query_norm(query), self.key_norm(keys)
        if self.rotary:
            query, keys = rotated(query, start), rotated(keys, start)
        return query, KeysValues(keys, values)

    def forward(self, inputs: Tensor, places: Tensor, *, causal: bool = False) -> Tensor:
        """`places` (batch, length) are those with a piece; a causal query has no padding to its left."""
        query, read = self._projected(inputs, 0)
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

    def step(
        self, inputs: Tensor, past: KeysValues, start: int, rows: Tensor | None = None
    ) -> tuple[Tensor, KeysValues]:
        """One position further, with `start` before it; no mask is needed, for there is no future yet.

        Inputs follow these `rows` of the past; all of them, in order, if none are named.
        """
        query, new = self._projected(inputs, start)
        past = past.append(new, rows)
        if self.span is not None:
            past = past.last(self.span.size)
        return self.join(join_heads(self.weigh(query, past, None, self.role))), past


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
        query = self.query_norm(split_heads(self.query(inputs), self.heads.count))
        joined: Tensor = self.join(join_heads(self.weigh(query, read, mask, "cross")))
        return joined
