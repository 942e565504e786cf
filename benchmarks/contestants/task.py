"""What every contestant is asked to do: written by train_speed.py, read by each child. No torch, no tongsa."""

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
    """The Transformer that all are measured against."""

    width: int = 256
    inner: int = 1024
    heads: int = 4
    layers: int = 3
    """On each side."""
    pieces: int = 8000
    """Asked for; the text may give fewer."""
    tokens: int = 4096
    """Target tokens a batch, about."""
    square: int = 2048
    """Rows and columns of the square product whose speed is measured beside those of the model's shapes."""


TINY = Size(width=32, inner=64, heads=2, layers=1, pieces=2000, tokens=512, square=256)


@dataclass(frozen=True, kw_only=True)
class Task:
    kind: str
    """A kind of tongsa's, or the name of a peer."""
    model: dict[str, Any]
    """The settings of a kind; the peers read `size` alone."""
    size: Size
    corpus: str
    """Where `write_corpus` has put the indices."""
    threads: int
    """0 leaves the choice to torch."""
    workers: int = 1
    """Processes that share an update, and the threads."""
    dropout: float = 0.1
    smoothing: float = 0.1
    rate: float = 5e-4
    seed: int = 1

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), "utf-8")

    @classmethod
    def read(cls, path: Path) -> Self:
        values = json.loads(path.read_text("utf-8"))
        return cls(**values | {"size": Size(**values["size"])})


class Corpus(NamedTuple):
    """Pairs as indices, without <s> and </s>."""

    source: list[NDArray[np.int32]]
    target: list[NDArray[np.int32]]
    pieces: int
    """Size of the one vocabulary."""

    @property
    def lengths(self) -> Rows:  # (pair, 2)
        """As they stand in a batch, </s> included."""
        return np.array([[len(source) + 1, len(target) + 1] for source, target in zip(*self[:2], strict=True)])


def write_corpus(path: Path, source: list[list[int]], target: list[list[int]], pieces: int) -> None:
    sides = {}
    for name, rows in (("source", source), ("target", target)):
        sides[name] = np.array([piece for row in rows for piece in row], dtype=np.int32)
        sides[f"{name}_lengths"] = np.array([len(row) for row in rows])
    np.savez(path, pieces=pieces, **sides)


def read_corpus(path: str) -> Corpus:
    with np.load(path) as stored:
        source, target = (
            np.split(stored[name], np.cumsum(stored[f"{name}_lengths"])[:-1]) for name in ("source", "target")
        )
        return Corpus(source, target, int(stored["pieces"]))
