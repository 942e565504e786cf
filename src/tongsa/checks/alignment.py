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

from tongsa.checks.finding import MAX_EXAMPLES, Finding, Level, format_pair
from tongsa.data.ledger import Pair
from tongsa.tokenization.lexicon import NULL_WORD, FloatArray, Lexicon, TokenSet, log_likelihood_ratio, train_lexicon

SAMPLED_PAIRS = 1_000
"""Pairs looked at, drawn from all: half to learn from, half to ask about."""
MIN_PAIRS = 200
"""With fewer the answer would be a guess."""
MAX_TOKENS_PER_SIDE = 60
"""Pieces of a side that are looked at."""
ALIGNED_SHARE, MISALIGNED_SHARE = 0.75, 0.6
"""Share of the pairs that prefer their own partner: more than the one in good corpora, less than the other by luck."""
LINE_SHIFTS = (1, -1, 2, -2, 3, -3)
MIN_SHIFT_SURPLUS_PAIRS, MIN_SHIFT_DENSITY = 12, 0.35
"""A slip is believed when so many more pairs in a row prefer the shifted partner, and so much of the stretch agrees."""
WHOLE_CORPUS_SHARE = 0.8
"""A slip of so many pairs is one of the whole corpus."""
ODD_PREFERENCE_RATIO = 0.1
"""Share of the usual preference below which a pair is worth a look."""
STEM_BUCKETS = 1 << 16
"""Beginnings of words are told apart by so many numbers."""


class Segmenter(NamedTuple):
    """How texts become indices: as a vocabulary does it, or by `STEMMED`."""

    encode_all: Callable[[Sequence[str]], Sequence[Sequence[int]]]
    vocab_size: int


@dataclass(frozen=True)
class _SegmentedPairs:
    """Pairs by their place in the corpus, as rows of indices."""

    pairs: Sequence[Pair]
    source: Segmenter
    target: Segmenter

    @property
    def vocab_size(self) -> int:
        return max(self.source.vocab_size, self.target.vocab_size) + 1

    def sources(self, indices: Sequence[int]) -> list[TokenSet]:
        cut = self.source.encode_all([self.pairs[place].source for place in indices])
        return [np.append(_distinct_tokens(row), NULL_WORD) for row in cut]

    def targets(self, indices: Sequence[int]) -> list[TokenSet]:
        return [
            _distinct_tokens(row) for row in self.target.encode_all([self.pairs[place].target for place in indices])
        ]

    def train_lexicon(self, indices: Sequence[int], shift: int = 0) -> Lexicon:
        moved = [(near, place) for place in indices if (near := self.shifted_index(place, shift)) is not None]
        return train_lexicon(
            self.sources([near for near, _ in moved]), self.targets([one for _, one in moved]), self.vocab_size
        )

    def shifted_index(self, index: int, shift: int) -> int | None:
        """Where the line `shift` lines further in the same file is; lines may be missing from a corpus."""
        here = self.pairs[index]
        for near in range(max(0, index - abs(shift)), min(len(self.pairs), index + abs(shift) + 1)):
            if (self.pairs[near].file, self.pairs[near].line) == (here.file, here.line + shift):
                return near
        return None


def _distinct_tokens(tokens: Sequence[int]) -> TokenSet:
    return np.unique(np.asarray(tokens[:MAX_TOKENS_PER_SIDE], dtype=np.int64)) + 1


def stem_ids(texts: Sequence[str]) -> list[list[int]]:
    """The beginnings of words, each as a number: for pieces so small that they say nothing by themselves."""
    return [[zlib.crc32(word[:5].encode()) % STEM_BUCKETS for word in text.casefold().split()] for text in texts]


STEM_SEGMENTER = Segmenter(stem_ids, STEM_BUCKETS)


def partner_preference(
    lexicon: Lexicon, sources: Sequence[TokenSet], targets: Sequence[TokenSet]
) -> FloatArray:  # (pair,)
    """How much better each target is explained by its own source than by one from the other end of the corpus."""
    half = len(sources) // 2
    return log_likelihood_ratio(lexicon, sources, targets) - log_likelihood_ratio(
        lexicon, [*sources[half:], *sources[:half]], targets
    )


def aligned_share(preferences: FloatArray) -> float:
    """Of those that prefer their own; one that does not care counts half."""
    return float(np.mean((preferences > 0) + 0.5 * (preferences == 0)))


class LineShift(NamedTuple):
    """A stretch of pairs whose targets belong to the sources `shift` lines further."""

    shift: int
    first: int
    last: int
    surplus: float
    """How many more pairs of the stretch prefer the shifted partner."""


def find_line_shift(wins: FloatArray, shift: int) -> LineShift | None:
    """The stretch with the largest sum of wins (+1) and losses (-1), if it is long and dense enough to be believed."""
    best, total, start = LineShift(shift, 0, -1, 0.0), 0.0, 0
    for at, win in enumerate(wins):
        if total <= 0:
            total, start = 0.0, at
        total += win
        if total > best.surplus:
            best = LineShift(shift, start, at, total)
    return (
        best if best.surplus >= max(MIN_SHIFT_SURPLUS_PAIRS, MIN_SHIFT_DENSITY * (best.last - best.first + 1)) else None
    )


def _best_line_shift(corpus: _SegmentedPairs, test_indices: Sequence[int], lexicon: Lexicon) -> LineShift | None:
    """The stretch of `asked` that most clearly prefers the partners some lines away."""
    targets = corpus.targets(test_indices)
    own = log_likelihood_ratio(lexicon, corpus.sources(test_indices), targets)
    found: list[LineShift] = []
    for shift in LINE_SHIFTS:
        near = [corpus.shifted_index(at, shift) for at in test_indices]
        moved = corpus.sources([at if other is None else other for at, other in zip(test_indices, near, strict=True)])
        stretch = find_line_shift(np.sign(log_likelihood_ratio(lexicon, moved, targets) - own), shift)
        found += [stretch] if stretch else []
    return max(found, key=lambda one: one.surplus, default=None)


def _explains_misalignment(line_shift: LineShift, preferences: FloatArray) -> bool:
    """Whether all is well outside of it: in shuffled lines some stretch is always found."""
    outside = np.delete(preferences, slice(line_shift.first, line_shift.last + 1))
    return len(outside) < (1 - WHOLE_CORPUS_SHARE) * len(preferences) or aligned_share(outside) >= ALIGNED_SHARE


def _best_lexicon(corpus: _SegmentedPairs, train_indices: Sequence[int], test_indices: Sequence[int]) -> Lexicon:
    """From the pairs as they stand, or moved: where most have slipped, nothing true is learnt before they are back."""
    found: list[tuple[float, int, Lexicon]] = []
    for shift in (0, *LINE_SHIFTS):
        here = [(at, near) for at in test_indices if (near := corpus.shifted_index(at, shift)) is not None]
        if len(here) < MIN_PAIRS // 2 - abs(shift):
            continue
        lexicon = corpus.train_lexicon(train_indices, shift)
        moved = corpus.sources([near for _, near in here])
        found.append(
            (
                aligned_share(partner_preference(lexicon, moved, corpus.targets([at for at, _ in here]))),
                -abs(shift),
                lexicon,
            )
        )
        if found[-1][0] >= ALIGNED_SHARE:
            break
    return max(found, key=lambda one: one[:2])[2]


class AlignmentResult(NamedTuple):
    """What was asked, and what came back."""

    test_indices: Sequence[int]
    preferences: FloatArray
    line_shift: LineShift | None

    @property
    def aligned_share(self) -> float:
        return aligned_share(self.preferences)


def measure_alignment(
    pairs: Sequence[Pair], source: Segmenter, target: Segmenter, max_pairs: int = SAMPLED_PAIRS
) -> AlignmentResult | None:
    """By the pieces or, where these are not sure, by the beginnings of words; None where pairs are too few to tell."""
    if min(max_pairs, len(pairs)) < MIN_PAIRS:
        return None
    drawn = Random(0).sample(
        range(len(pairs)), min(max_pairs, len(pairs))
    )  # not every n-th: a corpus may have a rhythm
    taught, asked = sorted(drawn[::2]), sorted(drawn[1::2])
    found: list[AlignmentResult] = []
    for cuts in ((source, target), (STEM_SEGMENTER, STEM_SEGMENTER)):
        sides = _SegmentedPairs(pairs, *cuts)
        lexicon = _best_lexicon(sides, taught, asked)
        preferences = partner_preference(lexicon, sides.sources(asked), sides.targets(asked))
        stretch = _best_line_shift(sides, asked, lexicon)
        found.append(
            AlignmentResult(
                asked, preferences, stretch if stretch and _explains_misalignment(stretch, preferences) else None
            )
        )
        if found[-1].line_shift or found[-1].aligned_share >= ALIGNED_SHARE:
            return found[-1]
    return max(found, key=lambda one: one.aligned_share)


def check_alignment(pairs: Sequence[Pair], result: AlignmentResult | None) -> Finding:
    """Whether pairs are pairs, against a shuffled baseline, and where the files have slipped."""
    if result is None:
        return Finding(
            name="alignment",
            level="ok",
            seen=f"{len(pairs):,} pairs are too few to tell whether they belong together; {MIN_PAIRS} are wanted",
        )
    return Finding(
        name="alignment",
        level=_alignment_level(result),
        seen=f"{100 * result.aligned_share:.0f} % of {len(result.test_indices):,} pairs prefer their own partner to one from elsewhere "
        "(50 % is chance)" + (f"; {_describe_shift(pairs, result)}" if result.line_shift else ""),
        means="a model cannot learn from targets that belong to other sources"
        + (
            ""
            if result.line_shift
            else "; if the source says little about the target (a dialogue), this is what that looks like"
        ),
        remedy="find the line that is missing or doubled on one side, and align the files again"
        if result.line_shift
        else "look at some lines: were the files sorted or shuffled apart, is data.columns right?",
        examples=_example_pairs(pairs, result),
        numbers={
            "asked": len(result.test_indices),
            "share": result.aligned_share,
            "shift": result.line_shift.shift if result.line_shift else 0,
        },
    )


def _alignment_level(result: AlignmentResult) -> Level:
    if result.line_shift or result.aligned_share < MISALIGNED_SHARE:
        return "fault"
    return "warning" if result.aligned_share < ALIGNED_SHARE else "ok"


def _describe_shift(pairs: Sequence[Pair], result: AlignmentResult) -> str:
    stretch = result.line_shift
    assert stretch is not None  # noqa: S101
    first, last = pairs[result.test_indices[stretch.first]], pairs[result.test_indices[stretch.last]]
    to = "the end" if stretch.last == len(result.test_indices) - 1 else f"{last.file}:{last.line}"
    return (
        f"from about {first.file}:{first.line} to {to}, a target belongs to the source "
        f"{abs(stretch.shift)} lines {'below' if stretch.shift > 0 else 'above'}"
    )


def _example_pairs(pairs: Sequence[Pair], result: AlignmentResult) -> tuple[str, ...]:
    """The pairs around the slip, or, where nothing fits, some from all over."""
    if result.line_shift:
        start = result.test_indices[result.line_shift.first]
        return tuple(format_pair(pair) for pair in pairs[max(0, start - 1) : start + MAX_EXAMPLES - 1])
    return tuple(
        format_pair(pairs[at])
        for at in result.test_indices[:: max(1, len(result.test_indices) // MAX_EXAMPLES)][:MAX_EXAMPLES]
    )


def check_odd_pairs(pairs: Sequence[Pair], result: AlignmentResult | None) -> Finding:
    """The pairs asked about that care little for their partner, the worst first."""
    if result is None:
        return Finding(name="odd pairs", level="ok", seen=f"{len(pairs):,} pairs are too few to tell which are odd")
    usual = max(0.0, float(np.median(result.preferences)))
    odd = [at for at in np.argsort(result.preferences) if result.preferences[at] < ODD_PREFERENCE_RATIO * usual]
    return Finding(
        name="odd pairs",
        level="remark" if odd else "ok",
        seen=f"{len(odd):,} of {len(result.test_indices):,} pairs have a target that another source explains as well",
        means="free translations and rare words look like this, and so do lines that do not belong together",
        remedy="look at these first",
        examples=tuple(format_pair(pairs[result.test_indices[at]]) for at in odd[:MAX_EXAMPLES]),
        numbers={"asked": len(result.test_indices), "odd": len(odd)},
    )
