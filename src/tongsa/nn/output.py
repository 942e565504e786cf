"""The output layer: logits of a vocabulary or of a subset of it, and the embedding table it may share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

Judge = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""From what stands before a last layer (batch, length, width), and its weight and bias, to what is wanted of it."""

_judge: ContextVar[Judge | None] = ContextVar("judge", default=None)


@contextmanager
def judged_by(judge: Judge | None) -> Iterator[None]:
    """Last layers inside this block, in this thread alone, give what the judge says instead of logits."""
    token = _judge.set(judge)
    try:
        yield
    finally:
        _judge.reset(token)


def judging() -> Judge | None:
    return _judge.get()


class OutputProjection(NamedTuple):
    """The last layer: what scores each piece."""

    weight: Tensor  # (piece, width)
    bias: Tensor | None = None  # (piece,)

    def subset(self, tokens: Tensor | None) -> "OutputProjection | None":
        """For these pieces alone; nothing of its own where all are asked for."""
        if tokens is None:
            return None
        bias = None if self.bias is None else self.bias.index_select(0, tokens)
        return OutputProjection(self.weight.index_select(0, tokens), bias)

    def logits(self, hidden: Tensor) -> Tensor:  # (…, piece)
        """Of all pieces; or what a judge says of them."""
        judge = judging()
        return judge(hidden, self.weight, self.bias) if judge else F.linear(hidden, self.weight, self.bias)


def embedding_table(vocab_size: int, width: int) -> nn.Embedding:
    """One vector for each piece; times √width its elements have variance 1."""
    table = nn.Embedding(vocab_size, width)
    nn.init.normal_(table.weight, std=width**-0.5)
    return table
