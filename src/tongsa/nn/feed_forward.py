"""The position-wise feed-forward network (Vaswani et al. 2017, section 3.3) and its activations."""

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.nn.dropout import Dropout
from tongsa.nn.linear import Linear
from tongsa.nn.packed_linear import linear
from tongsa.nn.recording import is_recording_tensors, record

Activation = Literal["relu", "gelu", "swiglu"]


class FeedForward(nn.Module):
    """max(0, xW₁ + b₁)W₂ + b₂, the same at every position: equation 2."""

    blocks = 1
    """Matrices in the up projection."""

    def __init__(self, width: int, ffn_width: int, dropout: float, *, gain: float) -> None:
        super().__init__()
        self.up_projection = Linear(width, self.blocks * ffn_width, blocks=self.blocks)
        self.down_projection = Linear(ffn_width, width, gain=gain)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:  # (batch, length, width)
        if not self.dropout.is_active and not is_recording_tensors():
            return self.step(x)
        hidden = record("ffn.hidden", self, self.up_projection(x), x=x)
        activated = self.activate(hidden)
        return record("ffn.output", self, self.down_projection(activated), x=activated)

    def step(self, x: Tensor) -> Tensor:  # (…, width)
        """Return the same without dropout, not recorded."""
        hidden = linear(x, self.up_projection.weight, self.up_projection.bias, "relu")
        return self.down_projection.forward(hidden)

    def activate(self, hidden: Tensor) -> Tensor:  # (batch, length, ffn width)
        if is_recording_tensors():
            return self.dropout(record("ffn.relu", self, F.relu(hidden), x=hidden))  # type: ignore[no-any-return]
        return self.dropout.relu(hidden)


class GELUFeedForward(FeedForward):
    """x·Φ(x) in place of max(0, x) (Hendrycks, Gimpel 2016)."""

    def step(self, x: Tensor) -> Tensor:
        return self.down_projection.forward(F.gelu(self.up_projection.forward(x)))

    def activate(self, hidden: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(record("ffn.gelu", self, F.gelu(hidden), x=hidden))
        return dropped


class SwiGLUFeedForward(FeedForward):
    """(swish(xW) ⊗ xV)W₂ (Shazeer 2020, equation 6).

    It has three matrices: with 2/3 of `ffn_width` it costs as much as equation 2.
    """

    blocks = 2

    def step(self, x: Tensor) -> Tensor:
        gate, values = self.up_projection.forward(x).chunk(2, dim=-1)
        return self.down_projection.forward(F.silu(gate) * values)

    def activate(self, hidden: Tensor) -> Tensor:
        gate, values = hidden.chunk(2, dim=-1)
        dropped: Tensor = self.dropout(record("ffn.swiglu", self, F.silu(gate) * values, x=hidden))
        return dropped


ACTIVATIONS: dict[Activation, type[FeedForward]] = {
    "relu": FeedForward,
    "gelu": GELUFeedForward,
    "swiglu": SwiGLUFeedForward,
}


def build_feed_forward(
    activation: Activation, width: int, ffn_width: int, dropout: float, *, gain: float
) -> FeedForward:
    return ACTIVATIONS[activation](width, ffn_width, dropout, gain=gain)
