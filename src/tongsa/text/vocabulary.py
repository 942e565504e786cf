"""What stands between text and indices: pieces of words on either side, or labels as a target."""

from collections.abc import Iterable
from typing import Protocol


class Vocabulary(Protocol):
    def __len__(self) -> int: ...

    @property
    def model(self) -> bytes:
        """All of it, as it is kept in a file; equal bytes, equal indices."""
        ...

    def split_all(self, texts: Iterable[str]) -> list[list[int]]: ...

    def sample_all(self, texts: Iterable[str], alpha: float, seed: int) -> list[list[int]]: ...

    def join(self, indices: Iterable[int]) -> str: ...

    def names(self, indices: Iterable[int]) -> list[str]: ...
