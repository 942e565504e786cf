"""The tokenizer interface: subword tokenizers for text, a label tokenizer as the target of a classifier."""

from collections.abc import Iterable
from typing import Protocol


class Tokenizer(Protocol):
    """A reversible map from text to token ids."""

    def __len__(self) -> int: ...

    @property
    def model_bytes(self) -> bytes:
        """Serialized tokenizer. Tokenizers with equal bytes give equal tokens."""
        ...

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]: ...

    def sample_all(self, texts: Iterable[str], alpha: float, seed: int) -> list[list[int]]:
        """Encode with random segmentations (subword regularization)."""
        ...

    def decode(self, tokens: Iterable[int]) -> str: ...

    def token_strings(self, tokens: Iterable[int]) -> list[str]:
        """Return each token as a string, for display."""
        ...
