"""Label tokenizer: class labels as the target vocabulary of a classifier."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from tongsa import bounded_files, storage
from tongsa.bounded_files import UnreadableFileError
from tongsa.data.normalize import normalize
from tongsa.errors import InputError

MAX_LABELS = 1_000
"""With more distinct labels, the column probably holds texts."""
MAX_LABELS_SHOWN = 10
"""Maximum number of labels in an error message."""


class LabelTokenizer:
    """Map from labels to ids 0, 1, … and back: `decode(encode(label)) == normalize(label)`. A label is one token."""

    def __init__(self, labels: Iterable[str]) -> None:
        """Sort the labels, so that ids do not depend on the order of the data."""
        self.labels: Sequence[str] = sorted({normalize(label) for label in labels})
        if "" in self.labels:
            raise InputError("an empty label. Write a label on each line, or remove the line.")
        if len(self.labels) < 2:
            present = f"only {self.labels[0]!r}" if self.labels else "no label"
            raise InputError(f"{present}: two distinct labels are needed. Check data.columns: the second is the label.")
        if len(self.labels) > MAX_LABELS:
            raise InputError(
                f"{len(self.labels):,} distinct labels, such as {_format_labels(self.labels[:3])}; "
                f"at most {MAX_LABELS:,} are allowed. Check data.columns: the second must be the label."
            )
        self._label_to_id = {label: index for index, label in enumerate(self.labels)}

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> Self:
        """Collect the labels of a training set."""
        return cls(texts)

    @classmethod
    def from_bytes(cls, model_bytes: bytes) -> Self:
        """Load labels from `model_bytes`."""
        try:
            labels = bounded_files.parse_json(model_bytes)
            str(labels).encode("utf-8")  # JSON can write halves of a character, which no text has
        except ValueError:
            labels = None
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise InputError("not a list of labels, or a damaged one. Copy the file again.")
        tokenizer = cls(labels)
        if tokenizer.labels != labels:  # the ids would differ from those of the trained model
            raise InputError("the labels are not sorted or not distinct. Copy the file again and do not edit it.")
        return tokenizer

    @property
    def model_bytes(self) -> bytes:
        """JSON list with one label per line."""
        return (json.dumps(self.labels, ensure_ascii=False, indent=1) + "\n").encode("utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        try:
            return cls.from_bytes(bounded_files.read_bytes(path, bounded_files.MAX_JSON_BYTES))
        except UnreadableFileError as error:
            raise InputError(f"{path}: {error.reason}. Give the path of a file written by `save`.") from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def save(self, path: Path) -> None:
        storage.write_bytes(path, self.model_bytes)

    def encode(self, text: str) -> list[int]:
        label = normalize(text)
        if label not in self._label_to_id:
            raise InputError(f"{label!r}: not a label of the training data. Choose from {_format_labels(self.labels)}")
        return [self._label_to_id[label]]

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def encode_normalized(self, texts: Iterable[str]) -> list[list[int]]:
        return self.encode_all(texts)

    def sample_all(self, texts: Sequence[str], alpha: float, seeds: Sequence[int]) -> list[list[int]]:  # noqa: ARG002 - the interface
        """Encode the labels: a label has one segmentation."""
        return self.encode_all(texts)

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the label of one id; several are joined with spaces."""
        return " ".join(self.token_strings(tokens))

    def decode_all(self, outputs: Iterable[Iterable[int]]) -> list[str]:
        return [self.decode(tokens) for tokens in outputs]

    def token_strings(self, tokens: Iterable[int]) -> list[str]:
        return [self.labels[int(token)] for token in tokens]


def _format_labels(labels: Sequence[str]) -> str:
    text = ", ".join(map(repr, labels[:MAX_LABELS_SHOWN]))
    return f"{text} and {len(labels) - MAX_LABELS_SHOWN:,} more" if len(labels) > MAX_LABELS_SHOWN else text
