"""Attention (Vaswani et al. 2017, section 3.2.1), fused unless it is watched."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

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


def watched() -> bool:
    """Whether anybody is watching: then the weights are worth their room.

    Nobody can watch a compiled graph; one that is exported is spelt out, for what is fused knows special lengths.
    """
    compiled = torch.compiler.is_compiling() and not torch.compiler.is_exporting()
    return not compiled and _watched.get() is not None


def sighted(role: Role, weights: Tensor) -> None:  # (batch, head, query, key)
    """Show these weights to whoever is watching."""
    sightings = _watched.get()
    if sightings is not None:
        sightings.setdefault(role, []).append(weights.detach())


class KeysValues(NamedTuple):
    keys: Tensor  # (batch, head, slot, key width)
    values: Tensor  # (batch, head, slot, value width)

    def append(self, new: "KeysValues", rows: Tensor | None = None) -> "KeysValues":
        """One slot more, behind those of these rows; of all of them, if none are named."""
        return KeysValues(_behind(self.keys, new.keys, rows), _behind(self.values, new.values, rows))

    def last(self, count: int) -> "KeysValues":
        """The last `count` slots, of which one came just now: there is one too many, or none."""
        if torch.compiler.is_exporting():  # a slice, or a maximum, would be written out as it is for the example
            slots = self.keys.shape[2]
            places = torch.arange((slots - 1) // count, slots)
            return KeysValues(self.keys.index_select(2, places), self.values.index_select(2, places))
        return KeysValues(self.keys[:, :, -count:], self.values[:, :, -count:])


def _behind(past: Tensor, new: Tensor, rows: Tensor | None) -> Tensor:  # (row, head, slot, width)
    """One copy reorders and makes room, for in memory slots stand before rows: each slot's are moved as a block."""
    if torch.compiler.is_exporting():
        return torch.cat([past, new], dim=2)
    slots, slot = past.permute(2, 0, 1, 3), new.permute(2, 0, 1, 3)
    if rows is None:
        longer = torch.cat([slots, slot])
    elif torch.is_grad_enabled():  # gradients cannot follow what is written into a part
        longer = torch.cat([slots.index_select(1, rows), slot])
    else:
        longer = slot.new_empty(len(slots) + 1, *slot.shape[1:])
        torch.index_select(slots, 1, rows, out=longer[:-1])
        longer[-1:] = slot
    return longer.permute(1, 2, 0, 3)


def weighed(energy: Tensor, values: Tensor, mask: Tensor | None, role: Role, *, causal: bool) -> Tensor:
    """softmax(energy)V, with weights that can be seen; (batch, head, query, value width)."""
    if causal:
        mask = causal_mask(energy.shape[2], energy.device)
    if mask is not None:
        energy = energy.masked_fill(~mask, -torch.inf)
    weights = energy.softmax(dim=-1)
    sighted(role, weights)
    return weights @ values


def attend(
    query: Tensor,
    read: KeysValues,
    mask: Tensor | None,
    role: Role,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(QKᵀ·scale)V, equation 1, where the scale is 1/√d_k; (batch, head, query, value width)."""
    if not watched():
        return F.scaled_dot_product_attention(
            query, read.keys, read.values, attn_mask=mask, is_causal=causal, scale=scale
        )
    energy = query @ read.keys.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    return weighed(energy, read.values, mask, role, causal=causal)


class DotAttention(nn.Module):
    """Equation 1, with 1/√d_k or without it: then large d_k push the softmax to where its gradients are small."""

    def __init__(self, scale: float | None) -> None:
        super().__init__()
        self.scale = scale

    def forward(
        self, query: Tensor, read: KeysValues, mask: Tensor | None, role: Role, *, causal: bool = False
    ) -> Tensor:
        return attend(query, read, mask, role, causal=causal, scale=self.scale)


class AdditiveHeads(nn.Module):
    """softmax(v·tanh(Wx + Uy))V in each head (Bahdanau et al. 2015), which section 3.2.1 compares with dot products.

    Wx and Uy are the queries and keys of multi-head attention, so v is all that is new. Every pair of query and key has
    a hidden layer of its own: d_k times the room of a dot product.
    """

    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        self.score = nn.Parameter(torch.empty(heads, width))
        nn.init.normal_(self.score, std=width**-0.5)

    def forward(
        self, query: Tensor, read: KeysValues, mask: Tensor | None, role: Role, *, causal: bool = False
    ) -> Tensor:
        hidden = (query.unsqueeze(3) + read.keys.unsqueeze(2)).tanh_()  # (batch, head, query, key, key width)
        energy = (hidden @ self.score[:, None, :, None]).squeeze(4)  # (batch, head, query, key)
        return weighed(energy, read.values, mask, role, causal=causal)


Comparison = Literal["scaled-dot", "dot", "additive"]
"""How a query is compared with a key."""


def comparing(comparison: Comparison, heads: int, width: int) -> DotAttention | AdditiveHeads:
    if comparison == "additive":
        return AdditiveHeads(heads, width)
    return DotAttention(None if comparison == "scaled-dot" else 1.0)
