"""A reader of any memory that answers with one label (Lin et al. 2017, section 4.1 and figure 1)."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.interface import Memory
from tongsa.nn.dropout import Dropout
from tongsa.nn.linear import Linear
from tongsa.nn.output import OutputProjection


def flatten_slots(memory: Memory) -> Tensor:  # (batch, slots · width)
    """Every slot beside the other: for a memory that has the same number of them, all to be read."""
    return memory.slots.flatten(1)


def mean_pool(memory: Memory) -> Tensor:  # (batch, width)
    """The mean of the slots that may be read: for a memory with a slot for each piece."""
    mask = memory.mask.unsqueeze(2).to(memory.slots.dtype)
    return (memory.slots * mask).sum(dim=1) / mask.sum(dim=1)


class ClassifierState(NamedTuple):
    """All is known before the first step."""

    logits: Tensor  # (row, label)

    def select(self, rows: Tensor) -> "ClassifierState":
        return ClassifierState(self.logits.index_select(0, rows))

    def concat(self, other: "ClassifierState") -> "ClassifierState":
        return ClassifierState(torch.cat([self.logits, other.logits]))


class PooledClassifier(nn.Module):
    """One vector of the memory, a hidden layer of rectified units, and logits of the labels."""

    def __init__(
        self, pool: Callable[[Memory], Tensor], input_width: int, hidden_width: int, num_labels: int, dropout: float
    ) -> None:
        """`pool` makes one vector of `inputs` numbers of a memory: `flattened` or `mean`."""
        super().__init__()
        self.pool = pool
        self.hidden_layer = Linear(input_width, hidden_width)
        self.output_layer = Linear(hidden_width, num_labels)
        self.dropout = Dropout(dropout)

    @property
    def output(self) -> OutputProjection:
        return OutputProjection(self.output_layer.weight, self.output_layer.bias)

    def _pooled_hidden(self, memory: Memory) -> Tensor:  # (batch, hidden)
        return self.dropout.relu(self.hidden_layer(self.pool(memory)))

    def hidden(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, hidden)
        """Return the same vector at every position: the target has one, its label, and is not read."""
        return self._pooled_hidden(memory).unsqueeze(1).expand(-1, target.tokens.shape[1], -1)

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, label)
        return self.output.logits(self.hidden(target, memory))

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> ClassifierState:
        logits = self.output.logits(self._pooled_hidden(memory))
        return ClassifierState(logits if vocab_subset is None else logits.index_select(1, vocab_subset))

    def step(self, token: Tensor, state: ClassifierState) -> tuple[Tensor, ClassifierState]:  # noqa: ARG002 - as forward
        return state.logits, state
