"""Duplicates of a corpus: equal pairs, several sources of a target, and similar pairs (MinHash with banding).

Each function returns for each row the row that is kept instead, or -1. Rows that other filters drop are kept only if
all rows of their group are. Memory: less than 100 bytes for each pair; the signatures are read from a memory map.
"""

import numpy as np
from numpy.typing import NDArray

from tongsa.data.cleaning.minhash import similarity

BAND_ROWS = 4
"""Numbers of a band: with 16 bands, pairs with a similarity of 0.8 share a band with probability 0.9998."""
BLOCK_ROWS = 1 << 16
Rows = NDArray[np.int64]
Keys = NDArray[np.uint64]
Mask = NDArray[np.bool_]


def equal_rows(keys: Keys, is_dropped: Mask) -> Rows:
    """Return the first row with the same keys. `keys` has a row for each pair, and any number of columns."""
    order = np.lexsort((is_dropped, *keys.T))
    return _originals(order, _group_starts(keys[order]))


def same_target_rows(keys: Keys, is_dropped: Mask, badness: NDArray[np.float64]) -> Rows:
    """Return the best row with the same target: with the smallest badness, the first of several."""
    order = np.lexsort((badness, is_dropped, keys[:, 1]))
    return _originals(order, _group_starts(keys[order, 1:]))


def near_rows(signatures: NDArray[np.uint16], is_dropped: Mask, threshold: float) -> Rows:
    """Return an earlier row that is kept and whose estimated similarity is at least the threshold.

    Candidates share a band. In its bucket a row is compared with the first row and with the one before it. If A is
    similar to B and B to C, but not A to C, only B is dropped: C has lost its candidate. This is repeated with the rows
    that are left until none is dropped, so a second cleaning drops nothing.

    A round may drop a row for which a round before it has dropped others; those are left again. What happens to a row
    depends on earlier rows alone, so the first rows are settled first, and the rounds end.
    """
    originals = np.full(len(signatures), -1, np.int64)
    candidates, is_changed = _sharing_rows(signatures), np.ones(len(signatures), bool)
    while is_changed.any():
        matches = np.full(len(signatures), -1, np.int64)
        left, changed = candidates[originals[candidates] < 0], candidates[is_changed[candidates]]
        for band in range(0, signatures.shape[1], BAND_ROWS):
            keys = _bucket_keys(signatures, left, band)
            # in the other buckets nothing has changed since their rows were compared
            in_scope = np.isin(keys, _bucket_keys(signatures, changed, band))
            rows, keys = left[in_scope], keys[in_scope]
            order = np.lexsort((is_dropped[rows], keys))
            _match_buckets(rows[order], _group_starts(keys[order, None]), signatures, threshold, matches)
        is_new = _is_odd_in_chain(matches)
        originals[is_new] = matches[is_new]
        is_left_again = (originals >= 0) & (originals[originals] >= 0)
        originals[is_left_again] = -1
        is_changed = (matches >= 0) | is_left_again
    return originals


def _bucket_keys(signatures: NDArray[np.uint16], rows: Rows, band: int) -> NDArray[np.uint64]:
    return np.ascontiguousarray(signatures[rows, band : band + BAND_ROWS]).view(np.uint64)[:, 0]


def _sharing_rows(signatures: NDArray[np.uint16]) -> Rows:
    """Return the rows that share a bucket with another row; the others have no near duplicates."""
    all_rows, is_shared = np.arange(len(signatures)), np.zeros(len(signatures), bool)
    for band in range(0, signatures.shape[1], BAND_ROWS):
        keys = _bucket_keys(signatures, all_rows, band)
        order = np.argsort(keys)
        starts = _group_starts(keys[order, None])
        is_shared[order] |= ~starts | ~np.r_[starts[1:], True][: len(starts)]
    return np.flatnonzero(is_shared)


def _match_buckets(rows: Rows, starts: Mask, signatures: NDArray[np.uint16], threshold: float, matches: Rows) -> None:
    """Record the match of each row that is similar to the first row of its bucket or to the row before it."""
    first = rows[np.maximum.accumulate(np.where(starts, np.arange(len(rows)), 0))]
    for candidates in (first, np.r_[rows[:1], rows[:-1]]):
        indices = np.flatnonzero(~starts & (matches[rows] < 0))
        for start in range(0, len(indices), BLOCK_ROWS):
            block = indices[start : start + BLOCK_ROWS]
            similar = similarity(signatures[rows[block]], signatures[candidates[block]]) >= threshold
            matches[rows[block[similar]]] = candidates[block[similar]]


def _is_odd_in_chain(matches: Rows) -> Mask:
    """Return which rows are an odd number of matches away from a row without one; each step halves the chains."""
    is_odd, ends = matches >= 0, matches
    while (ends >= 0).any():
        is_odd = is_odd ^ np.where(ends >= 0, is_odd[ends], False)
        ends = np.where(ends >= 0, ends[ends], -1)
    return is_odd


def _group_starts(keys: Keys) -> Mask:
    """Return whether each row of sorted keys is the first of its group."""
    starts = np.ones(len(keys), bool)
    starts[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    return starts


def _originals(order: Rows, starts: Mask) -> Rows:
    first = order[np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))]
    originals = np.full(len(order), -1, np.int64)
    originals[order] = np.where(first == order, -1, first)
    return originals


def largest_groups(keys: Keys, count: int) -> list[tuple[int, int]]:
    """Return the first row and the size of the largest groups with equal keys, of at least two rows."""
    order = np.lexsort((*keys.T,))
    starts = np.flatnonzero(_group_starts(keys[order]))
    sizes = np.diff(np.r_[starts, len(order)])
    largest = np.lexsort((order[starts], -sizes))[:count] if len(order) else np.zeros(0, np.int64)
    return [(int(order[starts[group]]), int(sizes[group])) for group in largest if sizes[group] > 1]
