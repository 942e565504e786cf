"""What stands beside what: IBM model 1 (Brown et al. 1993, section 4.1), in numpy."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TokenSet = NDArray[np.int64]
"""The distinct pieces of a text, from 1 on; 0 is Brown's null word, which every source has."""
FloatArray = NDArray[np.float64]

NULL_WORD = 0
EM_ITERATIONS = 5
BACKGROUND_PROB = 0.1
"""Chance that a piece comes from nowhere: one that was never seen beside the source costs no more than this."""


class Lexicon(NamedTuple):
    """t(target piece | source piece) for all that were seen beside each other."""

    pair_ids: TokenSet  # source · size + target, rising
    probs: FloatArray
    unigram_probs: FloatArray  # (target piece,)

    @property
    def vocab_size(self) -> int:
        return len(self.unigram_probs)


class _Cooccurrences(NamedTuple):
    """Every source piece beside every target piece of its pair."""

    pair_ids: TokenSet
    target_positions: TokenSet
    """To which place, counted over all targets, each belongs."""


def _cooccurrences(sources: Sequence[TokenSet], targets: Sequence[TokenSet], vocab_size: int) -> _Cooccurrences:
    starts = np.cumsum([0, *map(len, targets)])
    codes = [(source[:, None] * vocab_size + target).ravel() for source, target in zip(sources, targets, strict=True)]
    places = [
        np.tile(np.arange(start, start + len(target)), len(source))
        for start, source, target in zip(starts, sources, targets, strict=False)
    ]
    return _Cooccurrences(np.concatenate(codes), np.concatenate(places))


def train_lexicon(sources: Sequence[TokenSet], targets: Sequence[TokenSet], vocab_size: int) -> Lexicon:
    """Expectation and maximisation, from equal chances on."""
    crossed = _cooccurrences(sources, targets, vocab_size)
    codes, inverse = np.unique(crossed.pair_ids, return_inverse=True)
    owner, chances = codes // vocab_size, np.ones(len(codes))
    for _ in range(EM_ITERATIONS):
        chance = chances[inverse]
        expected = chance / np.bincount(crossed.target_positions, chance)[crossed.target_positions]
        counts = np.bincount(inverse, expected)
        chances = counts / np.bincount(owner, counts)[owner]
    seen = np.bincount(np.concatenate(targets), minlength=vocab_size) + 0.5
    return Lexicon(codes, chances, seen / seen.sum())


def log_likelihood_ratio(
    lexicon: Lexicon, sources: Sequence[TokenSet], targets: Sequence[TokenSet]
) -> FloatArray:  # (pair,)
    """Mean over the target's pieces of log p(piece | source) - log p(piece)."""
    codes, places = _cooccurrences(sources, targets, lexicon.vocab_size)
    at = np.minimum(np.searchsorted(lexicon.pair_ids, codes), len(lexicon.pair_ids) - 1)
    chance = np.where(lexicon.pair_ids[at] == codes, lexicon.probs[at], 0.0)
    lengths = np.array([len(target) for target in targets])
    given = np.bincount(places, chance) / np.repeat([len(source) for source in sources], lengths)
    plain = lexicon.unigram_probs[np.concatenate(targets)]
    gains = np.log((1 - BACKGROUND_PROB) * given / plain + BACKGROUND_PROB)
    means: FloatArray = np.add.reduceat(gains, np.cumsum([0, *lengths[:-1]])) / lengths
    return means
