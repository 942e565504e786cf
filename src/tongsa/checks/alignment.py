"""Sentence alignment check: source and target of a pair must be translations of each other.

An IBM model 1 lexicon is trained on some pairs and tested on others. A test pair is aligned if its own source explains
its target better than the source of another pair does. For unrelated sides this holds for half of the pairs.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np

from tongsa.checks.finding import MAX_EXAMPLES, Finding, Level, format_pair
from tongsa.data.cleaning.report_data import MisalignedBlock
from tongsa.data.ledger import Pair
from tongsa.tokenization.lexicon import (
    NULL_WORD,
    FloatArray,
    Lexicon,
    TokenSet,
    distinct_tokens,
    log_likelihood_ratio,
    train_lexicon,
)

SAMPLED_PAIRS = 1_000
"""Pairs sampled from the corpus: half to train the lexicon, half to test."""
MIN_PAIRS = 200
"""With fewer pairs the result would be unreliable."""
MAX_TOKENS_PER_SIDE = 60
"""Tokens used of each side."""
ALIGNED_SHARE, MISALIGNED_SHARE = 0.75, 0.6
"""Share of pairs that prefer their own partner: above the first in good corpora, below the second by chance."""
LINE_SHIFTS = (1, -1, 2, -2, 3, -3)
"""Offsets in lines between a target and the source that may belong to it."""
MIN_SHIFT_SURPLUS_PAIRS, MIN_SHIFT_DENSITY = 12, 0.35
"""A shifted range needs at least this surplus of pairs that prefer the shifted partner, and this share of the range."""
WHOLE_CORPUS_SHARE = 0.8
"""A shift of a larger share of the pairs counts as a shift of the whole corpus."""
ODD_PREFERENCE_RATIO = 0.1
"""A pair is odd if its preference is below this fraction of the median."""
STEM_BUCKETS = 1 << 16
"""Hash buckets of word stems."""


class Segmenter(NamedTuple):
    """A function from texts to token ids: a tokenizer, or word stems (`STEM_SEGMENTER`)."""

    encode_all: Callable[[Sequence[str]], Sequence[Sequence[int]]]
    vocab_size: int


@dataclass(frozen=True)
class _SegmentedPairs:
    """Pairs of a corpus by index, as sets of token ids."""

    pairs: Sequence[Pair]
    source: Segmenter
    target: Segmenter

    @property
    def vocab_size(self) -> int:
        return max(self.source.vocab_size, self.target.vocab_size) + 1

    def sources(self, indices: Sequence[int]) -> list[TokenSet]:
        rows = self.source.encode_all([self.pairs[i].source for i in indices])
        return [np.append(distinct_tokens(row[:MAX_TOKENS_PER_SIDE]), NULL_WORD) for row in rows]

    def targets(self, indices: Sequence[int]) -> list[TokenSet]:
        rows = self.target.encode_all([self.pairs[i].target for i in indices])
        return [distinct_tokens(row[:MAX_TOKENS_PER_SIDE]) for row in rows]

    def train_lexicon(self, indices: Sequence[int], shift: int = 0) -> Lexicon:
        shifted = [(source, target) for target in indices if (source := self.shifted_index(target, shift)) is not None]
        sources, targets = [source for source, _ in shifted], [target for _, target in shifted]
        return train_lexicon(self.sources(sources), self.targets(targets), self.vocab_size)

    def shifted_index(self, index: int, shift: int) -> int | None:
        """Return the index of the pair `shift` lines further in the same file; None if that line was dropped."""
        pair = self.pairs[index]
        for i in range(max(0, index - abs(shift)), min(len(self.pairs), index + abs(shift) + 1)):
            if (self.pairs[i].file, self.pairs[i].line) == (pair.file, pair.line + shift):
                return i
        return None


def stem_ids(texts: Sequence[str]) -> list[list[int]]:
    """Return hashed word stems, for vocabularies whose tokens are too small (characters) to carry meaning."""
    return [[zlib.crc32(word[:5].encode()) % STEM_BUCKETS for word in text.casefold().split()] for text in texts]


STEM_SEGMENTER = Segmenter(stem_ids, STEM_BUCKETS)


def partner_preference(
    lexicon: Lexicon, sources: Sequence[TokenSet], targets: Sequence[TokenSet]
) -> FloatArray:  # (pair,)
    """Return how much better each target is explained by its own source than by the source of a distant pair."""
    half = len(sources) // 2
    return log_likelihood_ratio(lexicon, sources, targets) - log_likelihood_ratio(
        lexicon, [*sources[half:], *sources[:half]], targets
    )


def aligned_share(preferences: FloatArray) -> float:
    """Return the share of pairs that prefer their own partner; a tie counts half."""
    return float(np.mean((preferences > 0) + 0.5 * (preferences == 0)))


class LineShift(NamedTuple):
    """A range of test pairs whose targets belong to the sources `shift` lines further."""

    shift: int
    first: int
    last: int
    surplus: float
    """Pairs of the range that prefer the shifted partner, minus those that prefer their own."""


def find_line_shift(wins: FloatArray, shift: int) -> LineShift | None:
    """Return the range with the largest sum of wins (+1) and losses (-1), if it is long and dense enough."""
    best, total, start = LineShift(shift, 0, -1, 0.0), 0.0, 0
    for i, win in enumerate(wins):  # maximum subarray (Kadane)
        if total <= 0:
            total, start = 0.0, i
        total += win
        if total > best.surplus:
            best = LineShift(shift, start, i, total)
    return (
        best if best.surplus >= max(MIN_SHIFT_SURPLUS_PAIRS, MIN_SHIFT_DENSITY * (best.last - best.first + 1)) else None
    )


def _best_line_shift(corpus: _SegmentedPairs, test_indices: Sequence[int], lexicon: Lexicon) -> LineShift | None:
    """Return the range of test pairs that most clearly prefers partners some lines away."""
    targets = corpus.targets(test_indices)
    unshifted_scores = log_likelihood_ratio(lexicon, corpus.sources(test_indices), targets)
    candidates: list[LineShift] = []
    for shift in LINE_SHIFTS:
        shifted = [corpus.shifted_index(i, shift) for i in test_indices]
        sources = corpus.sources([i if j is None else j for i, j in zip(test_indices, shifted, strict=True)])
        wins = np.sign(log_likelihood_ratio(lexicon, sources, targets) - unshifted_scores)
        line_shift = find_line_shift(wins, shift)
        candidates += [line_shift] if line_shift else []
    return max(candidates, key=lambda candidate: candidate.surplus, default=None)


def _explains_misalignment(line_shift: LineShift, preferences: FloatArray) -> bool:
    """Return whether the pairs outside the range are aligned. In shuffled lines some range always looks shifted."""
    outside = np.delete(preferences, slice(line_shift.first, line_shift.last + 1))
    return len(outside) < (1 - WHOLE_CORPUS_SHARE) * len(preferences) or aligned_share(outside) >= ALIGNED_SHARE


def _best_lexicon(corpus: _SegmentedPairs, train_indices: Sequence[int], test_indices: Sequence[int]) -> Lexicon:
    """Return the best lexicon over all shifts: if most lines are shifted, only shifted pairs give a useful lexicon."""
    candidates: list[tuple[float, int, Lexicon]] = []
    for shift in (0, *LINE_SHIFTS):
        shifted = [(i, j) for i in test_indices if (j := corpus.shifted_index(i, shift)) is not None]
        if len(shifted) < MIN_PAIRS // 2 - abs(shift):
            continue
        lexicon = corpus.train_lexicon(train_indices, shift)
        sources, targets = corpus.sources([j for _, j in shifted]), corpus.targets([i for i, _ in shifted])
        share = aligned_share(partner_preference(lexicon, sources, targets))
        candidates.append((share, -abs(shift), lexicon))
        if share >= ALIGNED_SHARE:
            break
    return max(candidates, key=lambda candidate: candidate[:2])[2]


class AlignmentResult(NamedTuple):
    """Test pairs, their preferences for their own partner, and a shifted range if there is one."""

    test_indices: Sequence[int]
    preferences: FloatArray
    line_shift: LineShift | None

    @property
    def aligned_share(self) -> float:
        return aligned_share(self.preferences)


def measure_alignment(
    pairs: Sequence[Pair], source: Segmenter, target: Segmenter, max_pairs: int = SAMPLED_PAIRS
) -> AlignmentResult | None:
    """Measure the alignment by tokens, else by word stems; return None if there are too few pairs."""
    if min(max_pairs, len(pairs)) < MIN_PAIRS:
        return None
    # a random sample, not each n-th pair: a corpus may have a periodic structure
    sample = Random(0).sample(range(len(pairs)), min(max_pairs, len(pairs)))
    train, test = sorted(sample[::2]), sorted(sample[1::2])
    results: list[AlignmentResult] = []
    for segmenters in ((source, target), (STEM_SEGMENTER, STEM_SEGMENTER)):
        corpus = _SegmentedPairs(pairs, *segmenters)
        lexicon = _best_lexicon(corpus, train, test)
        preferences = partner_preference(lexicon, corpus.sources(test), corpus.targets(test))
        line_shift = _best_line_shift(corpus, test, lexicon)
        if line_shift and not _explains_misalignment(line_shift, preferences):
            line_shift = None
        result = AlignmentResult(test, preferences, line_shift)
        if result.line_shift or result.aligned_share >= ALIGNED_SHARE:
            return result
        results.append(result)
    return max(results, key=lambda result: result.aligned_share)


def check_alignment(
    pairs: Sequence[Pair], result: AlignmentResult | None, blocks: Sequence[MisalignedBlock] = ()
) -> Finding:
    """Report the share of aligned pairs, against a shuffled baseline, and a shifted range of lines.

    `blocks` are the misaligned blocks of all pairs; without them the lines are those of the sampled pairs.
    """
    if result is None:
        return Finding(
            name="alignment",
            level="ok",
            seen=f"{len(pairs):,} pairs are too few to check; at least {MIN_PAIRS} are needed",
        )
    return Finding(
        name="alignment",
        level=_alignment_level(result),
        seen=f"{100 * result.aligned_share:.0f} % of {len(result.test_indices):,} pairs prefer their own partner "
        "(50 % is chance)"
        + (f"; {_describe_blocks(blocks) or _describe_shift(pairs, result)}" if result.line_shift else ""),
        means="a model cannot learn from targets that belong to other sources"
        + ("" if result.line_shift else "; normal if the target depends little on the source (a dialogue)"),
        remedy="find the missing or repeated line on one side, and align the files again"
        if result.line_shift
        else "inspect some lines: were the files sorted or shuffled separately? Check data.columns.",
        examples=_example_pairs(pairs, result),
        numbers={
            "tested": len(result.test_indices),
            "share": result.aligned_share,
            "shift": result.line_shift.shift if result.line_shift else 0,
        },
    )


def _alignment_level(result: AlignmentResult) -> Level:
    if result.line_shift or result.aligned_share < MISALIGNED_SHARE:
        return "fault"
    return "warning" if result.aligned_share < ALIGNED_SHARE else "ok"


def _describe_blocks(blocks: Sequence[MisalignedBlock]) -> str:
    """Return the lines of the first blocks."""
    sentences = [
        f"from {block.file}:{block.first_line} to line {block.last_line}, a target belongs to the source "
        f"{_describe_distance(block.shift)}"
        for block in blocks[:MAX_EXAMPLES]
    ]
    more = len(blocks) - len(sentences)
    return "; ".join(sentences) + (f"; and {more:,} more blocks" if more else "")


def _describe_distance(shift: int) -> str:
    lines = "1 line" if abs(shift) == 1 else f"{abs(shift)} lines"
    return f"{lines} {'below' if shift > 0 else 'above'}"


def _describe_shift(pairs: Sequence[Pair], result: AlignmentResult) -> str:
    line_shift = result.line_shift
    assert line_shift is not None  # noqa: S101
    first, last = pairs[result.test_indices[line_shift.first]], pairs[result.test_indices[line_shift.last]]
    end = "the end" if line_shift.last == len(result.test_indices) - 1 else f"{last.file}:{last.line}"
    return (
        f"from about {first.file}:{first.line} to {end}, a target belongs to the source "
        f"{_describe_distance(line_shift.shift)}"
    )


def _example_pairs(pairs: Sequence[Pair], result: AlignmentResult) -> tuple[str, ...]:
    """Return the pairs at the start of the shifted range, else pairs spread over the corpus."""
    if result.line_shift:
        start = result.test_indices[result.line_shift.first]
        return tuple(format_pair(pair) for pair in pairs[max(0, start - 1) : start + MAX_EXAMPLES - 1])
    step = max(1, len(result.test_indices) // MAX_EXAMPLES)
    return tuple(format_pair(pairs[i]) for i in result.test_indices[::step][:MAX_EXAMPLES])


def check_odd_pairs(pairs: Sequence[Pair], result: AlignmentResult | None) -> Finding:
    """List the test pairs with a weak preference for their partner, weakest first."""
    if result is None:
        return Finding(name="odd pairs", level="ok", seen=f"{len(pairs):,} pairs are too few to check")
    median = max(0.0, float(np.median(result.preferences)))
    odd = [i for i in np.argsort(result.preferences) if result.preferences[i] < ODD_PREFERENCE_RATIO * median]
    return Finding(
        name="odd pairs",
        level="remark" if odd else "ok",
        seen=f"{len(odd):,} of {len(result.test_indices):,} pairs have a target that another source explains too",
        means="free translations, rare words, or lines that do not belong together",
        remedy="inspect these lines first",
        examples=tuple(format_pair(pairs[result.test_indices[i]]) for i in odd[:MAX_EXAMPLES]),
        numbers={"tested": len(result.test_indices), "odd": len(odd)},
    )
