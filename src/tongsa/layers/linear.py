"""Weights at birth: matrices after Glorot and Bengio (2010), vectors of pieces of unit length on average."""

from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.layers.judge import judging


class Linear(nn.Linear):
    """x W + b. Several projections may lie in one matrix, one above the other: one product, but drawn as several."""

    def __init__(self, inputs: int, outputs: int, *, blocks: int = 1, gain: float = 1.0, bias: bool = True) -> None:
        self.blocks = blocks
        self.gain = gain
        super().__init__(inputs, outputs, bias)

    def reset_parameters(self) -> None:
        for block in self.weight.chunk(self.blocks):
            nn.init.xavier_uniform_(block, self.gain)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class Outputs(NamedTuple):
    """The last layer: what scores each piece."""

    weight: Tensor  # (piece, width)
    bias: Tensor | None = None  # (piece,)

    def among(self, pieces: Tensor | None) -> "Outputs | None":
        """For these pieces alone; nothing of its own where all are asked for."""
        if pieces is None:
            return None
        bias = None if self.bias is None else self.bias.index_select(0, pieces)
        return Outputs(self.weight.index_select(0, pieces), bias)

    def logits(self, values: Tensor) -> Tensor:  # (…, piece)
        """Of all pieces; or what a judge says of them."""
        judge = judging()
        return judge(values, self.weight, self.bias) if judge else F.linear(values, self.weight, self.bias)


def vectors(size: int, width: int) -> nn.Embedding:
    """One vector for each piece; times √width its elements have variance 1."""
    table = nn.Embedding(size, width)
    nn.init.normal_(table.weight, std=width**-0.5)
    return table
