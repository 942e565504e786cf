"""The output layer: logits over the vocabulary or a subset of it, and the embedding table it may share."""

from dataclasses import dataclass

from torch import Tensor, nn

from tongsa.nn.packed_linear import linear


@dataclass(frozen=True)
class OutputProjection:
    """The last linear layer of a decoder: one row of weights for each token of the vocabulary."""

    weight: Tensor  # (token, width)
    bias: Tensor | None = None  # (token,)

    def subset(self, tokens: Tensor | None) -> "OutputProjection | None":
        """Return the projection to these tokens only; None, without a copy, for the whole vocabulary."""
        if tokens is None:
            return None
        bias = None if self.bias is None else self.bias.index_select(0, tokens)
        return OutputProjection(self.weight.index_select(0, tokens), bias)

    def logits(self, hidden: Tensor) -> Tensor:  # (…, token)
        return linear(hidden, self.weight, self.bias)


def embedding_table(vocab_size: int, width: int) -> nn.Embedding:
    """Return an embedding table drawn from N(0, 1/√width), so that √width times an element has variance 1."""
    table = nn.Embedding(vocab_size, width)
    nn.init.normal_(table.weight, std=width**-0.5)
    return table
