"""The tokenizer interface: subword tokenizers for text, a label tokenizer as the target of a classifier."""

from collections.abc import Iterable, Sequence
from typing import Protocol


class Tokenizer(Protocol):
    """A reversible map from text to token ids."""

    def __len__(self) -> int: ...

    @property
    def model_bytes(self) -> bytes:
        """Serialized tokenizer. Tokenizers with equal bytes give equal tokens."""
        ...

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]: ...

    def encode_normalized(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode texts that `normalize` leaves as they are."""
        ...

    def sample_all(self, texts: Sequence[str], alpha: float, seeds: Sequence[int]) -> list[list[int]]:
        """Encode with random segmentations (subword regularization), each drawn with the seed of its text."""
        ...

    def decode(self, tokens: Iterable[int]) -> str: ...

    def decode_all(self, outputs: Iterable[Iterable[int]]) -> list[str]: ...

    def token_strings(self, tokens: Iterable[int]) -> list[str]:
        """Return each token as a string, for display."""
        ...
