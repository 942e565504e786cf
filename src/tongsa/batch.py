"""Batches: the only tensor container, and an order that is a pure function of (lengths, seed, epoch)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tongsa.text import BOS, EOS, PAD

Rows = NDArray[np.int64]
ALIKE = 8
"""Batches in a row that take about equally long."""


class Padded(NamedTuple):
    """Sequences of different lengths in one rectangle."""

    pieces: Tensor  # (batch, length)
    lengths: Tensor  # (batch,)

    @property
    def mask(self) -> Tensor:  # (batch, length)
        """True where there is a piece, False where there is only padding."""
        return torch.arange(self.pieces.shape[1], device=self.pieces.device) < self.lengths.unsqueeze(1)

    def rows(self, which: slice | list[int]) -> "Padded":
        """Some of the rows, without padding that only the others needed."""
        lengths = self.lengths[which]
        return Padded(self.pieces[which, : int(lengths.max())], lengths)

    def to(self, device: torch.device) -> "Padded":
        return Padded(self.pieces.to(device), self.lengths.to(device))


def pad(rows: Sequence[Sequence[int] | NDArray[np.int32]]) -> Padded:
    lengths = [len(row) for row in rows]
    pieces = np.full((len(rows), max(lengths, default=0)), PAD, dtype=np.int64)
    for at, row in enumerate(rows):
        pieces[at, : lengths[at]] = row
    return Padded(torch.from_numpy(pieces), torch.tensor(lengths))


class Ragged:
    """Many sequences, end to end in one array: a few bytes a piece, however many lines."""

    def __init__(self, rows: Sequence[Sequence[int]]) -> None:
        self.lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
        self.ends = np.cumsum(self.lengths)
        total = int(self.ends[-1]) if len(rows) else 0
        self.pieces = np.fromiter((piece for row in rows for piece in row), dtype=np.int32, count=total)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, row: int) -> NDArray[np.int32]:
        end = self.ends[row]
        return self.pieces[end - self.lengths[row] : end]


class Batch(NamedTuple):
    """A source, the target shifted right behind <s>, and the target to be predicted (Vaswani et al. 3.1)."""

    source: Padded
    shifted: Padded
    target: Padded

    def to(self, device: torch.device) -> "Batch":
        return Batch(*(part.to(device) for part in self))

    @property
    def places(self) -> int:
        """On its larger side, padding included."""
        return max(self.source.pieces.numel(), self.target.pieces.numel())

    def parts(self, most: int) -> "list[Batch]":
        """Its rows in as few even parts as keep to so many places; one row is never cut. 0 sets no limit."""
        rows = len(self.source.lengths)
        count = min(rows, -(-self.places // most)) if most else 1
        if count == 1:
            return [self]
        ends = [rows * at // count for at in range(count + 1)]
        return [Batch(*(side.rows(slice(*part)) for side in self)) for part in pairwise(ends)]


class Examples(NamedTuple):
    """Pairs of sequences as indices, without <s> and </s>."""

    source: Ragged
    target: Ragged
    ends: bool = True
    """Whether a target ends with </s>; a label, which is always one, does not."""

    @property
    def lengths(self) -> Rows:  # (pair, 2)
        """As they stand in a batch."""
        return np.stack([self.source.lengths + 1, self.target.lengths + self.ends], axis=1)

    def batch(self, rows: Rows) -> Batch:
        sources = [ended(self.source[row]) for row in rows]
        targets = [ended(self.target[row]) if self.ends else self.target[row] for row in rows]
        return Batch(pad(sources), pad([begun(row[:-1]) for row in targets]), pad(targets))


def ended(row: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.append(row, np.int32(EOS))


def begun(row: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.insert(row, 0, np.int32(BOS))


def by_tokens(lengths: Rows, order: Rows, budget: int) -> Iterator[Rows]:
    """Cut an order of pairs into batches of at most `budget` places on either side, padding included."""
    start, longest = 0, 0
    for at, row in enumerate(order):
        longest = max(longest, int(lengths[row].max()))
        if at > start and longest * (at - start + 1) > budget:
            yield order[start:at]
            start, longest = at, int(lengths[row].max())
    if start < len(order):
        yield order[start:]


def plan(lengths: Rows, *, budget: int, seed: int, epoch: int, pool: int = 512) -> list[Rows]:
    """The batches of one epoch in order: shuffled, sorted by length in pools of some `pool` batches, shuffled again.

    The second time those of about equally many places stay together, for whoever computes one batch of an update waits
    for the others. A pure function of its arguments, so that going on from (epoch, batch) needs no stored order.
    """
    random = np.random.default_rng((seed, epoch))
    order = random.permutation(len(lengths))
    mean = max(1.0, float(lengths.max(axis=1).mean())) if len(lengths) else 1.0
    size = max(1, int(pool * budget / mean))
    batches: list[Rows] = []
    for start in range(0, len(order), size):
        part = order[start : start + size]
        source, target = lengths[part].T
        # by target; within one length sources rise and in the next they fall, so that neighbours are always alike
        part = part[np.lexsort((np.where(target % 2, source, -source), target))]
        batches.extend(by_tokens(lengths, part, budget))
    shuffled = random.permutation(len(batches))
    places = np.array([len(batch) * lengths[batch].max(axis=0).sum() for batch in batches])
    alike = shuffled[np.argsort(places[shuffled], kind="stable")]
    runs = [random.permutation(alike[start : start + ALIKE]) for start in range(0, len(alike), ALIKE)]
    return [batches[at] for run in random.permutation(len(runs)) for at in runs[run]]
