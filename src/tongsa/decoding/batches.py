"""The texts of one call as batches: of like length, no larger than there is room for, and as many as threads want."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tongsa.batch import Rows, by_tokens

FEW = 4
"""Batches for each thread, below which all get equally many."""
CANDIDATES = 1 << 25
"""Scores of next pieces that a step may hold at once: 128 MiB."""


def batched(lengths: NDArray[np.int64], order: Rows, *, places: int, candidates: int, threads: int) -> list[Rows]:
    """Cut an order of texts, longest first, into batches.

    Each has at most so many `places`, padding included, and so many sentences that a step, with this many `candidates`
    for each of them, holds no more than CANDIDATES.
    """
    most = max(1, CANDIDATES // candidates)
    batches = [part for batch in by_tokens(lengths[:, None], order, places) for part in _cut(batch, most)]
    if len(batches) < FEW * threads:  # a thread would wait for another at the end
        equal = _shared_out(order, lengths, -(-len(batches) // threads) * threads)
        if all(len(part) * lengths[part[0]] <= places and len(part) <= most for part in equal):
            return equal
    return batches


def _cut(batch: Rows, most: int) -> Iterator[Rows]:
    for start in range(0, len(batch), most):
        yield batch[start : start + most]


def _shared_out(order: Rows, lengths: NDArray[np.int64], count: int) -> list[Rows]:
    """So many batches of about as many pieces; texts of like length stay together."""
    if not count:
        return []
    pieces = lengths[order].cumsum()
    cuts = np.searchsorted(pieces, pieces[-1] * np.arange(1, count) / count) + 1
    return [part for part in np.split(order, cuts) if len(part)]
