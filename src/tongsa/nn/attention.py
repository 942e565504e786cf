"""Attention (Vaswani et al. 2017, section 3.2.1) and its cached keys and values.

    query   (batch, head, query, key width)
    keys    (batch, head, slot, key width)
    values  (batch, head, slot, value width)
    mask    (batch, head, query, slot), broadcast, True where a query may read a slot

    scores = query · keysᵀ / √d_k ─► mask ─► softmax ─► weights · values ─► context (batch, head, query, value width)

torch's fused kernel computes this in one pass and never stores the weights. Inside `record_attention()` the same
function computes them step by step and records them; both give the same context.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.nn.masks import causal_mask

AttentionRole = Literal["encoder", "decoder", "cross", "hops"]
"""Attention from source to source, target to target, target to memory, and from hops (Lin et al. 2017) to source."""

RecordedAttention = dict[AttentionRole, list[Tensor]]
"""Weights (batch, head, query, key) of each role, in the order of the layers."""

_recording: ContextVar[RecordedAttention | None] = ContextVar("recording", default=None)


@contextmanager
def record_attention() -> Iterator[RecordedAttention]:
    """Record the weights of every attention computed inside this block, in this thread only."""
    recorded: RecordedAttention = {}
    token = _recording.set(recorded)
    try:
        yield recorded
    finally:
        _recording.reset(token)


def is_recording() -> bool:
    """Return True if weights are recorded; then attention is not fused.

    A compiled graph cannot record. ONNX export runs inside `record_attention()` to avoid the fused kernel, which
    specializes on lengths.
    """
    compiled = torch.compiler.is_compiling() and not torch.compiler.is_exporting()
    return not compiled and _recording.get() is not None


def record_weights(role: AttentionRole, weights: Tensor) -> None:  # (batch, head, query, key)
    """Record these weights if inside `record_attention()`."""
    recorded = _recording.get()
    if recorded is not None:
        recorded.setdefault(role, []).append(weights.detach())


class KeyValue(NamedTuple):
    """Keys and values of one layer. As a KV cache it grows by one slot with every decoded token."""

    keys: Tensor  # (batch, head, slot, key width)
    values: Tensor  # (batch, head, slot, value width)

    def append(self, new: "KeyValue", rows: Tensor | None = None) -> "KeyValue":
        """Append one slot. With `rows` (row,), first select and reorder the rows, as a beam does."""
        return KeyValue(_append_slot(self.keys, new.keys, rows), _append_slot(self.values, new.values, rows))

    def last(self, count: int) -> "KeyValue":
        """Return the last `count` slots, after one was appended: at most one slot is dropped."""
        if torch.compiler.is_exporting():  # a slice or a maximum would be fixed to the length of the example
            num_slots = self.keys.shape[2]
            positions = torch.arange((num_slots - 1) // count, num_slots)
            return KeyValue(self.keys.index_select(2, positions), self.values.index_select(2, positions))
        return KeyValue(self.keys[:, :, -count:], self.values[:, :, -count:])


def _append_slot(cache: Tensor, new: Tensor, rows: Tensor | None) -> Tensor:  # (row, head, slot, width)
    """Append a slot and reorder the rows in a single copy.

    The shape is (row, head, slot, width), but slots are the outermost dimension in memory. So the rows of a slot are
    copied as one block, and the new slot is written after the others.
    """
    if torch.compiler.is_exporting():
        return torch.cat([cache, new], dim=2)
    slots, slot = cache.permute(2, 0, 1, 3), new.permute(2, 0, 1, 3)
    if rows is None:
        longer = torch.cat([slots, slot])
    elif torch.is_grad_enabled():  # autograd does not support `out=`
        longer = torch.cat([slots.index_select(1, rows), slot])
    else:
        longer = slot.new_empty(len(slots) + 1, *slot.shape[1:])
        torch.index_select(slots, 1, rows, out=longer[:-1])
        longer[-1:] = slot
    return longer.permute(1, 2, 0, 3)


def attention_from_scores(
    scores: Tensor, values: Tensor, mask: Tensor | None, role: AttentionRole, *, causal: bool
) -> Tensor:
    """Return softmax(scores)V (batch, head, query, value width), and record the weights."""
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
    role: AttentionRole,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Scaled dot-product attention softmax(QKᵀ·scale)V, equation 1; the default scale is 1/√d_k."""
    if not is_recording():
        return F.scaled_dot_product_attention(query, kv.keys, kv.values, attn_mask=mask, is_causal=causal, scale=scale)
    scores = query @ kv.keys.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    return attention_from_scores(scores, kv.values, mask, role, causal=causal)


class DotProductAttention(nn.Module):
    """Equation 1 with a scale of 1/√d_k (None), or another. Without a scale, a large d_k saturates the softmax."""

    def __init__(self, scale: float | None) -> None:
        super().__init__()
        self.scale = scale

    def forward(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, role: AttentionRole, *, causal: bool = False
    ) -> Tensor:
        return attend(query, kv, mask, role, causal=causal, scale=self.scale)


class MultiHeadAdditiveAttention(nn.Module):
    """softmax(v·tanh(Wx + Uy))V in each head (Bahdanau et al. 2015), which section 3.2.1 compares with dot products.

    Wx and Uy are the queries and keys of multi-head attention: only v is new. Each pair of query and key has a hidden
    layer of d_k units, so it needs d_k times the memory of a dot product.
    """

    def __init__(self, heads: int, key_width: int) -> None:
        super().__init__()
        self.score_vector = nn.Parameter(torch.empty(heads, key_width))
        nn.init.normal_(self.score_vector, std=key_width**-0.5)

    def forward(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, role: AttentionRole, *, causal: bool = False
    ) -> Tensor:
        hidden = (query.unsqueeze(3) + kv.keys.unsqueeze(2)).tanh_()  # (batch, head, query, key, key width)
        scores = (hidden @ self.score_vector[:, None, :, None]).squeeze(4)  # (batch, head, query, key)
        return attention_from_scores(scores, kv.values, mask, role, causal=causal)


AttentionScore = Literal["scaled-dot", "dot", "additive"]
"""Score of a query and a key: q·k/√d_k, q·k or v·tanh(q + k)."""


def build_attention(
    score_function: AttentionScore, heads: int, key_width: int
) -> DotProductAttention | MultiHeadAdditiveAttention:
    if score_function == "additive":
        return MultiHeadAdditiveAttention(heads, key_width)
    return DotProductAttention(None if score_function == "scaled-dot" else 1.0)
