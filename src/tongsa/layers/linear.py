"""Weights at birth: matrices after Glorot and Bengio (2010), vectors of pieces of unit length on average."""

from torch import nn


def linear(inputs: int, outputs: int, *, blocks: int = 1) -> nn.Linear:
    """X W + b; `blocks` projections that lie in one matrix are drawn as if each had its own."""
    layer = nn.Linear(inputs, outputs)
    for block in layer.weight.chunk(blocks):
        nn.init.xavier_uniform_(block)
    nn.init.zeros_(layer.bias)
    return layer


def vectors(size: int, width: int) -> nn.Embedding:
    """One vector for each piece; times √width its elements have variance 1."""
    table = nn.Embedding(size, width)
    nn.init.normal_(table.weight, std=width**-0.5)
    return table
