"""Lexical translation probabilities (IBM model 1, Brown et al. 1993, section 4.1) and shortlist candidates."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TokenSet = NDArray[np.int64]
"""Distinct token ids of a text, plus 1. Id 0 is the null word of IBM model 1, which is part of each source."""
TokenArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]

NULL_WORD = 0
EM_ITERATIONS = 5
BACKGROUND_PROB = 0.1
"""Probability that a target token is not caused by the source; limits the penalty of unseen token pairs."""
MAX_SHORTLIST_PAIRS = 200_000
"""Pairs used for a shortlist, evenly spaced over the corpus: the lexicon must fit in memory."""


class Lexicon(NamedTuple):
    """t(target token | source token) for all pairs of tokens that co-occur."""

    pair_ids: TokenSet  # source · vocab_size + target, ascending
    probs: FloatArray
    unigram_probs: FloatArray  # (target token,)

    @property
    def vocab_size(self) -> int:
        return len(self.unigram_probs)


class _Cooccurrences(NamedTuple):
    """All combinations of a source token and a target token of the same pair."""

    pair_ids: TokenSet
    target_positions: TokenSet
    """Index of the target token, counted over all targets."""


def distinct_tokens(tokens: Sequence[int]) -> TokenSet:
    return np.unique(np.asarray(tokens, dtype=np.int64)) + 1


def _cooccurrences(sources: Sequence[TokenSet], targets: Sequence[TokenSet], vocab_size: int) -> _Cooccurrences:
    starts = np.cumsum([0, *map(len, targets)])
    pair_ids = [
        (source[:, None] * vocab_size + target).ravel() for source, target in zip(sources, targets, strict=True)
    ]
    positions = [
        np.tile(np.arange(start, start + len(target)), len(source))
        for start, source, target in zip(starts, sources, targets, strict=False)
    ]
    return _Cooccurrences(np.concatenate(pair_ids), np.concatenate(positions))


def train_lexicon(sources: Sequence[TokenSet], targets: Sequence[TokenSet], vocab_size: int) -> Lexicon:
    """Train IBM model 1 by expectation maximization from uniform probabilities."""
    cooccurrences = _cooccurrences(sources, targets, vocab_size)
    positions = cooccurrences.target_positions
    pair_ids, inverse = np.unique(cooccurrences.pair_ids, return_inverse=True)
    source_ids, probs = pair_ids // vocab_size, np.ones(len(pair_ids))
    for _ in range(EM_ITERATIONS):
        weights = probs[inverse]
        expected = weights / np.bincount(positions, weights)[positions]
        counts = np.bincount(inverse, expected)
        probs = counts / np.bincount(source_ids, counts)[source_ids]
    unigram_counts = np.bincount(np.concatenate(targets), minlength=vocab_size) + 0.5
    return Lexicon(pair_ids, probs, unigram_counts / unigram_counts.sum())


def log_likelihood_ratio(
    lexicon: Lexicon, sources: Sequence[TokenSet], targets: Sequence[TokenSet]
) -> FloatArray:  # (pair,)
    """Return the mean over the target tokens of log p(token | source) - log p(token)."""
    pair_ids, positions = _cooccurrences(sources, targets, lexicon.vocab_size)
    index = np.minimum(np.searchsorted(lexicon.pair_ids, pair_ids), len(lexicon.pair_ids) - 1)
    pair_probs = np.where(lexicon.pair_ids[index] == pair_ids, lexicon.probs[index], 0.0)
    lengths = np.array([len(target) for target in targets])
    conditional = np.bincount(positions, pair_probs) / np.repeat([len(source) for source in sources], lengths)
    unconditional = lexicon.unigram_probs[np.concatenate(targets)]
    ratios = np.log((1 - BACKGROUND_PROB) * conditional / unconditional + BACKGROUND_PROB)
    means: FloatArray = np.add.reduceat(ratios, np.cumsum([0, *lengths[:-1]])) / lengths
    return means


class ShortlistCandidates(NamedTuple):
    """Candidate target tokens of a vocabulary shortlist (as in Jean et al. 2015, section 3.1)."""

    per_token: TokenArray  # (source token, rank): most probable translations, best first; padded with 0
    always: TokenArray  # (rank,): most frequent target tokens


def shortlist_candidates(
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    vocab_sizes: tuple[int, int],
    num_candidates: int,
    num_always: int,
) -> ShortlistCandidates:
    """Compute the candidates from tokenized pairs; `vocab_sizes` are those of source and target."""
    pairs = [pair for pair in zip(sources, targets, strict=True) if all(pair)]
    pairs = pairs[:: -(-len(pairs) // MAX_SHORTLIST_PAIRS) or 1]
    lexicon = train_lexicon(
        [np.append(distinct_tokens(source), NULL_WORD) for source, _ in pairs],
        [distinct_tokens(target) for _, target in pairs],
        max(vocab_sizes) + 1,
    )
    counts = np.bincount(np.concatenate([target for _, target in pairs]), minlength=vocab_sizes[1])
    frequent = np.argsort(-counts, kind="stable")[: min(num_always, int((counts > 0).sum()))]
    return ShortlistCandidates(_top_translations(lexicon, vocab_sizes[0], num_candidates), frequent.astype(np.int32))


def _top_translations(
    lexicon: Lexicon, source_vocab_size: int, num_candidates: int
) -> TokenArray:  # (source token, rank)
    source, target = lexicon.pair_ids // lexicon.vocab_size, lexicon.pair_ids % lexicon.vocab_size
    order = np.lexsort((-lexicon.probs, source))
    source, target = source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)
    selected = (rank < num_candidates) & (source != NULL_WORD)
    translations = np.zeros((source_vocab_size, num_candidates), dtype=np.int32)
    translations[source[selected] - 1, rank[selected]] = target[selected] - 1
    return translations
