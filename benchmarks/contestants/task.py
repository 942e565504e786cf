"""The task of all contestants: written by train_speed.py, read by each process. Imports neither torch nor tongsa."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

PAD, BOS, EOS = range(3)
Rows = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Size:
    """Sizes of the Transformer that is compared."""

    width: int = 256
    ffn_width: int = 1024
    heads: int = 4
    layers: int = 3
    """On each side."""
    subwords: int = 8000
    """Vocabulary size; a small text may give fewer."""
    tokens: int = 4096
    """Target tokens per batch, approximately."""
    square: int = 2048
    """Rows and columns of a square product, measured in addition to the model's shapes."""


TINY = Size(width=32, ffn_width=64, heads=2, layers=1, subwords=2000, tokens=512, square=256)


@dataclass(frozen=True, kw_only=True)
class Task:
    kind: str
    """A kind of tongsa, or the name of a peer."""
    model: dict[str, Any]
    """The settings of a kind; the peers read `size` alone."""
    size: Size
    corpus: str
    """File that `write_corpus` has written."""
    threads: int
    """0: torch's default."""
    workers: int = 1
    """Data-parallel processes; they share the threads."""
    dropout: float = 0.1
    label_smoothing: float = 0.1
    lr: float = 5e-4
    seed: int = 1

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), "utf-8")

    @classmethod
    def read(cls, path: Path) -> Self:
        values = json.loads(path.read_text("utf-8"))
        return cls(**values | {"size": Size(**values["size"])})


class Corpus(NamedTuple):
    """Pairs as token ids, without <s> and </s>."""

    source: list[NDArray[np.int32]]
    target: list[NDArray[np.int32]]
    vocab_size: int
    """Size of the joint vocabulary."""

    @property
    def lengths(self) -> Rows:  # (pair, 2)
        """Lengths in a batch, with </s>."""
        return np.array([[len(source) + 1, len(target) + 1] for source, target in zip(*self[:2], strict=True)])


def write_corpus(path: Path, source: list[list[int]], target: list[list[int]], vocab_size: int) -> None:
    sides = {}
    for name, rows in (("source", source), ("target", target)):
        sides[name] = np.array([token for row in rows for token in row], dtype=np.int32)
        sides[f"{name}_lengths"] = np.array([len(row) for row in rows])
    np.savez(path, vocab_size=vocab_size, **sides)


def read_corpus(path: str) -> Corpus:
    with np.load(path) as stored:
        source, target = (
            np.split(stored[name], np.cumsum(stored[f"{name}_lengths"])[:-1]) for name in ("source", "target")
        )
        return Corpus(source, target, int(stored["vocab_size"]))
