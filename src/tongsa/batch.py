"""Batches: the only tensor container, and an order that is a pure function of (lengths, seed, epoch)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tongsa.tokenization.special import BOS, EOS, PAD

Indices = NDArray[np.int64]
BATCHES_PER_SIZE_GROUP = 8
"""Batches in a row that take about equally long."""


class Padded(NamedTuple):
    """Sequences of different lengths in one rectangle."""

    tokens: Tensor  # (batch, length)
    lengths: Tensor  # (batch,)

    @property
    def mask(self) -> Tensor:  # (batch, length)
        """True where there is a piece, False where there is only padding."""
        return torch.arange(self.tokens.shape[1], device=self.tokens.device) < self.lengths.unsqueeze(1)

    def select(self, rows: slice | list[int]) -> "Padded":
        """Some of the rows, without padding that only the others needed."""
        lengths = self.lengths[rows]
        return Padded(self.tokens[rows, : int(lengths.max())], lengths)

    def to(self, device: torch.device) -> "Padded":
        return Padded(self.tokens.to(device), self.lengths.to(device))


def pad(sequences: Sequence[Sequence[int] | NDArray[np.int32]]) -> Padded:
    lengths = [len(row) for row in sequences]
    pieces = np.full((len(sequences), max(lengths, default=0)), PAD, dtype=np.int64)
    for at, row in enumerate(sequences):
        pieces[at, : lengths[at]] = row
    return Padded(torch.from_numpy(pieces), torch.tensor(lengths))


class Ragged:
    """Many sequences, end to end in one array: a few bytes a piece, however many lines."""

    def __init__(self, sequences: Sequence[Sequence[int]]) -> None:
        self.lengths = np.fromiter((len(row) for row in sequences), dtype=np.int64, count=len(sequences))
        self.ends = np.cumsum(self.lengths)
        total = int(self.ends[-1]) if len(sequences) else 0
        self.tokens = np.fromiter((piece for row in sequences for piece in row), dtype=np.int32, count=total)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, row: int) -> NDArray[np.int32]:
        end = self.ends[row]
        return self.tokens[end - self.lengths[row] : end]


class Batch(NamedTuple):
    """A source, the target shifted right behind <s>, and the target to be predicted (Vaswani et al. 3.1)."""

    source: Padded
    decoder_input: Padded
    target: Padded

    def to(self, device: torch.device) -> "Batch":
        return Batch(*(part.to(device) for part in self))

    @property
    def padded_size(self) -> int:
        """On its larger side, padding included."""
        return max(self.source.tokens.numel(), self.target.tokens.numel())

    def micro_batches(self, max_tokens: int) -> "list[Batch]":
        """Its rows in as few even parts as keep to so many places; one row is never cut. 0 sets no limit."""
        rows = len(self.source.lengths)
        count = min(rows, -(-self.padded_size // max_tokens)) if max_tokens else 1
        if count == 1:
            return [self]
        ends = [rows * at // count for at in range(count + 1)]
        return [Batch(*(side.select(slice(*part)) for side in self)) for part in pairwise(ends)]


class Examples(NamedTuple):
    """Pairs of sequences as indices, without <s> and </s>."""

    source: Ragged
    target: Ragged
    appends_eos: bool = True
    """Whether a target ends with </s>; a label, which is always one, does not."""

    @property
    def lengths(self) -> Indices:  # (pair, 2)
        """As they stand in a batch."""
        return np.stack([self.source.lengths + 1, self.target.lengths + self.appends_eos], axis=1)

    def batch(self, indices: Indices) -> Batch:
        sources = [append_eos(self.source[row]) for row in indices]
        targets = [append_eos(self.target[row]) if self.appends_eos else self.target[row] for row in indices]
        return Batch(pad(sources), pad([prepend_bos(row[:-1]) for row in targets]), pad(targets))


def append_eos(tokens: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.append(tokens, np.int32(EOS))


def prepend_bos(tokens: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.insert(tokens, 0, np.int32(BOS))


def batch_by_tokens(lengths: Indices, order: Indices, batch_tokens: int) -> Iterator[Indices]:
    """Cut an order of pairs into batches of at most `budget` places on either side, padding included."""
    start, longest = 0, 0
    for at, row in enumerate(order):
        longest = max(longest, int(lengths[row].max()))
        if at > start and longest * (at - start + 1) > batch_tokens:
            yield order[start:at]
            start, longest = at, int(lengths[row].max())
    if start < len(order):
        yield order[start:]


def epoch_order(
    lengths: Indices, *, batch_tokens: int, seed: int, epoch: int, pool_batches: int = 512
) -> list[Indices]:
    """The batches of one epoch in order: shuffled, sorted by length in pools of some `pool` batches, shuffled again.

    The second time those of about equally many places stay together, for whoever computes one batch of an update waits
    for the others. A pure function of its arguments, so that going on from (epoch, batch) needs no stored order.
    """
    random = np.random.default_rng((seed, epoch))
    order = random.permutation(len(lengths))
    mean = max(1.0, float(lengths.max(axis=1).mean())) if len(lengths) else 1.0
    size = max(1, int(pool_batches * batch_tokens / mean))
    batches: list[Indices] = []
    for start in range(0, len(order), size):
        part = order[start : start + size]
        source, target = lengths[part].T
        # by target; within one length sources rise and in the next they fall, so that neighbours are always alike
        part = part[np.lexsort((np.where(target % 2, source, -source), target))]
        batches.extend(batch_by_tokens(lengths, part, batch_tokens))
    shuffled = random.permutation(len(batches))
    places = np.array([len(batch) * lengths[batch].max(axis=0).sum() for batch in batches])
    alike = shuffled[np.argsort(places[shuffled], kind="stable")]
    runs = [
        random.permutation(alike[start : start + BATCHES_PER_SIZE_GROUP])
        for start in range(0, len(alike), BATCHES_PER_SIZE_GROUP)
    ]
    return [batches[at] for run in random.permutation(len(runs)) for at in runs[run]]
