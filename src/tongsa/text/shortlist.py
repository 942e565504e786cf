"""Which target pieces a source piece may become, by IBM model 1 (as in Jean et al. 2015, section 3.1)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tongsa.text.lexicon import NOWHERE, Lexicon, Row, learnt

MOST = 200_000
"""Pairs that are looked at, spread evenly over all of them: the lexicon stands in memory."""

Indices = NDArray[np.int32]


class Candidates(NamedTuple):
    each: Indices  # (source piece, rank): the likeliest translations of each, best first; 0 where there are no more
    frequent: Indices  # (rank,): the most frequent target pieces


def candidates(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], sizes: tuple[int, int], each: int, frequent: int
) -> Candidates:
    """Learnt from pairs as indices; `sizes` are those of the two vocabularies."""
    both = [pair for pair in zip(sources, targets, strict=True) if all(pair)]
    both = both[:: -(-len(both) // MOST) or 1]
    lexicon = learnt(
        [np.append(_distinct(source), NOWHERE) for source, _ in both],
        [_distinct(target) for _, target in both],
        max(sizes) + 1,
    )
    counts = np.bincount(np.concatenate([target for _, target in both]), minlength=sizes[1])
    usual = np.argsort(-counts, kind="stable")[: min(frequent, int((counts > 0).sum()))]
    return Candidates(_likeliest(lexicon, sizes[0], each), usual.astype(np.int32))


def _distinct(row: Sequence[int]) -> Row:
    return np.unique(np.asarray(row, dtype=np.int64)) + 1


def _likeliest(lexicon: Lexicon, size: int, each: int) -> Indices:  # (source piece, rank)
    source, target = lexicon.codes // lexicon.size, lexicon.codes % lexicon.size
    order = np.lexsort((-lexicon.chances, source))
    source, target = source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)
    among = (rank < each) & (source != NOWHERE)
    found = np.zeros((size, each), dtype=np.int32)
    found[source[among] - 1, rank[among]] = target[among] - 1
    return found
