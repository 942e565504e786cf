"""Linear layers with Glorot initialization (Glorot and Bengio 2010), and maxout (Goodfellow et al. 2013)."""

import torch
from torch import Tensor, nn

from tongsa.nn.packed_linear import linear
from tongsa.nn.recording import record


class Linear(nn.Linear):
    """x W + b. The matrix may stack several projections (`blocks`), which are initialized separately."""

    def __init__(
        self, in_features: int, out_features: int, *, blocks: int = 1, gain: float = 1.0, bias: bool = True
    ) -> None:
        self.blocks = blocks
        self.gain = gain
        super().__init__(in_features, out_features, bias)

    def reset_parameters(self) -> None:
        for block in self.weight.chunk(self.blocks):
            nn.init.xavier_uniform_(block, self.gain)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:  # (…, out_features)
        return linear(x, self.weight, self.bias)


def maxout(units: Tensor) -> Tensor:  # (…, width)
    """Return the maximum of each pair of 2 · width units; unit i is paired with unit width + i."""
    first, second = units.chunk(2, dim=-1)
    return torch.maximum(first, second)


class Maxout(nn.Module):
    """Maxout over linear units: Cho et al. 2014, appendix A.1.2; Bahdanau et al. 2015, appendix A.2.2."""

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.projection = Linear(input_width, 2 * width, blocks=2)

    def forward(self, inputs: Tensor) -> Tensor:  # (…, width)
        units = record("maxout.units", self, self.projection(inputs), x=inputs)
        return record("maxout.output", self, maxout(units), x=units)
