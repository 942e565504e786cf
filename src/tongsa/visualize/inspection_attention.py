"""Heads over many sentences: entropy, pattern and mean attention weight by relative offset.

A head is named after a pattern in each sentence (head_patterns.py). Over many sentences the name becomes a finding:
"diagonal in 47 of 50". Padding is cut off before anything is computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tongsa.batch import Batch
from tongsa.visualize import head_patterns
from tongsa.visualize.inspection_batch import Array, RecordedBatch
from tongsa.visualize.inspection_draws import Draws, summarize_draws
from tongsa.visualize.mechanism import UNMASKED, Mechanism

OFFSETS = {
    "encoder": range(-5, 6),
    "decoder": range(-11, 0),
    "cross": range(-5, 6),
    "hops": range(11),
    "slots": range(11),
}
"""Offsets from the query to the key.

In a decoder −1 is the token written last. In cross-attention 0 is the diagonal. A hop has no position, and slots that
are hops have no order: there the offset is the index of the key.
"""
UNTESTED = ("too_short", "fixed")
"""Results of sentences that cannot be tested."""


def relative_offsets(role: str, queries: int, keys: int) -> NDArray[np.int64]:  # (query, key)
    """Return the offset from each query to each key."""
    query, key = np.arange(queries)[:, None], np.arange(keys)[None, :]
    if role == "encoder":
        return key - query
    if role == "decoder":
        return key - 1 - query
    if role == "cross":
        return np.rint(key - query * (keys - 1) / max(queries - 1, 1)).astype(np.int64)
    return np.broadcast_to(key, (queries, keys))


@dataclass(frozen=True)
class SentenceHeads:
    """All heads of one role over one sentence."""

    patterns: Mapping[str, list[str]]
    """Mode → name of each head; the mode "mean" is that of the mean weights. The spread has no pattern."""
    entropy: Draws  # (head,)
    weights: Draws  # (head, offset), NaN where the sentence has no such offset
    cells: NDArray[np.int64]  # (offset,)
    """Number of query-key pairs with each offset."""


def summarize_sentence(role: str, draws: Sequence[Array], mechanism: Mechanism) -> SentenceHeads:
    """Return the statistics of one sentence: weights (head, query, key) without dropout, then of each draw."""
    weights = summarize_draws(draws)
    _, queries, keys = weights.off.shape
    mask = mechanism.allowed_cells(queries, keys)
    patterns = head_patterns.pattern_masks(role, queries, keys)
    offsets = np.where(mask, relative_offsets(role, queries, keys), np.iinfo(np.int64).max)
    cells = np.stack([offsets == offset for offset in OFFSETS[role]])  # (offset, query, key)
    return SentenceHeads(
        patterns={
            mode: [head_patterns.summarize_head(head, mask, patterns).pattern for head in getattr(weights, mode)]
            for mode in ("off", "draw", "mean")
        },
        entropy=summarize_draws([mean_entropy(heads, mask) for heads in draws]),
        weights=Draws(*(mean_by_offset(heads, cells) for heads in weights)),
        cells=cells.sum(axis=(1, 2)),
    )


def mean_entropy(heads: Array, mask: head_patterns.Mask) -> Array:  # (head,)
    """Return the mean entropy in bits of the rows that have more than one key."""
    rows = heads[:, mask.sum(axis=1) > 1]  # (head, query, key)
    if not rows.shape[1]:
        return np.zeros(len(heads))
    entropy: Array = -(rows * np.log2(np.where(rows > 0, rows, 1.0))).sum(axis=2).mean(axis=1)
    return np.maximum(entropy, 0.0)  # not −0


def mean_by_offset(heads: Array, cells: NDArray[np.bool_]) -> Array:  # (head, offset)
    """Return the mean over the cells of each offset."""
    counts = cells.sum(axis=(1, 2))
    sums: Array = np.einsum("hqk,oqk->ho", heads, cells.astype(np.float64))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


@dataclass
class RoleStatistics:
    """All heads of one role over all sentences, in their order."""

    role: str
    layers: int
    heads: int
    """Heads of each layer."""
    sentences: list[SentenceHeads] = field(default_factory=list)

    def mean_entropy(self) -> Draws:  # (head,)
        """Return the mean over the sentences; the spread is the mean of the sentences' spreads."""
        return Draws(*(np.mean([getattr(s.entropy, mode) for s in self.sentences], axis=0) for mode in Draws._fields))

    def mean_weights(self) -> Draws:  # (head, offset)
        """Return the mean over all cells of all sentences, so that long sentences count more."""
        cells = np.stack([sentence.cells for sentence in self.sentences])[:, None]  # (sentence, 1, offset)
        total = cells.sum(axis=0)
        means = []
        for mode in Draws._fields:
            weights = np.stack([getattr(sentence.weights, mode) for sentence in self.sentences])
            sums = np.nansum(weights * cells, axis=0)
            means.append(np.where(total > 0, sums / np.maximum(total, 1), np.nan))
        return Draws(*means)

    def findings(self, mode: str) -> list[dict[str, Any]]:
        """Return the pattern of each head over all sentences, in how many it holds, and how many cannot be tested."""
        results = []
        for head in range(self.layers * self.heads):
            names = [sentence.patterns[mode][head] for sentence in self.sentences]
            untested = sum(name in UNTESTED for name in names)
            results.append(head_patterns.common_pattern(names) | {"untested": untested})
        return results


class HeadStatistics:
    """Statistics of all roles, filled batch by batch."""

    def __init__(self, mechanisms: Mapping[str, Mechanism]) -> None:
        """`mechanisms` has the mask of each role."""
        self.mechanisms = mechanisms
        self.roles: dict[str, RoleStatistics] = {}

    def add(self, recordings: Sequence[RecordedBatch]) -> None:
        """Add a batch: the recording without dropout, then those of the draws."""
        first = recordings[0]
        for role, layers in first.weights.items():
            key = "slots" if role == "cross" and "hops" in first.weights else role
            stacked = [np.concatenate(recording.weights[role], axis=1) for recording in recordings]
            if role == "hops":  # each hop is a head with one query
                stacked = [weights.swapaxes(1, 2) for weights in stacked]
            heads = stacked[0].shape[1] // len(layers)
            statistics = self.roles.setdefault(key, RoleStatistics(key, len(layers), heads))
            for row, (queries, keys) in enumerate(attention_lengths(role, first)):
                draws = [weights[row, :, :queries, :keys] for weights in stacked]
                statistics.sentences.append(summarize_sentence(key, draws, self.mechanisms.get(role, UNMASKED)))


def attention_lengths(role: str, recording: RecordedBatch) -> list[tuple[int, int]]:
    """Return the number of queries and of keys of each sentence, without padding."""
    batch: Batch = recording.batch
    source, target = batch.source.lengths.tolist(), batch.decoder_input.lengths.tolist()
    if role == "encoder":
        return list(zip(source, source, strict=True))
    if role == "decoder":
        return list(zip(target, target, strict=True))
    if role == "cross":
        return list(zip(target, recording.slot_mask.sum(axis=1).tolist(), strict=True))
    return [(1, length) for length in source]
