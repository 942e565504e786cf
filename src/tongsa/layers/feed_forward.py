"""The position-wise network (Vaswani et al. 2017, section 3.3), and what it may be bent with."""

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.layers.dropout import Dropout
from tongsa.layers.linear import Linear

Activation = Literal["relu", "gelu", "swiglu"]


class FeedForward(nn.Module):
    """max(0, xW₁ + b₁)W₂ + b₂, the same at every position: equation 2."""

    blocks = 1
    """Matrices that widen."""

    def __init__(self, width: int, inner: int, dropout: float, *, gain: float) -> None:
        super().__init__()
        self.widen = Linear(width, self.blocks * inner, blocks=self.blocks)
        self.narrow = Linear(inner, width, gain=gain)
        self.dropout = Dropout(dropout)

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.narrow(self.bent(self.widen(inputs)))
        return outputs

    def bent(self, widened: Tensor) -> Tensor:  # (batch, length, inner)
        return self.dropout.relu(widened)


class GeluFeedForward(FeedForward):
    """x·Φ(x) in place of max(0, x) (Hendrycks, Gimpel 2016)."""

    def bent(self, widened: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(F.gelu(widened))
        return dropped


class SwigluFeedForward(FeedForward):
    """(swish(xW) ⊗ xV)W₂ (Shazeer 2020, equation 6): three matrices, so 2/3 of `inner` costs what equation 2 costs."""

    blocks = 2

    def bent(self, widened: Tensor) -> Tensor:
        gate, values = widened.chunk(2, dim=-1)
        dropped: Tensor = self.dropout(F.silu(gate) * values)
        return dropped


ACTIVATIONS: dict[Activation, type[FeedForward]] = {
    "relu": FeedForward,
    "gelu": GeluFeedForward,
    "swiglu": SwigluFeedForward,
}
