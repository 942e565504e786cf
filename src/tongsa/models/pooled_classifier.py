"""A classifier over any memory: pooled slots, a hidden layer, one label (Lin et al. 2017, section 4.1 and figure 1)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from tongsa.batch import Padded
from tongsa.interface import Memory
from tongsa.nn.decoder_state import RowState
from tongsa.nn.dropout import Dropout
from tongsa.nn.linear import Linear
from tongsa.nn.output import OutputProjection
from tongsa.nn.recording import is_recording_tensors, record

Pool = Callable[[nn.Module, Memory], Tensor]
"""From a memory to one vector (batch, width), recorded as a value of the module."""


def flatten_slots(module: nn.Module, memory: Memory) -> Tensor:  # (batch, slots · width)
    """Concatenate all slots: for memories with a fixed number of slots and no padding."""
    return record("pool.flat", module, memory.slots.flatten(1), x=memory.slots)


def mean_pool(module: nn.Module, memory: Memory) -> Tensor:  # (batch, width)
    """Average the slots that may be read: for memories with one slot for each token."""
    mask = memory.mask.unsqueeze(2).to(memory.slots.dtype)
    return record("pool.mean", module, (memory.slots * mask).sum(dim=1) / mask.sum(dim=1), x=memory.slots)


@dataclass(frozen=True)
class ClassifierState(RowState):
    """Decoder state: the logits, which are computed before the first step."""

    logits: Tensor  # (row, label)


class PooledClassifier(nn.Module):
    """A pooled memory, one hidden layer with ReLU, and the logits of the labels."""

    def __init__(
        self,
        pool: Callable[[nn.Module, Memory], Tensor],
        input_width: int,
        hidden_width: int,
        num_labels: int,
        dropout: float,
    ) -> None:
        """`pool` is `flatten_slots` or `mean_pool`; it returns vectors of `input_width` elements."""
        super().__init__()
        self.pool = pool
        self.hidden_layer = Linear(input_width, hidden_width)
        self.output_layer = Linear(hidden_width, num_labels)
        self.dropout = Dropout(dropout)

    @property
    def output(self) -> OutputProjection:
        return OutputProjection(self.output_layer.weight, self.output_layer.bias)

    def _pooled_hidden(self, memory: Memory) -> Tensor:  # (batch, hidden)
        pooled = self.pool(self, memory)
        hidden = record("classifier.hidden", self, self.hidden_layer(pooled), x=pooled)
        if is_recording_tensors():
            return self.dropout(record("classifier.relu", self, F.relu(hidden), x=hidden))  # type: ignore[no-any-return]
        return self.dropout.relu(hidden)

    def hidden(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, hidden)
        """Return the same vector at every position: the target is a single label and is ignored."""
        return self._pooled_hidden(memory).unsqueeze(1).expand(-1, target.tokens.shape[1], -1)

    def forward(self, target: Padded, memory: Memory) -> Tensor:  # (batch, length, label)
        hidden = self.hidden(target, memory)
        return record("output.logits", self, self.output.logits(hidden), h=hidden)

    def start(self, memory: Memory, vocab_subset: Tensor | None = None) -> ClassifierState:
        logits = self.output.logits(self._pooled_hidden(memory))
        return ClassifierState(logits if vocab_subset is None else logits.index_select(1, vocab_subset))

    def step(self, token: Tensor, state: ClassifierState) -> tuple[Tensor, ClassifierState]:  # noqa: ARG002 - see hidden
        return state.logits, state
