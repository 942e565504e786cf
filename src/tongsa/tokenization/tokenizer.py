"""What stands between text and indices: pieces of words on either side, or labels as a target."""

from collections.abc import Iterable
from typing import Protocol


class Tokenizer(Protocol):
    def __len__(self) -> int: ...

    @property
    def model_bytes(self) -> bytes:
        """All of it, as it is kept in a file; equal bytes, equal indices."""
        ...

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]: ...

    def sample_all(self, texts: Iterable[str], alpha: float, seed: int) -> list[list[int]]: ...

    def decode(self, tokens: Iterable[int]) -> str: ...

    def token_strings(self, tokens: Iterable[int]) -> list[str]: ...
