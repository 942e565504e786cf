"""Batches of token ids: padded tensors, and a batch order that is a pure function of (lengths, seed, epoch)."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tongsa.data.array_files import Array, index_dtype
from tongsa.tokenization.special import BOS, EOS, PAD

Indices = NDArray[np.integer[Any]]
TokenIds = NDArray[np.integer[Any]]
BATCHES_PER_SIZE_GROUP = 8
"""Number of consecutive batches of about the same size in an epoch."""
LENGTHS_BLOCK = 1 << 16
"""Sequences whose lengths are computed together."""


class Padded(NamedTuple):
    """Sequences of different lengths in one tensor, padded on the right."""

    tokens: Tensor  # (batch, length)
    lengths: Tensor  # (batch,)

    @property
    def mask(self) -> Tensor:  # (batch, length)
        """The padding mask: True for a token, False for padding."""
        return torch.arange(self.tokens.shape[1], device=self.tokens.device) < self.lengths.unsqueeze(1)

    def select(self, rows: slice | list[int]) -> "Padded":
        """Return some rows, without the columns that are then only padding."""
        lengths = self.lengths[rows]
        return Padded(self.tokens[rows, : int(lengths.max())], lengths)

    def to(self, device: torch.device) -> "Padded":
        return Padded(self.tokens.to(device), self.lengths.to(device))


def pad(sequences: Sequence[Sequence[int] | TokenIds]) -> Padded:
    lengths = [len(sequence) for sequence in sequences]
    tokens = np.full((len(sequences), max(lengths, default=0)), PAD, dtype=np.int64)
    for row, sequence in enumerate(sequences):
        tokens[row, : lengths[row]] = sequence
    return Padded(torch.from_numpy(tokens), torch.tensor(lengths))


class Ragged:
    """Many sequences, concatenated in one array: no Python object for each line."""

    def __init__(self, sequences: Iterable[Sequence[int]]) -> None:
        tokens, ends = array("i"), array("q", [0])
        for sequence in sequences:
            tokens.extend(sequence)
            ends.append(len(tokens))
        self.tokens: Array = np.frombuffer(tokens, np.int32)
        self.offsets: Array = np.frombuffer(ends, np.int64)
        """Sequence i lies between offsets i and i + 1."""

    @classmethod
    def from_arrays(cls, tokens: Array, offsets: Array) -> Self:
        """Make sequences from arrays, which may be in files."""
        ragged = cls([])
        ragged.tokens, ragged.offsets = tokens, offsets
        return ragged

    @property
    def lengths(self) -> NDArray[np.int64]:
        lengths = np.empty(len(self), np.int64)
        self.write_lengths(lengths)
        return lengths

    def write_lengths(self, lengths: Indices) -> None:
        for start in range(0, len(self), LENGTHS_BLOCK):
            offsets = self.offsets[start : start + LENGTHS_BLOCK + 1]
            np.subtract(offsets[1:], offsets[:-1], out=lengths[start : start + LENGTHS_BLOCK], casting="same_kind")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> TokenIds:
        start, end = self.offsets[row : row + 2].tolist()
        return self.tokens[start:end]


class Batch(NamedTuple):
    """Sources, decoder inputs (the target shifted right behind <s>) and targets (Vaswani et al. 2017, section 3.1)."""

    source: Padded
    decoder_input: Padded
    target: Padded

    @classmethod
    def from_tokens(cls, sources: Sequence[TokenIds], targets: Sequence[TokenIds], appends_eos: bool = True) -> Self:
        """Make a batch of token ids without <s> and </s>; labels get no </s>."""
        sources = [append_eos(source) for source in sources]
        targets = [append_eos(target) if appends_eos else target for target in targets]
        return cls(pad(sources), pad([prepend_bos(target[:-1]) for target in targets]), pad(targets))

    def to(self, device: torch.device) -> "Batch":
        return Batch(*(side.to(device) for side in self))

    @property
    def padded_size(self) -> int:
        """Number of tokens of the larger side, padding included."""
        return max(self.source.tokens.numel(), self.target.tokens.numel())

    def micro_batches(self, max_tokens: int) -> "list[Batch]":
        """Split the rows into the fewest equal parts of at most `max_tokens`, padding included; 0 sets no limit.

        A row is never split, so a micro-batch with a single long row may be larger.
        """
        num_rows = len(self.source.lengths)
        count = min(num_rows, -(-self.padded_size // max_tokens)) if max_tokens else 1
        if count == 1:
            return [self]
        bounds = [num_rows * i // count for i in range(count + 1)]
        return [Batch(*(side.select(slice(start, end)) for side in self)) for start, end in pairwise(bounds)]


class Examples(NamedTuple):
    """Pairs of source and target as token ids, without <s> and </s>."""

    source: Ragged
    target: Ragged
    appends_eos: bool = True
    """Append </s> to targets. False for labels, which are always one token."""
    rows: Indices | None = None
    """Selected pairs, some perhaps several times; None for all."""

    @property
    def lengths(self) -> Indices:  # (pair, 2)
        """Lengths of source and target in a batch, </s> included."""
        lengths = np.empty((len(self.source), 2), dtype=np.int32)  # filled in place: a corpus has millions of pairs
        for side, ragged in enumerate((self.source, self.target)):
            ragged.write_lengths(lengths[:, side])
        lengths += (1, self.appends_eos)
        return lengths if self.rows is None else lengths[self.rows]

    def batch(self, indices: Indices) -> Batch:
        indices = indices if self.rows is None else self.rows[indices]
        return Batch.from_tokens(
            [self.source[row] for row in indices], [self.target[row] for row in indices], self.appends_eos
        )


def append_eos(tokens: TokenIds) -> NDArray[np.int32]:
    return np.append(tokens, np.int32(EOS))


def prepend_bos(tokens: TokenIds) -> TokenIds:
    return np.insert(tokens, 0, BOS)


def batch_by_tokens(lengths: Indices, order: Indices, batch_tokens: int) -> Iterator[Indices]:
    """Split an order of pairs into batches of at most `batch_tokens` tokens on either side, padding included."""
    start, max_length = 0, 0
    for end, length in enumerate(lengths[order].max(axis=1).tolist() if len(order) else []):
        max_length = max(max_length, length)
        if end > start and max_length * (end - start + 1) > batch_tokens:
            yield order[start:end]
            start, max_length = end, length
    if start < len(order):
        yield order[start:]


def epoch_order(
    lengths: Indices, *, batch_tokens: int, seed: int, epoch: int, pool_batches: int = 512
) -> list[Indices]:
    """Return the batches of one epoch: shuffle, sort by length in pools of `pool_batches`, split, shuffle.

    A pure function of its arguments: resuming at (epoch, batch) needs no stored order.
    """
    random = np.random.default_rng((seed, epoch))
    order = random.permutation(np.arange(len(lengths), dtype=index_dtype(len(lengths))))
    mean_length = max(1.0, float(lengths.max(axis=1).mean())) if len(lengths) else 1.0
    pool_size = max(1, int(pool_batches * batch_tokens / mean_length))
    batches: list[Indices] = []
    for start in range(0, len(order), pool_size):
        pool = order[start : start + pool_size]
        source, target = lengths[pool].T
        # by target length; sources ascend within one target length and descend within the next: neighbors are similar
        pool = pool[np.lexsort((np.where(target % 2, source, -source), target))]
        batches.extend(batch_by_tokens(lengths, pool, batch_tokens))
    return _shuffle_in_size_groups(batches, lengths, random)


def _shuffle_in_size_groups(batches: list[Indices], lengths: Indices, random: np.random.Generator) -> list[Indices]:
    """Shuffle batches, but keep batches of similar size together.

    The batches of one update run in parallel, and the update waits for the largest of them.
    """
    shuffled = random.permutation(len(batches))
    sizes = np.array([len(batch) * lengths[batch].max(axis=0).sum() for batch in batches])
    by_size = shuffled[np.argsort(sizes[shuffled], kind="stable")]
    groups = [
        random.permutation(by_size[start : start + BATCHES_PER_SIZE_GROUP])
        for start in range(0, len(by_size), BATCHES_PER_SIZE_GROUP)
    ]
    return [batches[i] for group in random.permutation(len(groups)) for i in groups[group]]
