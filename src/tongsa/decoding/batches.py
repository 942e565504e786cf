"""Batches for decoding: texts of similar length, limited by memory, and shared evenly among threads."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from tongsa.batch import Indices, Padded, Ragged, TokenIds, append_eos, batch_by_tokens, pad
from tongsa.decoding.constraints import OutputConstraints

MIN_BATCHES_PER_THREAD = 4
"""With fewer batches per thread than this, all threads get equally many."""
STEP_COST_TOKENS = 16
"""Fixed cost of one search step, in units of the cost of one token."""
MAX_SCORES_PER_STEP = 1 << 25
"""Largest number of next-token scores in one step: 128 MiB in float32."""


class Capacity(NamedTuple):
    """Size limits of a batch."""

    max_tokens: int
    """Maximum number of source tokens."""
    max_sentences: int

    @classmethod
    def for_candidates(cls, max_tokens: int, candidates_per_sentence: int) -> "Capacity":
        """Limit the sentences so that a step has at most MAX_SCORES_PER_STEP candidates."""
        return cls(max_tokens, max(1, MAX_SCORES_PER_STEP // candidates_per_sentence))

    def divide(self, parts: int) -> "Capacity":
        return Capacity(max(1, self.max_tokens // parts), max(1, self.max_sentences // parts))


UNLIMITED = Capacity(1 << 62, 1 << 62)


class SearchBatch(NamedTuple):
    """Sentences for one call of beam search."""

    sources: Sequence[Sequence[NDArray[np.int32]]]
    """Source tokens with EOS, in groups: the search starts with the first, the others join when they fit."""
    indices: Indices = np.arange(0)
    """Position of each sentence in the list of texts."""
    constraints: Sequence[OutputConstraints] = ()
    """Constraints of each sentence; empty if no sentence has any."""
    capacity: Capacity = UNLIMITED
    """Limit on the sentences that are searched at the same time, if there are several groups."""

    @classmethod
    def from_padded(cls, source: Padded) -> "SearchBatch":
        rows = [
            row[:length].astype(np.int32)
            for row, length in zip(source.tokens.cpu().numpy(), source.lengths.tolist(), strict=True)
        ]
        return cls([rows], np.arange(len(rows)))

    def pad(self, device: torch.device) -> list[Padded]:
        """Return each group as a padded tensor."""
        return [pad(group).to(device) for group in self.sources]

    @property
    def required_tokens(self) -> Iterator[int]:
        """All tokens of prefixes."""
        return chain.from_iterable(constraint.prefix for constraint in self.constraints)


class EncodedTexts(NamedTuple):
    """Texts as token ids, with the limits and constraints of their outputs."""

    tokens: Ragged
    lengths: NDArray[np.int64]  # (text,) source tokens that are read, EOS included
    max_lengths: list[int]
    """Largest number of tokens of each output."""
    constraints: list[OutputConstraints]
    """Constraints of each output; empty if no output has any."""

    @classmethod
    def from_tokens(cls, sources: Sequence[Sequence[int]], constraints: Sequence[OutputConstraints]) -> "EncodedTexts":
        """Return sources that fit into the model, with the constraints of their outputs."""
        tokens = Ragged(sources)
        return cls(tokens, tokens.lengths + 1, [], list(constraints))

    def source(self, index: int) -> TokenIds:
        """Return the source tokens that are read, without EOS."""
        return self.tokens[index][: self.lengths[index] - 1]

    def batch(self, groups: Sequence[Indices], capacity: Capacity) -> SearchBatch:
        indices = np.concatenate(groups)
        return SearchBatch(
            [[append_eos(self.source(i)) for i in group] for group in groups],
            indices,
            [self.constraints[i] for i in indices] if self.constraints else (),
            capacity,
        )


def make_batches(lengths: NDArray[np.int64], order: Indices, capacity: Capacity, *, threads: int) -> list[Indices]:
    """Divide texts, given longest first, into batches of at most `capacity`, padding included."""
    batches = [
        part
        for batch in batch_by_tokens(lengths[:, None], order, capacity.max_tokens)
        for part in _split_batch(batch, capacity.max_sentences)
    ]
    if len(batches) < MIN_BATCHES_PER_THREAD * threads:  # otherwise some threads would be idle at the end
        equal = _equal_batches(order, lengths, -(-len(batches) // threads) * threads)
        if all(
            len(part) * lengths[part[0]] <= capacity.max_tokens and len(part) <= capacity.max_sentences
            for part in equal
        ):
            return equal
    return batches


def assign_to_threads(batches: list[Indices], lengths: NDArray[np.int64], threads: int) -> list[list[Indices]]:
    """Return the batches of each thread, in order; the next batch goes to the thread with the least work."""
    shares: list[list[Indices]] = [[] for _ in range(min(threads, len(batches)))]
    work = [0] * len(shares)
    for batch in batches:
        thread = work.index(min(work))
        shares[thread].append(batch)
        work[thread] += int(lengths[batch].sum() + STEP_COST_TOKENS * lengths[batch].max())
    return shares


def _split_batch(batch: Indices, max_sentences: int) -> Iterator[Indices]:
    for start in range(0, len(batch), max_sentences):
        yield batch[start : start + max_sentences]


def _equal_batches(order: Indices, lengths: NDArray[np.int64], count: int) -> list[Indices]:
    """Divide texts into `count` batches with about the same number of tokens, in the same order."""
    if not count:
        return []
    tokens_so_far = lengths[order].cumsum()
    cuts = np.searchsorted(tokens_so_far, tokens_so_far[-1] * np.arange(1, count) / count) + 1
    return [part for part in np.split(order, cuts) if len(part)]
