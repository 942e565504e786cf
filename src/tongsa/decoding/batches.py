"""The texts of one call as batches: of like length, no larger than there is room for, and as many as threads want."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tongsa.batch import Rows, by_tokens

FEW = 4
"""Batches for each thread, below which all get equally many."""
STEP = 16
"""Pieces in whose time a step is made, however few take it."""
CANDIDATES = 1 << 25
"""Scores of next pieces that a step may hold at once: 128 MiB."""


class Capacity(NamedTuple):
    """What may be searched for at once."""

    places: int
    """Source pieces."""
    sentences: int

    @classmethod
    def of(cls, places: int, candidates: int) -> "Capacity":
        """So many sentences that a step, with this many candidates for each of them, holds no more than CANDIDATES."""
        return cls(places, max(1, CANDIDATES // candidates))

    def share(self, parts: int) -> "Capacity":
        return Capacity(max(1, self.places // parts), max(1, self.sentences // parts))


def batched(lengths: NDArray[np.int64], order: Rows, most: Capacity, *, threads: int) -> list[Rows]:
    """Cut an order of texts, longest first, into batches, each of at most so many places, padding included."""
    batches = [
        part for batch in by_tokens(lengths[:, None], order, most.places) for part in _cut(batch, most.sentences)
    ]
    if len(batches) < FEW * threads:  # a thread would wait for another at the end
        equal = _evenly(order, lengths, -(-len(batches) // threads) * threads)
        if all(len(part) * lengths[part[0]] <= most.places and len(part) <= most.sentences for part in equal):
            return equal
    return batches


def shared_out(parts: list[Rows], lengths: NDArray[np.int64], threads: int) -> list[list[Rows]]:
    """The parts of each thread, in order: the next is always for whoever has least to do so far."""
    shares: list[list[Rows]] = [[] for _ in range(min(threads, len(parts)))]
    work = [0] * len(shares)
    for part in parts:
        at = work.index(min(work))
        shares[at].append(part)
        work[at] += int(lengths[part].sum() + STEP * lengths[part].max())
    return shares


def _cut(batch: Rows, most: int) -> Iterator[Rows]:
    for start in range(0, len(batch), most):
        yield batch[start : start + most]


def _evenly(order: Rows, lengths: NDArray[np.int64], count: int) -> list[Rows]:
    """So many batches of about as many pieces; texts of like length stay together."""
    if not count:
        return []
    pieces = lengths[order].cumsum()
    cuts = np.searchsorted(pieces, pieces[-1] * np.arange(1, count) / count) + 1
    return [part for part in np.split(order, cuts) if len(part)]
