"""A reader of any memory that answers with one label (Lin et al. 2017, section 4.1 and figure 1)."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.interface import Memory
from tongsa.layers.dropout import Dropout
from tongsa.layers.linear import Linear


def flattened(memory: Memory) -> Tensor:  # (batch, slots · width)
    """Every slot beside the other: for a memory that has the same number of them, all to be read."""
    return memory.slots.flatten(1)


def mean(memory: Memory) -> Tensor:  # (batch, width)
    """The mean of the slots that may be read: for a memory with a slot for each piece."""
    mask = memory.mask.unsqueeze(2).to(memory.slots.dtype)
    return (memory.slots * mask).sum(dim=1) / mask.sum(dim=1)


class ClassifierState(NamedTuple):
    """All is known before the first step."""

    logits: Tensor  # (row, label)

    def select(self, rows: Tensor) -> "ClassifierState":
        return ClassifierState(self.logits.index_select(0, rows))

    def beside(self, others: "ClassifierState") -> "ClassifierState":
        return ClassifierState(torch.cat([self.logits, others.logits]))


class Classifier(nn.Module):
    """One vector of the memory, a hidden layer of rectified units, and logits of the labels."""

    def __init__(self, pool: Callable[[Memory], Tensor], inputs: int, hidden: int, labels: int, dropout: float) -> None:
        """`pool` makes one vector of `inputs` numbers of a memory: `flattened` or `mean`."""
        super().__init__()
        self.pool = pool
        self.hidden = Linear(inputs, hidden)
        self.output = Linear(hidden, labels)
        self.dropout = Dropout(dropout)

    def logits(self, memory: Memory) -> Tensor:  # (batch, label)
        logits: Tensor = self.output(self.dropout.relu(self.hidden(self.pool(memory))))
        return logits

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, label)
        """The same at every place: the target has one, its label, and is not read."""
        return self.logits(memory).unsqueeze(1).expand(-1, target.pieces.shape[1], -1)

    def start(self, memory: Memory, among: Tensor | None = None) -> ClassifierState:
        logits = self.logits(memory)
        return ClassifierState(logits if among is None else logits.index_select(1, among))

    def step(self, piece: Tensor, state: ClassifierState) -> tuple[Tensor, ClassifierState]:  # noqa: ARG002 - as forward
        return state.logits, state
