"""Which target pieces a source piece may become, by IBM model 1 (as in Jean et al. 2015, section 3.1)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tongsa.tokenization.lexicon import NULL_WORD, Lexicon, TokenSet, train_lexicon

MAX_PAIRS = 200_000
"""Pairs that are looked at, spread evenly over all of them: the lexicon stands in memory."""

TokenArray = NDArray[np.int32]


class ShortlistCandidates(NamedTuple):
    per_token: (
        TokenArray  # (source piece, rank): the likeliest translations of each, best first; 0 where there are no more
    )
    always: TokenArray  # (rank,): the most frequent target pieces


def shortlist_candidates(
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    vocab_sizes: tuple[int, int],
    num_candidates: int,
    num_always: int,
) -> ShortlistCandidates:
    """Learnt from pairs as indices; `sizes` are those of the two vocabularies."""
    both = [pair for pair in zip(sources, targets, strict=True) if all(pair)]
    both = both[:: -(-len(both) // MAX_PAIRS) or 1]
    lexicon = train_lexicon(
        [np.append(_distinct_tokens(source), NULL_WORD) for source, _ in both],
        [_distinct_tokens(target) for _, target in both],
        max(vocab_sizes) + 1,
    )
    counts = np.bincount(np.concatenate([target for _, target in both]), minlength=vocab_sizes[1])
    usual = np.argsort(-counts, kind="stable")[: min(num_always, int((counts > 0).sum()))]
    return ShortlistCandidates(_top_translations(lexicon, vocab_sizes[0], num_candidates), usual.astype(np.int32))


def _distinct_tokens(tokens: Sequence[int]) -> TokenSet:
    return np.unique(np.asarray(tokens, dtype=np.int64)) + 1


def _top_translations(
    lexicon: Lexicon, source_vocab_size: int, num_candidates: int
) -> TokenArray:  # (source piece, rank)
    source, target = lexicon.pair_ids // lexicon.vocab_size, lexicon.pair_ids % lexicon.vocab_size
    order = np.lexsort((-lexicon.probs, source))
    source, target = source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)
    among = (rank < num_candidates) & (source != NULL_WORD)
    found = np.zeros((source_vocab_size, num_candidates), dtype=np.int32)
    found[source[among] - 1, rank[among]] = target[among] - 1
    return found
