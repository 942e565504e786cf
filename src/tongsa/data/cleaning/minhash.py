"""MinHash signatures (Broder 1997): the share of equal numbers estimates the Jaccard similarity of two texts.

The sets are the 5-grams of the letters and digits of a text, without case. Permutation i is the function
h → a_i · h + b_i modulo 2^64, of which the upper 16 bits of the minimum are kept.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PERMUTATIONS, NGRAM, SEED = 64, 5, 1
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_A, _B = np.random.default_rng(SEED).integers(0, 2**64, (2, PERMUTATIONS), dtype=np.uint64)
_A |= np.uint64(1)


def signatures(texts: Sequence[str]) -> NDArray[np.uint16]:  # (text, permutation)
    """Return the signatures of texts; those of texts without letters are of the text itself."""
    if not texts:
        return np.zeros((0, PERMUTATIONS), np.uint16)
    letters = ["".join(filter(str.isalnum, text.casefold())) or text for text in texts]
    padded = [text + "\0" * (NGRAM - len(text)) for text in letters]  # at least one n-gram
    codes = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    lengths = np.fromiter(map(len, padded), np.int64, len(padded))
    starts = np.r_[0, np.cumsum(lengths)[:-1]]
    hashes = _ngram_hashes(codes)
    is_inside = np.ones(len(codes), bool)
    for i in range(NGRAM - 1):  # n-grams that would begin in one text and end in the next
        is_inside[starts + lengths - 1 - i] = False
    ngram_starts = np.r_[0, np.cumsum(lengths - NGRAM + 1)[:-1]]
    return _minima(hashes[is_inside], ngram_starts)


def _ngram_hashes(codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the hash of the n-gram that begins at each position."""
    hashes = np.zeros(len(codes), np.uint64)
    padded = np.r_[codes, np.zeros(NGRAM - 1, np.uint64)]
    for i in range(NGRAM):
        hashes = (hashes + padded[i : i + len(codes)] + np.uint64(1)) * _MULTIPLIER
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _minima(hashes: NDArray[np.uint64], starts: NDArray[np.int64]) -> NDArray[np.uint16]:
    result = np.zeros((len(starts), PERMUTATIONS), np.uint16)
    for i in range(PERMUTATIONS):
        result[:, i] = np.minimum.reduceat(hashes * _A[i] + _B[i], starts) >> np.uint64(48)
    return result


def similarity(first: NDArray[np.uint16], second: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Return the estimated similarity of corresponding rows."""
    return np.asarray((first == second).mean(axis=1))
