"""Subword regularisation (Kudo 2018) and BPE-dropout (Provilkov et al. 2020): a text cut anew each time.

sentencepiece can sample too, but from a generator that starts differently in every process; a run that goes
on after a stop would see other data. Here a draw depends on the given generator alone. Pieces never cross a
space, so each word is drawn by itself.
"""

import math
from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from random import Random
from typing import NamedTuple, Self

UNKNOWN_PENALTY = 10.0
"""How much less likely than the rarest piece a character without a piece is; sentencepiece's own value."""

Lattice = Sequence[tuple[Sequence[int], Sequence[float]]]
"""For each end in a word, from 0: where the last piece may start, and the running sum of probabilities."""


class UnigramModel(NamedTuple):
    """The logarithm of each piece's probability, and what follows from all of them."""

    log_probs: Mapping[str, float]
    max_characters: int
    unknown_log_prob: float

    @classmethod
    def from_log_probs(cls, log_probs: Mapping[str, float]) -> Self:
        return cls(log_probs, max(map(len, log_probs)), min(log_probs.values()) - UNKNOWN_PENALTY)


def build_lattice(word: str, unigram: UnigramModel, alpha: float) -> Lattice:
    """All segmentations of `word`, each with probability ∝ P(segmentation)^alpha: section 3.2 of Kudo."""
    scores, longest, unknown = unigram
    weights = [0.0]  # logarithms of the sums over all segmentations of each prefix
    nodes: list[tuple[Sequence[int], Sequence[float]]] = [((), ())]
    for end in range(1, len(word) + 1):
        starts: list[int] = []
        energies: list[float] = []
        for start in range(max(0, end - longest), end):
            score = scores.get(word[start:end], unknown if start == end - 1 else None)
            if score is not None:
                starts.append(start)
                energies.append(weights[start] + alpha * score)
        top = max(energies)
        sums = list(accumulate(math.exp(energy - top) for energy in energies))
        weights.append(top + math.log(sums[-1]))
        nodes.append((starts, [part / sums[-1] for part in sums]))
    return nodes


def sample_segmentation(word: str, lattice: Lattice, generator: Random) -> list[str]:
    """One segmentation, drawn from the end of the word to its start."""
    parts: list[str] = []
    end = len(word)
    while end:
        starts, sums = lattice[end]
        start = starts[min(bisect(sums, generator.random()), len(starts) - 1)]
        parts.append(word[start:end])
        end = start
    return parts[::-1]


def bpe_dropout(word: str, merge_scores: Mapping[str, float], dropout: float, generator: Random) -> list[str]:
    """Byte-pair merges, the best first, each left out with probability `dropout`."""
    parts = list(word)
    ranks = [merge_scores.get(left + right, -math.inf) for left, right in pairwise(parts)]
    while ranks and (best := max(ranks)) > -math.inf:
        place = ranks.index(best)
        if generator.random() < dropout:
            ranks[place] = -math.inf
            continue
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
        del ranks[place]
        for left in (place - 1, place):
            if 0 <= left < len(ranks):
                ranks[left] = merge_scores.get(parts[left] + parts[left + 1], -math.inf)
    return parts
