"""Weights at birth: matrices after Glorot and Bengio (2010), vectors of pieces of unit length on average."""

from torch import nn


class Linear(nn.Linear):
    """x W + b. Several projections may lie in one matrix, one above the other: one product, but drawn as several."""

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
