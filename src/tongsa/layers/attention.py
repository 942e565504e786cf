"""Multi-head attention (Vaswani et al. 2017, section 3.2), fused unless it is watched."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.layers.linear import Linear
from tongsa.layers.masks import causal as causal_mask

Role = Literal["encoder", "decoder", "cross", "hops"]
"""Who looks at what: source at source, target at target, target at memory, hops (Lin et al. 2017) at source."""

Sightings = dict[Role, list[Tensor]]
"""For each role the weights (batch, head, query, key) in the order of the layers."""

_watched: ContextVar[Sightings | None] = ContextVar("watched", default=None)


@contextmanager
def watching() -> Iterator[Sightings]:
    """Collect the weights of every attention inside this block, in this thread alone."""
    sightings: Sightings = {}
    token = _watched.set(sightings)
    try:
        yield sightings
    finally:
        _watched.reset(token)


def sighted(role: Role, weights: Tensor) -> None:  # (batch, head, query, key)
    """Show these weights to whoever is watching."""
    sightings = _watched.get()
    if sightings is not None:
        sightings.setdefault(role, []).append(weights.detach())


class KeysValues(NamedTuple):
    keys: Tensor  # (batch, head, slot, key width)
    values: Tensor  # (batch, head, slot, value width)

    def select(self, rows: Tensor) -> "KeysValues":
        return KeysValues(self.keys.index_select(0, rows), self.values.index_select(0, rows))

    def append(self, new: "KeysValues") -> "KeysValues":
        return KeysValues(torch.cat([self.keys, new.keys], 2), torch.cat([self.values, new.values], 2))


def attend(query: Tensor, read: KeysValues, mask: Tensor | None, role: Role, *, causal: bool = False) -> Tensor:
    """softmax(QKᵀ/√d_k)V, equation 1; (batch, head, query, value width)."""
    if _watched.get() is None:
        return F.scaled_dot_product_attention(query, read.keys, read.values, attn_mask=mask, is_causal=causal)
    energy = query @ read.keys.mT / math.sqrt(query.shape[-1])
    if causal:
        mask = causal_mask(query.shape[2], query.device)
    if mask is not None:
        energy = energy.masked_fill(~mask, -torch.inf)
    weights = energy.softmax(dim=-1)
    sighted(role, weights)
    return weights @ read.values


def split_heads(joined: Tensor, heads: int) -> Tensor:  # (batch, head, length, width of a head)
    return joined.view(*joined.shape[:2], heads, -1).transpose(1, 2)


def join_heads(split: Tensor) -> Tensor:  # (batch, length, width)
    return split.transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    """Queries, keys and values of all heads from one product."""

    def __init__(self, width: int, heads: int, role: Role, *, gain: float = 1.0) -> None:
        super().__init__()
        self.heads = heads
        self.role: Role = role
        self.project = Linear(width, 3 * width, blocks=3)
        self.join = Linear(width, width, gain=gain)

    def _projected(self, inputs: Tensor) -> tuple[Tensor, KeysValues]:
        query, keys, values = (split_heads(part, self.heads) for part in self.project(inputs).chunk(3, dim=-1))
        return query, KeysValues(keys, values)

    def forward(self, inputs: Tensor, mask: Tensor | None = None, *, causal: bool = False) -> Tensor:
        query, read = self._projected(inputs)
        joined: Tensor = self.join(join_heads(attend(query, read, mask, self.role, causal=causal)))
        return joined

    def nothing(self, rows: int, like: Tensor) -> KeysValues:
        """What a first step has behind it."""
        empty = like.new_empty(rows, self.heads, 0, self.join.in_features // self.heads)
        return KeysValues(empty, empty)

    def step(self, inputs: Tensor, past: KeysValues) -> tuple[Tensor, KeysValues]:
        """One position further; no mask is needed, for there is no future yet."""
        query, new = self._projected(inputs)
        past = past.append(new)
        return self.join(join_heads(attend(query, past, None, self.role))), past


class CrossAttention(nn.Module):
    """Queries from the decoder, keys and values from the memory, which are computed once for each sentence."""

    def __init__(self, width: int, heads: int, *, gain: float = 1.0) -> None:
        super().__init__()
        self.heads = heads
        self.query = Linear(width, width)
        self.memory = Linear(width, 2 * width, blocks=2)
        self.join = Linear(width, width, gain=gain)

    def read(self, slots: Tensor) -> KeysValues:
        keys, values = (split_heads(part, self.heads) for part in self.memory(slots).chunk(2, dim=-1))
        return KeysValues(keys, values)

    def forward(self, inputs: Tensor, read: KeysValues, mask: Tensor) -> Tensor:
        query = split_heads(self.query(inputs), self.heads)
        joined: Tensor = self.join(join_heads(attend(query, read, mask, "cross")))
        return joined
