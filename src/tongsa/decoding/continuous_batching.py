"""Texts that wait until others leave their places to them."""

from collections.abc import Callable, Sequence
from typing import Generic

from torch import Tensor

from tongsa.batch import Padded
from tongsa.decoding.batches import Capacity
from tongsa.interface import S

BATCHES_PER_CAPACITY = 4
"""How many parts of what waits fill all places: when a quarter of them is free, the next comes."""
MAX_ACTIVE_BATCHES = 12
"""Parts that may be there at once, if only by a straggler: each costs every step a little."""
MAX_PADDING_RATIO = 4
"""Sources of unlike length, side by side, take at most so many times the room that they would take alone."""


class ContinuousBatcher(Generic[S]):
    """What one thread searches, in parts of like length. A search asks for the next after each step."""

    def __init__(
        self, batches: Sequence[Padded], capacity: Capacity, start: Callable[[Padded], tuple[S, Tensor]]
    ) -> None:
        """`start` reads a part: the state before the first piece, and how long each output may be."""
        self.waiting = [*reversed(batches)]
        self.capacity = capacity
        self.start = start
        self.num_started = 0
        self.source_lengths: list[int] = []
        """Of all that have come, in order."""
        self.batch_ids: list[int] = []
        """With which part each came."""

    def next_batch(self) -> tuple[S, Tensor]:
        part = self.waiting.pop()
        self.source_lengths += part.lengths.tolist()
        self.batch_ids += [self.num_started] * len(part.lengths)
        self.num_started += 1
        return self.start(part)

    def __call__(self, alive: list[int]) -> tuple[S, Tensor] | None:
        """The next part, if it fits in beside the sentences that are still searched for."""
        return self.next_batch() if self.waiting and self._next_fits(alive) else None

    def _next_fits(self, alive: list[int]) -> bool:
        there = [*(self.source_lengths[at] for at in alive), *self.waiting[-1].lengths.tolist()]
        small = (
            sum(there) <= self.capacity.max_tokens
            and len(there) * max(there) <= MAX_PADDING_RATIO * self.capacity.max_tokens
        )
        few = len({self.batch_ids[at] for at in alive}) < MAX_ACTIVE_BATCHES
        return not alive or (small and few and len(there) <= self.capacity.max_sentences)
