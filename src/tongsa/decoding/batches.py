"""The texts of one call as batches: of like length, no larger than there is room for, and as many as threads want."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tongsa.batch import Indices, batch_by_tokens

MIN_BATCHES_PER_THREAD = 4
"""Batches for each thread, below which all get equally many."""
STEP_COST_TOKENS = 16
"""Pieces in whose time a step is made, however few take it."""
MAX_SCORES_PER_STEP = 1 << 25
"""Scores of next pieces that a step may hold at once: 128 MiB."""


class Capacity(NamedTuple):
    """What may be searched for at once."""

    max_tokens: int
    """Source pieces."""
    max_sentences: int

    @classmethod
    def for_candidates(cls, max_tokens: int, candidates_per_sentence: int) -> "Capacity":
        """So many sentences that a step, with this many candidates for each of them, holds no more than CANDIDATES."""
        return cls(max_tokens, max(1, MAX_SCORES_PER_STEP // candidates_per_sentence))

    def divide(self, parts: int) -> "Capacity":
        return Capacity(max(1, self.max_tokens // parts), max(1, self.max_sentences // parts))


def make_batches(lengths: NDArray[np.int64], order: Indices, capacity: Capacity, *, threads: int) -> list[Indices]:
    """Cut an order of texts, longest first, into batches, each of at most so many places, padding included."""
    batches = [
        part
        for batch in batch_by_tokens(lengths[:, None], order, capacity.max_tokens)
        for part in _split_batch(batch, capacity.max_sentences)
    ]
    if len(batches) < MIN_BATCHES_PER_THREAD * threads:  # a thread would wait for another at the end
        equal = _equal_batches(order, lengths, -(-len(batches) // threads) * threads)
        if all(
            len(part) * lengths[part[0]] <= capacity.max_tokens and len(part) <= capacity.max_sentences
            for part in equal
        ):
            return equal
    return batches


def assign_to_threads(batches: list[Indices], lengths: NDArray[np.int64], threads: int) -> list[list[Indices]]:
    """The parts of each thread, in order: the next is always for whoever has least to do so far."""
    shares: list[list[Indices]] = [[] for _ in range(min(threads, len(batches)))]
    work = [0] * len(shares)
    for part in batches:
        at = work.index(min(work))
        shares[at].append(part)
        work[at] += int(lengths[part].sum() + STEP_COST_TOKENS * lengths[part].max())
    return shares


def _split_batch(batch: Indices, max_sentences: int) -> Iterator[Indices]:
    for start in range(0, len(batch), max_sentences):
        yield batch[start : start + max_sentences]


def _equal_batches(order: Indices, lengths: NDArray[np.int64], count: int) -> list[Indices]:
    """So many batches of about as many pieces; texts of like length stay together."""
    if not count:
        return []
    pieces = lengths[order].cumsum()
    cuts = np.searchsorted(pieces, pieces[-1] * np.arange(1, count) / count) + 1
    return [part for part in np.split(order, cuts) if len(part)]
