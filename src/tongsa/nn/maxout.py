"""Maxout (Goodfellow, Warde-Farley, Mirza, Courville, Bengio 2013)."""

import torch
from torch import Tensor, nn

from tongsa.nn.linear import Linear


def maxout(units: Tensor) -> Tensor:  # (..., width)
    """The greater of each two of 2 · width units; the two of a pair stand half the width apart."""
    first, second = units.chunk(2, dim=-1)
    return torch.maximum(first, second)


class Maxout(nn.Module):
    """Of linear units: Cho et al. 2014, appendix A.1.2; Bahdanau et al. 2015, appendix A.2.2."""

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.projection = Linear(input_width, 2 * width, blocks=2)

    def forward(self, inputs: Tensor) -> Tensor:  # (..., width)
        return maxout(self.projection(inputs))
