"""Vectors of source and target texts whose dot product tells translations from other pairs.

A source text stands for the sum of its words' translations (IBM model 1), a target text for the sum of its own words.
Each target word has a random direction (random projection, Johnson and Lindenstrauss 1984), so the dot product of two
texts estimates how much of the target the source explains, for all pairs of lines in one matrix product.
"""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tongsa.data.words import word_stem
from tongsa.tokenization.lexicon import NULL_WORD, Lexicon, TokenSet, train_lexicon

DIMENSIONS = 128
WORD_BUCKETS = 1 << 16
"""Hash buckets of word stems."""
STEM_LETTERS = 6
"""Letters of a word that count, after Korean particles and endings are removed."""
MAX_WORDS_PER_TEXT = 30
"""Words used of each text."""
MIN_TRANSLATION_PROB = 0.01
"""Less probable translations are left out."""
TABLE_BLOCK_WORDS = 4096
Vectors = NDArray[np.float32]
_WORD = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+|[?？!！]")
"""A character of a script without spaces, a word or number, or a sign that translations share."""


@lru_cache(maxsize=1 << 17)
def _word_bucket(word: str) -> int:
    return zlib.crc32(word_stem(word)[:STEM_LETTERS].encode()) % WORD_BUCKETS


def text_tokens(text: str) -> TokenSet:
    """Return the distinct word buckets of a text, plus 1."""
    words = _WORD.findall(text)[:MAX_WORDS_PER_TEXT]
    return np.unique(np.fromiter(map(_word_bucket, words), np.int64, len(words))) + 1


@dataclass(frozen=True)
class TranslationVectors:
    """A direction for each target word, and for each source word that of its translations."""

    source_table: Vectors  # (bucket + 1, dimension)
    target_table: Vectors  # (bucket + 1, dimension)
    source_mean: Vectors
    target_mean: Vectors

    def sources(self, token_sets: Sequence[TokenSet]) -> Vectors:  # (text, dimension)
        """Return unit vectors; zeros for a text without known words."""
        return _unit_rows(_sum_rows(self.source_table, token_sets), self.source_mean)

    def targets(self, token_sets: Sequence[TokenSet]) -> Vectors:  # (text, dimension)
        return _unit_rows(_sum_rows(self.target_table, token_sets), self.target_mean)


def train_vectors(sources: Sequence[TokenSet], targets: Sequence[TokenSet]) -> TranslationVectors:
    """Train a lexicon on pairs of texts and return its vectors."""
    lexicon = train_lexicon(
        [np.append(tokens, NULL_WORD) for tokens in sources], [*targets], vocab_size=WORD_BUCKETS + 1
    )
    directions = _directions(lexicon.vocab_size)
    information = -np.log(lexicon.unigram_probs)
    target_table = directions * np.sqrt(information / DIMENSIONS)[:, None].astype(np.float32)
    source_table = _translation_table(lexicon, directions)
    return TranslationVectors(
        source_table,
        target_table,
        _unit_rows(_sum_rows(source_table, sources)).mean(axis=0),
        _unit_rows(_sum_rows(target_table, targets)).mean(axis=0),
    )


@lru_cache(maxsize=1)
def _directions(count: int) -> Vectors:
    signs = np.random.default_rng(0).integers(0, 2, (count, DIMENSIONS), dtype=np.int8)
    return (2 * signs - 1).astype(np.float32)


def _translation_table(lexicon: Lexicon, directions: Vectors) -> Vectors:
    """Return for each source word the sum of its translations' directions, weighted by t · log(t / p(target word))."""
    source, target = lexicon.pair_ids // lexicon.vocab_size, lexicon.pair_ids % lexicon.vocab_size
    with np.errstate(divide="ignore"):
        gain = np.log(lexicon.probs / lexicon.unigram_probs[target])
    kept = (gain > 0) & (lexicon.probs > MIN_TRANSLATION_PROB) & (source != NULL_WORD)
    source, target, weights = source[kept], target[kept], (lexicon.probs * gain)[kept].astype(np.float32)
    table = np.zeros((lexicon.vocab_size, DIMENSIONS), np.float32)
    starts = np.flatnonzero(np.diff(source, prepend=-1))  # pair ids ascend: the rows of a source word are together
    for first in range(0, len(starts), TABLE_BLOCK_WORDS):
        words = starts[first : first + TABLE_BLOCK_WORDS]
        rows = slice(words[0], starts[first + len(words)] if first + len(words) < len(starts) else len(source))
        table[source[words]] = np.add.reduceat(weights[rows, None] * directions[target[rows]], words - words[0])
    return table


def _sum_rows(table: Vectors, token_sets: Sequence[TokenSet]) -> Vectors:
    """Return the sum of each set's rows; zeros for an empty set."""
    lengths = np.fromiter(map(len, token_sets), np.int64, len(token_sets))
    sums = np.zeros((len(token_sets), table.shape[1]), np.float32)
    if lengths.any():
        starts = np.cumsum(lengths) - lengths
        sums[lengths > 0] = np.add.reduceat(table[np.concatenate(token_sets)], starts[lengths > 0])
    return sums


def _unit_rows(rows: Vectors, mean: Vectors | float = 0.0) -> Vectors:
    """Return rows of length 1, moved by a mean, of length 1 again; zeros stay."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    moved = np.where(norms > 0, rows / np.maximum(norms, 1e-12) - mean, 0)
    unit: Vectors = (moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-12)).astype(np.float32)
    return unit
