"""Attention (Vaswani et al. 2017, section 3.2.1), fused unless it is watched."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.nn.masks import causal_mask

AttentionKind = Literal["encoder", "decoder", "cross", "hops"]
"""Who looks at what: source at source, target at target, target at memory, hops (Lin et al. 2017) at source."""

RecordedAttention = dict[AttentionKind, list[Tensor]]
"""For each role the weights (batch, head, query, key) in the order of the layers."""

_recording: ContextVar[RecordedAttention | None] = ContextVar("watched", default=None)


@contextmanager
def record_attention() -> Iterator[RecordedAttention]:
    """Collect the weights of every attention inside this block, in this thread alone."""
    sightings: RecordedAttention = {}
    token = _recording.set(sightings)
    try:
        yield sightings
    finally:
        _recording.reset(token)


def is_recording() -> bool:
    """Whether anybody is watching: then the weights are worth their room.

    Nobody can watch a compiled graph; one that is exported is spelt out, for what is fused knows special lengths.
    """
    compiled = torch.compiler.is_compiling() and not torch.compiler.is_exporting()
    return not compiled and _recording.get() is not None


def record_weights(role: AttentionKind, weights: Tensor) -> None:  # (batch, head, query, key)
    """Show these weights to whoever is watching."""
    sightings = _recording.get()
    if sightings is not None:
        sightings.setdefault(role, []).append(weights.detach())


class KeyValue(NamedTuple):
    keys: Tensor  # (batch, head, slot, key width)
    values: Tensor  # (batch, head, slot, value width)

    def append(self, new: "KeyValue", rows: Tensor | None = None) -> "KeyValue":
        """One slot more, behind those of these rows; of all of them, if none are named."""
        return KeyValue(_append_slot(self.keys, new.keys, rows), _append_slot(self.values, new.values, rows))

    def last(self, count: int) -> "KeyValue":
        """The last `count` slots, of which one came just now: there is one too many, or none."""
        if torch.compiler.is_exporting():  # a slice, or a maximum, would be written out as it is for the example
            slots = self.keys.shape[2]
            places = torch.arange((slots - 1) // count, slots)
            return KeyValue(self.keys.index_select(2, places), self.values.index_select(2, places))
        return KeyValue(self.keys[:, :, -count:], self.values[:, :, -count:])


def _append_slot(cache: Tensor, new: Tensor, rows: Tensor | None) -> Tensor:  # (row, head, slot, width)
    """One copy reorders and makes room, for in memory slots stand before rows: each slot's are moved as a block."""
    if torch.compiler.is_exporting():
        return torch.cat([cache, new], dim=2)
    slots, slot = cache.permute(2, 0, 1, 3), new.permute(2, 0, 1, 3)
    if rows is None:
        longer = torch.cat([slots, slot])
    elif torch.is_grad_enabled():  # gradients cannot follow what is written into a part
        longer = torch.cat([slots.index_select(1, rows), slot])
    else:
        longer = slot.new_empty(len(slots) + 1, *slot.shape[1:])
        torch.index_select(slots, 1, rows, out=longer[:-1])
        longer[-1:] = slot
    return longer.permute(1, 2, 0, 3)


def attention_from_scores(
    scores: Tensor, values: Tensor, mask: Tensor | None, role: AttentionKind, *, causal: bool
) -> Tensor:
    """softmax(energy)V, with weights that can be seen; (batch, head, query, value width)."""
    if causal:
        mask = causal_mask(scores.shape[2], scores.device)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    record_weights(role, weights)
    return weights @ values


def attend(
    query: Tensor,
    kv: KeyValue,
    mask: Tensor | None,
    role: AttentionKind,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(QKᵀ·scale)V, equation 1, where the scale is 1/√d_k; (batch, head, query, value width)."""
    if not is_recording():
        return F.scaled_dot_product_attention(query, kv.keys, kv.values, attn_mask=mask, is_causal=causal, scale=scale)
    energy = query @ kv.keys.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    return attention_from_scores(energy, kv.values, mask, role, causal=causal)


class DotProductAttention(nn.Module):
    """Equation 1, with 1/√d_k or without it: then large d_k push the softmax to where its gradients are small."""

    def __init__(self, scale: float | None) -> None:
        super().__init__()
        self.scale = scale

    def forward(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, role: AttentionKind, *, causal: bool = False
    ) -> Tensor:
        return attend(query, kv, mask, role, causal=causal, scale=self.scale)


class MultiHeadAdditiveAttention(nn.Module):
    """softmax(v·tanh(Wx + Uy))V in each head (Bahdanau et al. 2015), which section 3.2.1 compares with dot products.

    Wx and Uy are the queries and keys of multi-head attention, so v is all that is new. Every pair of query and key has
    a hidden layer of its own: d_k times the room of a dot product.
    """

    def __init__(self, heads: int, key_width: int) -> None:
        super().__init__()
        self.score_vector = nn.Parameter(torch.empty(heads, key_width))
        nn.init.normal_(self.score_vector, std=key_width**-0.5)

    def forward(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, role: AttentionKind, *, causal: bool = False
    ) -> Tensor:
        hidden = (query.unsqueeze(3) + kv.keys.unsqueeze(2)).tanh_()  # (batch, head, query, key, key width)
        energy = (hidden @ self.score_vector[:, None, :, None]).squeeze(4)  # (batch, head, query, key)
        return attention_from_scores(energy, kv.values, mask, role, causal=causal)


AttentionScore = Literal["scaled-dot", "dot", "additive"]
"""How a query is compared with a key."""


def build_attention(
    score_function: AttentionScore, heads: int, key_width: int
) -> DotProductAttention | MultiHeadAdditiveAttention:
    if score_function == "additive":
        return MultiHeadAdditiveAttention(heads, key_width)
    return DotProductAttention(None if score_function == "scaled-dot" else 1.0)
