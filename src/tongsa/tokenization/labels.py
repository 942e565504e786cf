"""Labels: what a classifier answers with, as `Pieces` are what a translator writes with."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from tongsa import storage
from tongsa.data.normalize import normalize
from tongsa.errors import InputError

MAX_LABELS = 1_000
"""With more distinct labels than this, the column is more likely to hold texts."""
MAX_LABELS_SHOWN = 10
"""An error names this many labels at most."""


class LabelTokenizer:
    """Label to index and back: `join(split(label)) == normalise(label)`. Each text is one index, from 0 on."""

    def __init__(self, labels: Iterable[str]) -> None:
        """Sorted, so that the same labels have the same indices in whatever order they come."""
        self.labels: Sequence[str] = sorted({normalize(label) for label in labels})
        if "" in self.labels:
            raise InputError("an empty label; write one on every line, or leave the line out")
        if len(self.labels) < 2:
            found = f"only {self.labels[0]!r}" if self.labels else "none"
            raise InputError(f"two or more distinct labels are wanted, found {found}; is the label the second column?")
        if len(self.labels) > MAX_LABELS:
            raise InputError(
                f"{len(self.labels):,} distinct labels, such as {_format_labels(self.labels[:3])}, where {MAX_LABELS:,} are the most; "
                "is this a column of labels?"
            )
        self._label_to_id = {label: index for index, label in enumerate(self.labels)}

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> Self:
        """The labels of a training set."""
        return cls(texts)

    @classmethod
    def from_bytes(cls, model_bytes: bytes) -> Self:
        """Read what `model` holds."""
        try:
            known = json.loads(model_bytes)
        except ValueError:
            known = None
        if not isinstance(known, list) or not all(isinstance(label, str) for label in known):
            raise InputError("not a list of labels, or a damaged one; copy it again")
        labels = cls(known)
        if labels.labels != known:  # other indices than those a model was trained with
            raise InputError("labels that are not sorted or not distinct; copy the file again, and do not edit it")
        return labels

    @property
    def model_bytes(self) -> bytes:
        """A JSON list, one label a line."""
        return (json.dumps(self.labels, ensure_ascii=False, indent=1) + "\n").encode("utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        try:
            return cls.from_bytes(path.read_bytes())
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); name the file that `save` wrote") from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def save(self, path: Path) -> None:
        storage.write_bytes(path, self.model_bytes)

    def encode(self, text: str) -> list[int]:
        label = normalize(text)
        if label not in self._label_to_id:
            raise InputError(f"{label!r}: a label never seen in training; known are {_format_labels(self.labels)}")
        return [self._label_to_id[label]]

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def sample_all(self, texts: Iterable[str], alpha: float, seed: int) -> list[list[int]]:  # noqa: ARG002 - as Pieces
        """A label is cut in one way only."""
        return self.encode_all(texts)

    def decode(self, tokens: Iterable[int]) -> str:
        """The label of one index; of several, which no classifier gives, one beside the other."""
        return " ".join(self.token_strings(tokens))

    def token_strings(self, tokens: Iterable[int]) -> list[str]:
        return [self.labels[int(index)] for index in tokens]


def _format_labels(labels: Sequence[str]) -> str:
    named = ", ".join(map(repr, labels[:MAX_LABELS_SHOWN]))
    return f"{named} and {len(labels) - MAX_LABELS_SHOWN:,} more" if len(labels) > MAX_LABELS_SHOWN else named
