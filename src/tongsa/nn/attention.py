"""Attention (Vaswani et al. 2017, section 3.2.1).

    query   (batch, head, query, key width)
    keys    (batch, head, slot, key width)
    values  (batch, head, slot, value width)
    mask    (batch, head, query, slot), broadcast, True where a query may read a slot; or 0 there and -inf elsewhere

    scores = query · keysᵀ / √d_k ─► mask ─► softmax ─► weights · values ─► context (batch, head, query, value width)

torch's fused kernel computes this in one pass and never stores the weights. Inside `record_attention()` the same
function computes them step by step and records them; both give the same context. With dropout on the weights, training
is step by step too: the fused kernel would draw masks that do not follow the seed of the batch (nn/dropout.py).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.nn.dropout import Dropout
from tongsa.nn.masks import causal_mask
from tongsa.nn.recording import AttentionRole, Operand, is_recording, observe, record, record_weights

RecordedAttention = dict[AttentionRole, list[Tensor]]
"""Weights (batch, head, query, key) of each role, in the order of the layers."""


class AttentionRecorder:
    """The observer of `record_attention`: it keeps the weights and no other tensor."""

    keeps_tensors = False
    time: int | None = None

    def __init__(self) -> None:
        self.recorded: RecordedAttention = {}

    def tensor(self, name: str, module: nn.Module, value: Tensor, operands: Mapping[str, Operand]) -> Tensor:  # noqa: ARG002
        return value

    def copy(self, value: Tensor, original: Tensor) -> None:
        """Ignore it."""

    def attention(self, role: AttentionRole, weights: Tensor) -> None:
        self.recorded.setdefault(role, []).append(weights.detach())


@contextmanager
def record_attention() -> Iterator[RecordedAttention]:
    """Record the weights of every attention computed inside this block, in this thread only."""
    recorder = AttentionRecorder()
    with observe(recorder):
        yield recorder.recorded


class KeyValue(NamedTuple):
    """Keys and values of one layer."""

    keys: Tensor  # (batch, head, slot, key width)
    values: Tensor  # (batch, head, slot, value width)


class AttentionDropout(Dropout):
    """Dropout of attention weights (batch, head, query, key): a query then misses some keys."""

    def forward(self, weights: Tensor) -> Tensor:
        return record("attention.dropped", self, self.drop(weights), x=weights, rate=self.rate)


class WeightedSum(nn.Module):
    """softmax(scores)V: the part of attention after its score function."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = AttentionDropout(dropout)

    def weighted_sum(
        self, scores: Tensor, values: Tensor, mask: Tensor | None, role: AttentionRole, *, causal: bool
    ) -> Tensor:
        """Return the context (batch, head, query, value width), and record the weights."""
        if causal:
            mask = causal_mask(scores.shape[2], scores.device)
        if mask is not None:
            masked = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
            scores = record("attention.masked", self, masked, S=scores, mask=mask)
        weights = record("attention.weights", self, scores.softmax(dim=-1), S=scores)
        record_weights(role, weights)
        weights = self.dropout(weights)
        return record("attention.context", self, weights @ values, A=weights, V=values)


class DotProductAttention(WeightedSum):
    """softmax(QKᵀ·scale)V, equation 1. Without a scale (1.0), a large d_k saturates the softmax."""

    def __init__(self, scale: float | None = None, dropout: float = 0.0) -> None:
        """The default scale is 1/√d_k."""
        super().__init__(dropout)
        self.scale = scale

    def forward(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, role: AttentionRole, *, causal: bool = False
    ) -> Tensor:
        if not is_recording() and not self.dropout.is_active:
            return F.scaled_dot_product_attention(
                query, kv.keys, kv.values, attn_mask=mask, is_causal=causal, scale=self.scale
            )
        scale = query.shape[-1] ** -0.5 if self.scale is None else self.scale
        scores = record("attention.scores", self, query @ kv.keys.mT * scale, Q=query, K=kv.keys, scale=scale)
        return self.weighted_sum(scores, kv.values, mask, role, causal=causal)


class MultiHeadAdditiveAttention(WeightedSum):
    """softmax(v·tanh(Wx + Uy))V in each head (Bahdanau et al. 2015), which section 3.2.1 compares with dot products.

    Wx and Uy are the queries and keys of multi-head attention: only v is new. Each pair of query and key has a hidden
    layer of d_k units, so it needs d_k times the memory of a dot product.
    """

    def __init__(self, heads: int, key_width: int, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        self.score_vector = nn.Parameter(torch.empty(heads, key_width))
        nn.init.normal_(self.score_vector, std=key_width**-0.5)

    def forward(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, role: AttentionRole, *, causal: bool = False
    ) -> Tensor:
        hidden = (query.unsqueeze(3) + kv.keys.unsqueeze(2)).tanh_()  # (batch, head, query, key, key width)
        scores = (hidden @ self.score_vector[:, None, :, None]).squeeze(4)  # (batch, head, query, key)
        scores = record("attention.additive_scores", self, scores, Q=query, K=kv.keys, v=self.score_vector)
        return self.weighted_sum(scores, kv.values, mask, role, causal=causal)


AttentionScore = Literal["scaled-dot", "dot", "additive"]
"""Score of a query and a key: q·k/√d_k, q·k or v·tanh(q + k)."""


def build_attention(
    score_function: AttentionScore, heads: int, key_width: int, dropout: float = 0.0
) -> DotProductAttention | MultiHeadAdditiveAttention:
    if score_function == "additive":
        return MultiHeadAdditiveAttention(heads, key_width, dropout)
    return DotProductAttention(None if score_function == "scaled-dot" else 1.0, dropout)
