"""Profile of the training data, saved with a model: it tells which input is unlike anything the model has seen.

The words of the sources are kept as 32-bit hashes, 4 bytes each. A new word has the hash of a known one with a
probability of about the number of words divided by 4 billion.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load as load_safetensors
from safetensors.numpy import save as save_safetensors

from tongsa.data.normalize import normalize
from tongsa.data.words import split_words, word_stem

LOW_SCORE_FRACTION = 0.01
"""Fraction of the dev sentences whose mean log-probability per token is below `min_log_prob`."""
MIN_CALIBRATION_SENTENCES = 20
"""With fewer dev sentences no threshold is computed."""
MUCH_LONGER = 1.5
"""A source of more than this times the longest training source is much longer."""
Hashes = NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True)
class TrainingProfile:
    stem_hashes: Hashes  # (stem,) sorted
    """Hashes of the stems of all source words."""
    longest_source: int
    """Tokens of the longest source."""
    min_log_prob: float = -np.inf
    """Mean log-probability per token below which an output has a low score."""
    language: str = ""
    """Source language, for the stems."""

    @classmethod
    def from_sources(cls, sources: Iterable[str], longest_source: int, language: str = "") -> Self:
        """Make the profile of some sources, without a threshold for scores."""
        chunks = {chunk for source in sources for chunk in source.split()}
        stems = {word_stem(word, language) for chunk in chunks for word in split_words(chunk)}
        return cls(stem_hashes=np.unique(_hashes(stems)), longest_source=longest_source, language=language)

    def unseen_words(self, text: str) -> tuple[str, ...]:
        """Return the words that do not occur in the training data, not even with other endings; each once."""
        words = {word_stem(word, self.language): word for word in reversed(list(split_words(normalize(text))))}
        if not words:
            return ()
        hashes = _hashes(words)
        positions = np.searchsorted(self.stem_hashes, hashes)
        padded = np.append(self.stem_hashes, np.uint32(0))
        is_seen = (positions < len(self.stem_hashes)) & (padded[positions] == hashes)
        unseen = [word for word, seen in zip(words.values(), is_seen.tolist(), strict=True) if not seen]
        return tuple(reversed(unseen))

    def is_much_longer(self, source_tokens: int) -> bool:
        return source_tokens > MUCH_LONGER * self.longest_source

    def to_bytes(self) -> bytes:
        return save_safetensors(
            {
                "stem_hashes": self.stem_hashes,
                "longest_source": np.array([self.longest_source], dtype=np.int64),
                "min_log_prob": np.array([self.min_log_prob], dtype=np.float64),
            }
        )

    @classmethod
    def from_bytes(cls, data: bytes, language: str = "") -> Self:
        tensors = load_safetensors(data)
        return cls(
            stem_hashes=tensors["stem_hashes"],
            longest_source=int(tensors["longest_source"][0]),
            min_log_prob=float(tensors["min_log_prob"][0]),
            language=language,
        )


def low_score_threshold(mean_log_probs: Sequence[float]) -> float:
    """Return a threshold that LOW_SCORE_FRACTION of these values are below; minus infinity for too few values."""
    if len(mean_log_probs) < MIN_CALIBRATION_SENTENCES:
        return -np.inf
    return float(np.quantile(mean_log_probs, LOW_SCORE_FRACTION))


def _hashes(words: Iterable[str]) -> Hashes:
    return np.array([zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in words], dtype=np.uint32)
