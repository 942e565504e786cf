"""What stands beside what: IBM model 1 (Brown et al. 1993, section 4.1), in numpy."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.int64]
"""The distinct pieces of a text, from 1 on; 0 is Brown's null word, which every source has."""
Scores = NDArray[np.float64]

NOWHERE = 0
ROUNDS = 5
BACKGROUND = 0.1
"""Chance that a piece comes from nowhere: one that was never seen beside the source costs no more than this."""


class Lexicon(NamedTuple):
    """t(target piece | source piece) for all that were seen beside each other."""

    codes: Row  # source · size + target, rising
    chances: Scores
    background: Scores  # (target piece,)

    @property
    def size(self) -> int:
        return len(self.background)


class _Crossed(NamedTuple):
    """Every source piece beside every target piece of its pair."""

    codes: Row
    places: Row
    """To which place, counted over all targets, each belongs."""


def _crossed(sources: Sequence[Row], targets: Sequence[Row], size: int) -> _Crossed:
    starts = np.cumsum([0, *map(len, targets)])
    codes = [(source[:, None] * size + target).ravel() for source, target in zip(sources, targets, strict=True)]
    places = [
        np.tile(np.arange(start, start + len(target)), len(source))
        for start, source, target in zip(starts, sources, targets, strict=False)
    ]
    return _Crossed(np.concatenate(codes), np.concatenate(places))


def learnt(sources: Sequence[Row], targets: Sequence[Row], size: int) -> Lexicon:
    """Expectation and maximisation, from equal chances on."""
    crossed = _crossed(sources, targets, size)
    codes, inverse = np.unique(crossed.codes, return_inverse=True)
    owner, chances = codes // size, np.ones(len(codes))
    for _ in range(ROUNDS):
        chance = chances[inverse]
        expected = chance / np.bincount(crossed.places, chance)[crossed.places]
        counts = np.bincount(inverse, expected)
        chances = counts / np.bincount(owner, counts)[owner]
    seen = np.bincount(np.concatenate(targets), minlength=size) + 0.5
    return Lexicon(codes, chances, seen / seen.sum())


def explained(lexicon: Lexicon, sources: Sequence[Row], targets: Sequence[Row]) -> Scores:  # (pair,)
    """Mean over the target's pieces of log p(piece | source) - log p(piece)."""
    codes, places = _crossed(sources, targets, lexicon.size)
    at = np.minimum(np.searchsorted(lexicon.codes, codes), len(lexicon.codes) - 1)
    chance = np.where(lexicon.codes[at] == codes, lexicon.chances[at], 0.0)
    lengths = np.array([len(target) for target in targets])
    given = np.bincount(places, chance) / np.repeat([len(source) for source in sources], lengths)
    plain = lexicon.background[np.concatenate(targets)]
    gains = np.log((1 - BACKGROUND) * given / plain + BACKGROUND)
    means: Scores = np.add.reduceat(gains, np.cumsum([0, *lengths[:-1]])) / lengths
    return means
