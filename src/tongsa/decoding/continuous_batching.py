"""Continuous batching: new sentences join a running beam search as soon as finished ones leave room.

Sentences of a batch finish after different numbers of steps. A step costs nearly as much for few rows as for many. So
a thread's texts are divided into small batches of similar length, a quarter of the capacity each. The search starts
with the first. After each step `beam_search` calls the batcher with the sentences that are still alive. If the next
small batch fits into the remaining capacity, it is encoded. Its rows are appended to the decoder state and to the beams
(`DecoderState.concat`, `Beams.concat`). Rows of one batch are independent, so the results do not change; only the
number of steps does.
"""

from collections.abc import Callable, Sequence
from typing import Generic

from torch import Tensor

from tongsa.batch import Padded
from tongsa.decoding.batches import Capacity
from tongsa.interface import S

BATCHES_PER_CAPACITY = 4
"""Small batches that fill the capacity: the next one joins when about a quarter of the capacity is free."""
MAX_ACTIVE_BATCHES = 12
"""Largest number of batches with sentences alive: each makes every step a little slower."""
MAX_PADDING_RATIO = 4
"""Largest ratio of the padded size of all sources to the capacity: sources of different length pad each other."""


class ContinuousBatcher(Generic[S]):
    """The batches of one thread; `beam_search` calls it after each step."""

    def __init__(
        self, batches: Sequence[Padded], capacity: Capacity, start: Callable[[Padded], tuple[S, Tensor]]
    ) -> None:
        """`start` encodes a batch and returns its decoder state and the maximum length (sentence,) of each output."""
        self.waiting = [*reversed(batches)]
        self.capacity = capacity
        self.start = start
        self.num_started = 0
        self.source_lengths: list[int] = []
        """Source length of each sentence that was started, by sentence number."""
        self.batch_ids: list[int] = []
        """Batch of each sentence that was started, by sentence number."""

    def next_batch(self) -> tuple[S, Tensor]:
        """Start the next batch."""
        batch = self.waiting.pop()
        self.source_lengths += batch.lengths.tolist()
        self.batch_ids += [self.num_started] * len(batch.lengths)
        self.num_started += 1
        return self.start(batch)

    def __call__(self, alive: list[int]) -> tuple[S, Tensor] | None:
        """Start the next batch if it fits into the capacity that the sentences alive leave."""
        return self.next_batch() if self.waiting and self._next_fits(alive) else None

    def _next_fits(self, alive: list[int]) -> bool:
        if not alive:
            return True
        lengths = [*(self.source_lengths[sentence] for sentence in alive), *self.waiting[-1].lengths.tolist()]
        return (
            len(lengths) <= self.capacity.max_sentences
            and sum(lengths) <= self.capacity.max_tokens
            and len(lengths) * max(lengths) <= MAX_PADDING_RATIO * self.capacity.max_tokens
            and len({self.batch_ids[sentence] for sentence in alive}) < MAX_ACTIVE_BATCHES
        )
