"""Profile of the training data, saved with a model: it tells which input is unlike anything the model has seen.

The words of the sources are kept as 32-bit hashes, 4 bytes each. A new word has the hash of a known one with a
probability of about the number of words divided by 4 billion.
"""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from sys import intern
from typing import Self

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load as load_safetensors
from safetensors.numpy import save as save_safetensors

from tongsa.data.ledger import Pair
from tongsa.data.normalize import normalize
from tongsa.data.words import split_words, word_shape, word_stem

LOW_SCORE_FRACTION = 0.01
"""Fraction of the dev sentences whose mean log-probability per token is below `min_log_prob`."""
MIN_CALIBRATION_SENTENCES = 20
"""With fewer dev sentences no threshold is computed."""
LONG_SOURCE_FACTOR = 1.5
"""A source of more than this times the longest training source is much longer."""
RARE_COUNT = 2
"""A word of at most this many occurrences stands for the words that do not occur."""
MIN_RARE_WORDS, MIN_COPIED_LETTERS, COPIED_FRACTION = 20, 3, 0.5
"""A shape is copied if it has enough rare words, and the targets copy more than this fraction of them."""
MAX_SHAPE_PAIRS = 100_000
"""Pairs that shapes are counted in, evenly spaced; stems come from all pairs."""
MAX_KNOWN_CHUNKS = 500_000
"""Texts between spaces that are remembered, so that their words are split once only."""
WORD_CACHE_SIZE = 1 << 16
PROFILE_NAME = "profile of the training data"
_HAN_TEXT = re.compile("[\u4e00-\u9fff\u2010-\u2027\u3001-\u3003\u3008-\u3011\uff01-\uff0f\uff1a-\uff20!-@]+")
"""Text of Han characters, digits and punctuation: each character is a word, or none."""
Hashes = NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True)
class TrainingProfile:
    stem_hashes: Hashes  # (stem,) sorted
    """Hashes of the stems of all source words."""
    longest_source: int
    """Tokens of the longest source."""
    min_log_prob: float = -np.inf
    """Mean log-probability per token below which an output has a low score."""
    copied_shapes: Hashes = field(default_factory=lambda: _hashes(()))  # (shape,)
    """Hashes of the shapes of words, such as capitals in Latin script, that the targets copy from the sources."""
    language: str = ""
    """Source language, for the stems."""

    @classmethod
    def from_pairs(cls, pairs: Sequence[tuple[str, str] | Pair], longest_source: int, language: str = "") -> Self:
        """Make the profile of some pairs, without a threshold for scores."""
        sample = pairs[:: -(-len(pairs) // MAX_SHAPE_PAIRS) or 1]
        return cls(
            stem_hashes=_stem_hashes((pair[0] for pair in pairs), language),
            longest_source=longest_source,
            copied_shapes=_hashes(_copied_shapes(sample)),
            language=language,
        )

    def copied_words(self, text: str) -> tuple[str, ...]:
        """Return the unseen words of a shape that the targets of the training data copy, such as names."""
        words = self.unseen_words(text)
        is_copied = np.isin(_hashes(map(word_shape, words)), self.copied_shapes).tolist()
        return tuple(word for word, copied in zip(words, is_copied, strict=True) if copied)

    def unseen_words(self, text: str) -> tuple[str, ...]:
        """Return the words that do not occur in the training data, not even with other endings; each once."""
        words: dict[str, str] = {}
        for chunk in normalize(text).split():
            for stem, word in self._find_unseen(chunk):
                words.setdefault(stem, word)
        return tuple(words.values())

    @cached_property
    def _find_unseen(self) -> Callable[[str], list[tuple[str, str]]]:
        """Map a text without spaces to its unseen words, each with its stem; cached, because words repeat."""

        def find_unseen(chunk: str) -> list[tuple[str, str]]:
            words = [(word_stem(word, self.language), word) for word in split_words(chunk)]
            hashes = _hashes(stem for stem, _ in words)
            first, last = (np.searchsorted(self.stem_hashes, hashes, side) for side in ("left", "right"))
            return [word for word, is_unseen in zip(words, (first == last).tolist(), strict=True) if is_unseen]

        return lru_cache(maxsize=WORD_CACHE_SIZE)(find_unseen)

    def is_much_longer(self, source_tokens: int) -> bool:
        return source_tokens > LONG_SOURCE_FACTOR * self.longest_source

    def to_bytes(self) -> bytes:
        return save_safetensors(
            {
                "stem_hashes": self.stem_hashes,
                "copied_shapes": self.copied_shapes,
                "longest_source": np.array([self.longest_source], dtype=np.int64),
                "min_log_prob": np.array([self.min_log_prob], dtype=np.float64),
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes, language: str = "") -> Self:
        """Read a profile; raise an error of safetensors, KeyError or ValueError for a damaged one."""
        tensors = load_safetensors(data)
        dtypes = {
            "longest_source": "int64",
            "min_log_prob": "float64",
            "stem_hashes": "uint32",
            "copied_shapes": "uint32",
        }
        for name, dtype in dtypes.items():
            if (
                tensors[name].dtype != dtype
                or tensors[name].ndim != 1
                or (dtype != "uint32" and len(tensors[name]) != 1)
            ):
                raise ValueError(f"{PROFILE_NAME}: {name} has another dtype or shape")
        if tensors["longest_source"][0] < 0 or np.isnan(tensors["min_log_prob"][0]):
            raise ValueError(f"{PROFILE_NAME}: a limit is not a number")
        return cls(
            stem_hashes=tensors["stem_hashes"],
            copied_shapes=tensors["copied_shapes"],
            longest_source=int(tensors["longest_source"][0]),
            min_log_prob=float(tensors["min_log_prob"][0]),
            language=language,
        )


def _stem_hashes(sources: Iterable[str], language: str) -> Hashes:
    """Return the sorted hashes of the stems of all words."""
    known: set[str] = set()  # texts without spaces, and single letters of Han text
    hashes: set[int] = set()
    for source in sources:
        new = set(source.split()) - known
        for chunk in new:
            words = set(chunk) - known if _HAN_TEXT.fullmatch(chunk) else {chunk}
            for word in (word for part in words for word in split_words(part)):
                hashes.add(_hash(word_stem(word, language)))
            if len(known) < MAX_KNOWN_CHUNKS:
                known |= words
    return np.array(sorted(hashes), dtype=np.uint32)


def _copied_shapes(pairs: Sequence[tuple[str, str] | Pair]) -> list[str]:
    """Return the shapes of which most rare words are copied."""
    chunks = Counter(chunk for pair in pairs for chunk in pair[0].split())
    words = {chunk: list(map(intern, split_words(chunk))) for chunk in chunks}
    counts: Counter[str] = Counter()
    for chunk, count in chunks.items():
        for word in words[chunk]:
            counts[word] += count
    rare_words = {word for word, count in counts.items() if count <= RARE_COUNT}
    rare_chunks = {chunk for chunk in chunks if not rare_words.isdisjoint(words[chunk])}
    rare, copied = Counter[str](), Counter[str]()
    for pair in pairs:
        source_chunks = rare_chunks.intersection(pair[0].split())
        for word in {word for chunk in source_chunks for word in words[chunk]} & rare_words:
            shape = word_shape(word)
            rare[shape] += 1
            copied[shape] += len(word) >= MIN_COPIED_LETTERS and word in pair[1]
    return sorted(
        shape for shape, count in rare.items() if count >= MIN_RARE_WORDS and copied[shape] > count * COPIED_FRACTION
    )


def low_score_threshold(mean_log_probs: Sequence[float]) -> float:
    """Return a threshold that LOW_SCORE_FRACTION of these values are below; minus infinity for too few values."""
    if len(mean_log_probs) < MIN_CALIBRATION_SENTENCES:
        return -np.inf
    return float(np.quantile(mean_log_probs, LOW_SCORE_FRACTION))


def _hashes(words: Iterable[str]) -> Hashes:
    return np.array([_hash(word) for word in words], dtype=np.uint32)


def _hash(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass"))
