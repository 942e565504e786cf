"""Do the two sides belong together? A lexicon learnt on some pairs is asked about others.

Of each it is asked whether its own source explains its target better than the source of some other pair does. Where
the sides do not belong together, that is a coin toss.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np

from tongsa.text.finding import SHOWN, Finding, Level, place
from tongsa.text.ledger import Pair
from tongsa.text.lexicon import NOWHERE, Lexicon, Row, Scores, explained, learnt

COUNT = 1_000
"""Pairs looked at, drawn from all: half to learn from, half to ask about."""
FEWEST = 200
"""With fewer the answer would be a guess."""
LONGEST = 60
"""Pieces of a side that are looked at."""
ALIGNED, TOSSED = 0.75, 0.6
"""Share of the pairs that prefer their own partner: more than the one in good corpora, less than the other by luck."""
SHIFTS = (1, -1, 2, -2, 3, -3)
STRETCH, DENSE = 12, 0.35
"""A slip is believed when so many more pairs in a row prefer the shifted partner, and so much of the stretch agrees."""
MOST = 0.8
"""A slip of so many pairs is one of the whole corpus."""
ODD = 0.1
"""Share of the usual preference below which a pair is worth a look."""
STEMS = 1 << 16
"""Beginnings of words are told apart by so many numbers."""


class Cut(NamedTuple):
    """How texts become indices: as a vocabulary does it, or by `STEMMED`."""

    split: Callable[[Sequence[str]], Sequence[Sequence[int]]]
    size: int


@dataclass(frozen=True)
class _Sides:
    """Pairs by their place in the corpus, as rows of indices."""

    pairs: Sequence[Pair]
    source: Cut
    target: Cut

    @property
    def size(self) -> int:
        return max(self.source.size, self.target.size) + 1

    def sources(self, at: Sequence[int]) -> list[Row]:
        cut = self.source.split([self.pairs[place].source for place in at])
        return [np.append(_distinct(row), NOWHERE) for row in cut]

    def targets(self, at: Sequence[int]) -> list[Row]:
        return [_distinct(row) for row in self.target.split([self.pairs[place].target for place in at])]

    def lexicon(self, at: Sequence[int], shift: int = 0) -> Lexicon:
        moved = [(near, place) for place in at if (near := self.neighbour(place, shift)) is not None]
        return learnt(self.sources([near for near, _ in moved]), self.targets([one for _, one in moved]), self.size)

    def neighbour(self, at: int, shift: int) -> int | None:
        """Where the line `shift` lines further in the same file is; lines may be missing from a corpus."""
        here = self.pairs[at]
        for near in range(max(0, at - abs(shift)), min(len(self.pairs), at + abs(shift) + 1)):
            if (self.pairs[near].file, self.pairs[near].line) == (here.file, here.line + shift):
                return near
        return None


def _distinct(row: Sequence[int]) -> Row:
    return np.unique(np.asarray(row[:LONGEST], dtype=np.int64)) + 1


def stems(texts: Sequence[str]) -> list[list[int]]:
    """The beginnings of words, each as a number: for pieces so small that they say nothing by themselves."""
    return [[zlib.crc32(word[:5].encode()) % STEMS for word in text.casefold().split()] for text in texts]


STEMMED = Cut(stems, STEMS)


def preference(lexicon: Lexicon, sources: Sequence[Row], targets: Sequence[Row]) -> Scores:  # (pair,)
    """How much better each target is explained by its own source than by one from the other end of the corpus."""
    half = len(sources) // 2
    return explained(lexicon, sources, targets) - explained(lexicon, [*sources[half:], *sources[:half]], targets)


def share(preferences: Scores) -> float:
    """Of those that prefer their own; one that does not care counts half."""
    return float(np.mean((preferences > 0) + 0.5 * (preferences == 0)))


class Slip(NamedTuple):
    """A stretch of pairs whose targets belong to the sources `shift` lines further."""

    shift: int
    first: int
    last: int
    surplus: float
    """How many more pairs of the stretch prefer the shifted partner."""


def slip(wins: Scores, shift: int) -> Slip | None:
    """The stretch with the largest sum of wins (+1) and losses (-1), if it is long and dense enough to be believed."""
    best, total, start = Slip(shift, 0, -1, 0.0), 0.0, 0
    for at, win in enumerate(wins):
        if total <= 0:
            total, start = 0.0, at
        total += win
        if total > best.surplus:
            best = Slip(shift, start, at, total)
    return best if best.surplus >= max(STRETCH, DENSE * (best.last - best.first + 1)) else None


def _slipped(sides: _Sides, asked: Sequence[int], lexicon: Lexicon) -> Slip | None:
    """The stretch of `asked` that most clearly prefers the partners some lines away."""
    targets = sides.targets(asked)
    own = explained(lexicon, sides.sources(asked), targets)
    found: list[Slip] = []
    for shift in SHIFTS:
        near = [sides.neighbour(at, shift) for at in asked]
        moved = sides.sources([at if other is None else other for at, other in zip(asked, near, strict=True)])
        stretch = slip(np.sign(explained(lexicon, moved, targets) - own), shift)
        found += [stretch] if stretch else []
    return max(found, key=lambda one: one.surplus, default=None)


def _explains(stretch: Slip, preferences: Scores) -> bool:
    """Whether all is well outside of it: in shuffled lines some stretch is always found."""
    outside = np.delete(preferences, slice(stretch.first, stretch.last + 1))
    return len(outside) < (1 - MOST) * len(preferences) or share(outside) >= ALIGNED


def _best_lexicon(sides: _Sides, taught: Sequence[int], asked: Sequence[int]) -> Lexicon:
    """From the pairs as they stand, or moved: where most have slipped, nothing true is learnt before they are back."""
    found: list[tuple[float, int, Lexicon]] = []
    for shift in (0, *SHIFTS):
        here = [(at, near) for at in asked if (near := sides.neighbour(at, shift)) is not None]
        if len(here) < FEWEST // 2 - abs(shift):
            continue
        lexicon = sides.lexicon(taught, shift)
        moved = sides.sources([near for _, near in here])
        found.append((share(preference(lexicon, moved, sides.targets([at for at, _ in here]))), -abs(shift), lexicon))
        if found[-1][0] >= ALIGNED:
            break
    return max(found, key=lambda one: one[:2])[2]


class Answer(NamedTuple):
    """What was asked, and what came back."""

    asked: Sequence[int]
    preferences: Scores
    slip: Slip | None

    @property
    def share(self) -> float:
        return share(self.preferences)


def answer(pairs: Sequence[Pair], source: Cut, target: Cut, count: int = COUNT) -> Answer | None:
    """By the pieces or, where these are not sure, by the beginnings of words; None where pairs are too few to tell."""
    if min(count, len(pairs)) < FEWEST:
        return None
    drawn = Random(0).sample(range(len(pairs)), min(count, len(pairs)))  # not every n-th: a corpus may have a rhythm
    taught, asked = sorted(drawn[::2]), sorted(drawn[1::2])
    found: list[Answer] = []
    for cuts in ((source, target), (STEMMED, STEMMED)):
        sides = _Sides(pairs, *cuts)
        lexicon = _best_lexicon(sides, taught, asked)
        preferences = preference(lexicon, sides.sources(asked), sides.targets(asked))
        stretch = _slipped(sides, asked, lexicon)
        found.append(Answer(asked, preferences, stretch if stretch and _explains(stretch, preferences) else None))
        if found[-1].slip or found[-1].share >= ALIGNED:
            return found[-1]
    return max(found, key=lambda one: one.share)


def alignment(pairs: Sequence[Pair], found: Answer | None) -> Finding:
    """Whether pairs are pairs, against a shuffled baseline, and where the files have slipped."""
    if found is None:
        return Finding(
            name="alignment",
            level="ok",
            seen=f"{len(pairs):,} pairs are too few to tell whether they belong together; {FEWEST} are wanted",
        )
    return Finding(
        name="alignment",
        level=_level(found),
        seen=f"{100 * found.share:.0f} % of {len(found.asked):,} pairs prefer their own partner to one from elsewhere "
        "(50 % is chance)" + (f"; {_where(pairs, found)}" if found.slip else ""),
        means="a model cannot learn from targets that belong to other sources"
        + (
            ""
            if found.slip
            else "; if the source says little about the target (a dialogue), this is what that looks like"
        ),
        remedy="find the line that is missing or doubled on one side, and align the files again"
        if found.slip
        else "look at some lines: were the files sorted or shuffled apart, is data.columns right?",
        examples=_around(pairs, found),
        figures={"asked": len(found.asked), "share": found.share, "shift": found.slip.shift if found.slip else 0},
    )


def _level(found: Answer) -> Level:
    if found.slip or found.share < TOSSED:
        return "fault"
    return "warning" if found.share < ALIGNED else "ok"


def _where(pairs: Sequence[Pair], found: Answer) -> str:
    stretch = found.slip
    assert stretch is not None  # noqa: S101
    first, last = pairs[found.asked[stretch.first]], pairs[found.asked[stretch.last]]
    to = "the end" if stretch.last == len(found.asked) - 1 else f"{last.file}:{last.line}"
    return (
        f"from about {first.file}:{first.line} to {to}, a target belongs to the source "
        f"{abs(stretch.shift)} lines {'below' if stretch.shift > 0 else 'above'}"
    )


def _around(pairs: Sequence[Pair], found: Answer) -> tuple[str, ...]:
    """The pairs around the slip, or, where nothing fits, some from all over."""
    if found.slip:
        start = found.asked[found.slip.first]
        return tuple(place(pair) for pair in pairs[max(0, start - 1) : start + SHOWN - 1])
    return tuple(place(pairs[at]) for at in found.asked[:: max(1, len(found.asked) // SHOWN)][:SHOWN])


def odd_pairs(pairs: Sequence[Pair], found: Answer | None) -> Finding:
    """The pairs asked about that care little for their partner, the worst first."""
    if found is None:
        return Finding(name="odd pairs", level="ok", seen=f"{len(pairs):,} pairs are too few to tell which are odd")
    usual = max(0.0, float(np.median(found.preferences)))
    odd = [at for at in np.argsort(found.preferences) if found.preferences[at] < ODD * usual]
    return Finding(
        name="odd pairs",
        level="remark" if odd else "ok",
        seen=f"{len(odd):,} of {len(found.asked):,} pairs have a target that another source explains as well",
        means="free translations and rare words look like this, and so do lines that do not belong together",
        remedy="look at these first",
        examples=tuple(place(pairs[found.asked[at]]) for at in odd[:SHOWN]),
        figures={"asked": len(found.asked), "odd": len(odd)},
    )
