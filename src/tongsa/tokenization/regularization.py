"""Subword regularization (Kudo 2018) and BPE-dropout (Provilkov et al. 2020): random segmentations for training.

SentencePiece can sample too, but its random generator cannot be seeded per call, so a resumed run would see other data.
Here a sample depends on the given generator only. Tokens never cross a space, so words are sampled independently.
"""

import math
from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from random import Random
from typing import NamedTuple, Self

UNKNOWN_PENALTY = 10.0
"""An unknown character gets the log-probability of the rarest token minus this, as in SentencePiece."""

Lattice = Sequence[tuple[Sequence[int], Sequence[float]]]
"""For each prefix of a word: the possible starts of its last token, and their cumulative probabilities."""


class UnigramModel(NamedTuple):
    """Unigram log-probabilities of the tokens, with values derived from them."""

    log_probs: Mapping[str, float]
    max_characters: int
    unknown_log_prob: float

    @classmethod
    def from_log_probs(cls, log_probs: Mapping[str, float]) -> Self:
        return cls(log_probs, max(map(len, log_probs)), min(log_probs.values()) - UNKNOWN_PENALTY)


def build_lattice(word: str, unigram: UnigramModel, alpha: float) -> Lattice:
    """Build the lattice of all segmentations with probability ∝ P(segmentation)^alpha (Kudo 2018, section 3.2)."""
    log_probs, max_characters, unknown_log_prob = unigram
    prefix_scores = [0.0]  # log-sum over all segmentations of each prefix (forward algorithm)
    nodes: list[tuple[Sequence[int], Sequence[float]]] = [((), ())]
    for end in range(1, len(word) + 1):
        starts: list[int] = []
        scores: list[float] = []
        for start in range(max(0, end - max_characters), end):
            log_prob = log_probs.get(word[start:end], unknown_log_prob if start == end - 1 else None)
            if log_prob is not None:
                starts.append(start)
                scores.append(prefix_scores[start] + alpha * log_prob)
        top = max(scores)
        sums = list(accumulate(math.exp(score - top) for score in scores))
        prefix_scores.append(top + math.log(sums[-1]))
        nodes.append((starts, [partial / sums[-1] for partial in sums]))
    return nodes


def sample_segmentation(word: str, lattice: Lattice, generator: Random) -> list[str]:
    """Sample one segmentation, from the end of the word to its start."""
    subwords: list[str] = []
    end = len(word)
    while end:
        starts, sums = lattice[end]
        start = starts[min(bisect(sums, generator.random()), len(starts) - 1)]
        subwords.append(word[start:end])
        end = start
    return subwords[::-1]


def bpe_dropout(word: str, merge_scores: Mapping[str, float], dropout: float, generator: Random) -> list[str]:
    """Apply byte-pair merges, best first, each skipped with probability `dropout`."""
    subwords = list(word)
    scores = [merge_scores.get(left + right, -math.inf) for left, right in pairwise(subwords)]
    while scores and (best := max(scores)) > -math.inf:
        i = scores.index(best)
        if generator.random() < dropout:
            scores[i] = -math.inf
            continue
        subwords[i : i + 2] = [subwords[i] + subwords[i + 1]]
        del scores[i]
        for left in (i - 1, i):  # the neighbors of the merged subword
            if 0 <= left < len(scores):
                scores[left] = merge_scores.get(subwords[left] + subwords[left + 1], -math.inf)
    return subwords
