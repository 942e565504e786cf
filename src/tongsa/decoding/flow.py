"""Texts that wait until others leave their places to them."""

from collections.abc import Callable, Sequence
from typing import Generic

from torch import Tensor

from tongsa.batch import Padded
from tongsa.decoding.batches import Capacity
from tongsa.interface import S

PARTS = 4
"""How many parts of what waits fill all places: when a quarter of them is free, the next comes."""
COHORTS = 12
"""Parts that may be there at once, if only by a straggler: each costs every step a little."""
SPARSE = 4
"""Sources of unlike length, side by side, take at most so many times the room that they would take alone."""


class Flow(Generic[S]):
    """What one thread searches, in parts of like length. A search asks for the next after each step."""

    def __init__(self, parts: Sequence[Padded], most: Capacity, start: Callable[[Padded], tuple[S, Tensor]]) -> None:
        """`start` reads a part: the state before the first piece, and how long each output may be."""
        self.waiting = [*reversed(parts)]
        self.most = most
        self.start = start
        self.came = 0
        self.lengths: list[int] = []
        """Of all that have come, in order."""
        self.parts: list[int] = []
        """With which part each came."""

    def next(self) -> tuple[S, Tensor]:
        part = self.waiting.pop()
        self.lengths += part.lengths.tolist()
        self.parts += [self.came] * len(part.lengths)
        self.came += 1
        return self.start(part)

    def __call__(self, alive: list[int]) -> tuple[S, Tensor] | None:
        """The next part, if it fits in beside the sentences that are still searched for."""
        return self.next() if self.waiting and self._fits(alive) else None

    def _fits(self, alive: list[int]) -> bool:
        there = [*(self.lengths[at] for at in alive), *self.waiting[-1].lengths.tolist()]
        small = sum(there) <= self.most.places and len(there) * max(there) <= SPARSE * self.most.places
        few = len({self.parts[at] for at in alive}) < COHORTS
        return not alive or (small and few and len(there) <= self.most.sentences)
