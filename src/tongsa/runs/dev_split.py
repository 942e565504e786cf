"""Dev set split off from the training pairs."""

import hashlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tongsa.data.array_files import ArrayFiles
from tongsa.data.prepared_folder import content_key
from tongsa.data.text_store import PairStore
from tongsa.interface import Task
from tongsa.runs.preparation import Preparation

MAX_DEV_PAIRS: dict[Task, int] = {"seq2seq": 1_000, "language_model": 1_000, "classification": 10_000}
"""Maximum size of a dev set split off from train; translating takes longer than classifying."""
DEV_SPLIT_SEED = 1
"""Seed of the dev split: not that of the run, so that runs with different seeds have the same dev set."""
MIN_SOURCES_TO_SPLIT = 20
"""With fewer sources no dev set is split off: the model is validated on the training pairs."""


def train_dev_split(
    pairs: PairStore, dev_fraction: float, seed: int, max_dev: int, preparation: Preparation | None = None
) -> tuple[PairStore, PairStore]:
    """Split by a hash of the source: pairs with the same source stay together, and the order does not matter.

    Both parts are the same object if there are too few sources.
    """

    def fill(arrays: ArrayFiles) -> None:
        arrays.restore_progress()
        arrays.append("rows", _dev_rows(pairs, dev_fraction, seed, max_dev))

    key = content_key("split", pairs.key, dev_fraction, seed, max_dev)
    rows = (preparation or Preparation()).for_pairs(pairs).prepare(f"split-{key}", fill).read("rows", np.int64)
    if not len(rows):
        return pairs, pairs
    return pairs.select(np.delete(np.arange(len(pairs)), rows)), pairs.select(rows)


def _dev_rows(pairs: PairStore, dev_fraction: float, seed: int, max_dev: int) -> NDArray[np.int64]:
    hashes = np.fromiter(_source_hashes(pairs, seed), np.uint64, len(pairs))
    sources = np.unique(hashes)
    if len(sources) < MIN_SOURCES_TO_SPLIT:
        return np.zeros(0, np.int64)
    count = max(1, min(max_dev, round(dev_fraction * len(sources)), len(sources) - 1))
    return np.flatnonzero(hashes <= sources[count - 1])


def _source_hashes(pairs: PairStore, seed: int) -> Iterator[int]:
    """Yield the first 64 bits of the hash of each source, or of the target if there is no source."""
    prefix = f"{seed}\t".encode()
    for source, target in zip(pairs.sources, pairs.targets, strict=True):
        yield int.from_bytes(hashlib.sha256(prefix + (source or target).encode()).digest()[:8])
