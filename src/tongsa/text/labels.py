"""Labels: what a classifier answers with, as `Pieces` are what a translator writes with."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from tongsa import files
from tongsa.errors import InputError
from tongsa.text.normalise import normalise

MOST = 1_000
"""With more distinct labels than this, the column is more likely to hold texts."""
SHOWN = 10
"""An error names this many labels at most."""


class Labels:
    """Label to index and back: `join(split(label)) == normalise(label)`. Each text is one index, from 0 on."""

    def __init__(self, known: Iterable[str]) -> None:
        """Sorted, so that the same labels have the same indices in whatever order they come."""
        self.known: Sequence[str] = sorted({normalise(label) for label in known})
        if "" in self.known:
            raise InputError("an empty label; write one on every line, or leave the line out")
        if len(self.known) < 2:
            found = f"only {self.known[0]!r}" if self.known else "none"
            raise InputError(f"two or more distinct labels are wanted, found {found}; is the label the second column?")
        if len(self.known) > MOST:
            raise InputError(
                f"{len(self.known):,} distinct labels, such as {_listed(self.known[:3])}, where {MOST:,} are the most; "
                "is this a column of labels?"
            )
        self._indices = {label: index for index, label in enumerate(self.known)}

    def __len__(self) -> int:
        return len(self.known)

    @classmethod
    def learn(cls, texts: Iterable[str]) -> Self:
        """The labels of a training set."""
        return cls(texts)

    @classmethod
    def parse(cls, model: bytes) -> Self:
        """Read what `model` holds."""
        try:
            known = json.loads(model)
        except ValueError:
            known = None
        if not isinstance(known, list) or not all(isinstance(label, str) for label in known):
            raise InputError("not a list of labels, or a damaged one; copy it again")
        labels = cls(known)
        if labels.known != known:  # other indices than those a model was trained with
            raise InputError("labels that are not sorted or not distinct; copy the file again, and do not edit it")
        return labels

    @property
    def model(self) -> bytes:
        """A JSON list, one label a line."""
        return (json.dumps(self.known, ensure_ascii=False, indent=1) + "\n").encode("utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        try:
            return cls.parse(path.read_bytes())
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); name the file that `save` wrote") from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def save(self, path: Path) -> None:
        files.write_bytes(path, self.model)

    def split(self, text: str) -> list[int]:
        label = normalise(text)
        if label not in self._indices:
            raise InputError(f"{label!r}: a label never seen in training; known are {_listed(self.known)}")
        return [self._indices[label]]

    def split_all(self, texts: Iterable[str]) -> list[list[int]]:
        return [self.split(text) for text in texts]

    def sample_all(self, texts: Iterable[str], alpha: float, seed: int) -> list[list[int]]:  # noqa: ARG002 - as Pieces
        """A label is cut in one way only."""
        return self.split_all(texts)

    def join(self, indices: Iterable[int]) -> str:
        """The label of one index; of several, which no classifier gives, one beside the other."""
        return " ".join(self.names(indices))

    def names(self, indices: Iterable[int]) -> list[str]:
        return [self.known[int(index)] for index in indices]


def _listed(labels: Sequence[str]) -> str:
    named = ", ".join(map(repr, labels[:SHOWN]))
    return f"{named} and {len(labels) - SHOWN:,} more" if len(labels) > SHOWN else named
