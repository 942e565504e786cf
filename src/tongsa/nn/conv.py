"""Gated convolutions over a sequence (Gehring et al. 2017, section 3.2, after Dauphin et al. 2016)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.nn.linear import Linear
from tongsa.nn.recording import record


def sliding_windows(inputs: Tensor, kernel: int, left_padding: int) -> Tensor:  # (batch, length, kernel · width)
    """Concatenate the `kernel` inputs around each position, `left_padding` of them on its left; zeros outside."""
    length = inputs.shape[1]
    padded = F.pad(inputs, (0, 0, left_padding, kernel - 1 - left_padding))
    return torch.cat([padded[:, offset : offset + length] for offset in range(kernel)], dim=-1)


class GatedConvolution(nn.Module):
    """A ⊗ σ(B), where [A B] = W [inputs of the window] + b.

    A matrix product over sliding windows instead of F.conv1d: two thirds of the time on a CPU, forward and backward.
    """

    def __init__(self, width: int, kernel: int, left_padding: int, *, keep_prob: float = 1.0) -> None:
        super().__init__()
        self.kernel = kernel
        self.left_padding = left_padding
        self.projection = init_normal(Linear(kernel * width, 2 * width, blocks=2), 4 * keep_prob)

    def forward(self, inputs: Tensor) -> Tensor:  # (batch, length, width)
        units = self.projection(sliding_windows(inputs, self.kernel, self.left_padding))
        units = record("conv.units", self, units, x=inputs, kernel=self.kernel, left=self.left_padding)
        return record("conv.glu", self, F.glu(units), x=units)

    def step(self, inputs: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        """Convolve one position (row, width) with the cached inputs (row, kernel - 1, width) before it."""
        window = torch.cat([cache, inputs.unsqueeze(1)], dim=1)
        return F.glu(self.projection(window.flatten(1))), window[:, 1:]


def init_normal(layer: Linear, variance: float) -> Linear:
    """Draw weights from N(0, √(variance / inputs)), section 3.5, and return the layer.

    `variance` is 4 before a gated linear unit, which divides the variance by 4, and 1 elsewhere. With dropout it is
    multiplied by the probability that an input is kept.
    """
    nn.init.normal_(layer.weight, std=(variance / layer.in_features) ** 0.5)
    return layer
