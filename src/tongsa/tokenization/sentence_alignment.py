"""Sentence alignment of two documents by length (Gale and Church 1993), then by length and lexicon.

A bead joins 0 to 2 sentences of one document with 0 to 2 of the other. Dynamic programming finds the cheapest sequence
of beads in a band around the diagonal. The cost of a bead is -log of its prior (section 3.3, table 5) and of the
probability of its difference in length (section 3.2). The 1-1 beads of a pass train IBM model 1; in the next pass its
log-likelihood ratio is subtracted from the cost.
"""

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tongsa.tokenization.lexicon import NULL_WORD, TokenSet, distinct_tokens, log_likelihood_ratio, train_lexicon

BEADS = {(1, 1): 0.89, (1, 0): 0.00495, (0, 1): 0.00495, (2, 1): 0.0445, (1, 2): 0.0445, (2, 2): 0.011}
"""Numbers of sentences → prior probability: table 5, shared equally by a kind and its mirror image."""
LENGTH_VARIANCE = 6.8
"""Variance of the length difference per character (s² in section 3.2)."""
MIN_BAND = 100
"""Sentences that the alignment may be away from the diagonal, at least; otherwise a tenth of the longer document."""
MIN_LEXICON_BEADS = 10
MAX_LEXICON_PASSES = 3
"""A wrong 1-1 bead teaches the lexicon wrong words; the next pass has fewer of them."""
LEXICON_WEIGHT = 1.0
MAX_LENGTH_COST = 25.0
_WORD = re.compile(r"\w+")
Score = Callable[[int, int], NDArray[np.float64]]


class Bead(NamedTuple):
    """Sentences that translate each other: half-open ranges, with the cost as a negative score."""

    source: range
    target: range
    score: float


def align_sentences(source: Sequence[str], target: Sequence[str]) -> list[Bead]:
    """Return the beads of two documents, in order. Each sentence is in exactly one."""
    beads = _align(source, target, None)
    for _ in range(MAX_LEXICON_PASSES):
        pairs = [(bead.source[0], bead.target[0]) for bead in beads if len(bead.source) == len(bead.target) == 1]
        if len(pairs) < MIN_LEXICON_BEADS:
            break
        before, beads = beads, _align(source, target, _lexicon_scores(source, target, pairs))
        if [bead[:2] for bead in before] == [bead[:2] for bead in beads]:
            break
    return beads


def _align(source: Sequence[str], target: Sequence[str], lexical: Score | None) -> list[Bead]:
    lengths = [len(text) for text in source], [len(text) for text in target]
    ratio = max(sum(lengths[1]), 1) / max(sum(lengths[0]), 1)
    rows, columns = len(source), len(target)
    band = max(MIN_BAND, max(rows, columns) // 10)
    costs: list[dict[int, tuple[float, tuple[int, int]]]] = [{} for _ in range(rows + 1)]
    costs[0][0] = 0.0, (0, 0)
    for i in range(rows + 1):
        center = i * columns // max(rows, 1) if rows else 0
        low, high = (0, columns) if rows <= 2 else (max(0, center - band), min(columns, center + band))
        for j in range(low, high + 1):
            best = costs[i].get(j, (math.inf, (0, 0)))
            for (down, right), prior in BEADS.items():
                before = costs[i - down].get(j - right) if i >= down and j >= right else None
                if before is None:
                    continue
                cost = before[0] - math.log(prior)
                if lexical is None or (down and right):  # with the lexicon, the words show that a sentence is missing
                    cost += _length_cost(lengths, i, j, down, right, ratio)
                if lexical is not None and down and right:
                    cost -= LEXICON_WEIGHT * float(lexical(i - down, down)[j - right : j].sum())
                if cost < best[0]:
                    best = cost, (down, right)
            if best[0] < math.inf:
                costs[i][j] = best
    return _trace(costs, rows, columns)


def _length_cost(lengths: tuple[list[int], list[int]], i: int, j: int, down: int, right: int, ratio: float) -> float:
    """Return -log of the probability of a difference at least as large: section 3.2."""
    first, second = sum(lengths[0][i - down : i]), sum(lengths[1][j - right : j])
    mean = (first + second / ratio) / 2
    if not mean:
        return 0.0
    delta = abs(second - first * ratio) / math.sqrt(mean * ratio * LENGTH_VARIANCE)
    probability = math.erfc(delta / math.sqrt(2))
    return min(-math.log(probability), MAX_LENGTH_COST) if probability > 0 else MAX_LENGTH_COST


def _trace(costs: list[dict[int, tuple[float, tuple[int, int]]]], i: int, j: int) -> list[Bead]:
    beads = []
    while i or j:
        cost, (down, right) = costs[i][j]
        score = costs[i - down][j - right][0] - cost
        beads.append(Bead(range(i - down, i), range(j - right, j), score))
        i, j = i - down, j - right
    return beads[::-1]


def _lexicon_scores(source: Sequence[str], target: Sequence[str], pairs: Sequence[tuple[int, int]]) -> Score:
    """Return a function from source sentences (first, count) to the log-likelihood ratio of each target sentence."""
    vocabulary: dict[str, int] = {}
    sources = [_word_ids(text, vocabulary) for text in source]
    targets = [_word_ids(text, vocabulary) for text in target]
    used = [(i, j) for i, j in pairs if len(targets[j])]
    if not used:
        return lambda _first, _count: np.zeros(len(target))
    null = np.array([NULL_WORD])
    lexicon = train_lexicon(
        [np.append(sources[i], null) for i, _ in used], [targets[j] for _, j in used], len(vocabulary) + 1
    )
    filled = [j for j, words in enumerate(targets) if len(words)]
    filled_targets = [targets[j] for j in filled]
    lengths = np.array([len(words) for words in filled_targets])

    @lru_cache(maxsize=4)  # the rows that one step of the dynamic program reads
    def score(first: int, count: int) -> NDArray[np.float64]:
        words = np.append(np.unique(np.concatenate(sources[first : first + count])), null)
        ratios = np.zeros(len(target))
        ratios[filled] = lengths * log_likelihood_ratio(lexicon, [words] * len(filled), filled_targets)
        return ratios

    return score


def _word_ids(text: str, vocabulary: dict[str, int]) -> TokenSet:
    return distinct_tokens([vocabulary.setdefault(word, len(vocabulary)) for word in _WORD.findall(text.casefold())])
