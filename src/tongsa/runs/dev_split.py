"""Dev set split off from the training pairs."""

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tongsa.data.array_files import ArrayFiles
from tongsa.data.prepared_folder import content_key
from tongsa.data.text_store import PairStore
from tongsa.interface import Task
from tongsa.runs.preparation import Preparation
from tongsa.runs.recipe import DataConfig

MAX_DEV_PAIRS: dict[Task, int] = {"seq2seq": 1_000, "language_model": 1_000, "classification": 10_000}
"""Maximum size of a dev set split off from train; translating takes longer than classifying."""
DEV_SPLIT_SEED = 1
"""Seed of the dev split: not that of the run, so that runs with different seeds have the same dev set."""
MIN_SOURCES_TO_SPLIT = 20
"""With fewer sources no dev set is split off: the model is validated on the training pairs."""


def train_dev_split(
    pairs: PairStore,
    dev_fraction: float,
    seed: int,
    max_dev: int,
    preparation: Preparation | None = None,
    both_directions_of: str | None = None,
) -> tuple[PairStore, PairStore]:
    """Split by a hash of the source: pairs with the same source stay together, and the order does not matter.

    Both parts are the same object if there are too few sources. `both_directions_of` is the tag of a corpus, or "":
    then a pair and its reverse in another corpus of the same size fall on the same side.
    """

    def fill(arrays: ArrayFiles) -> None:
        arrays.restore_progress()
        arrays.append("rows", _dev_rows(pairs, dev_fraction, seed, max_dev, both_directions_of))

    directions = () if both_directions_of is None else (both_directions_of,)
    key = content_key("split", pairs.key, dev_fraction, seed, max_dev, *directions)
    rows = (preparation or Preparation()).for_pairs(pairs).prepare(f"split-{key}", fill).read("rows", np.int64)
    if not len(rows):
        return pairs, pairs
    is_train = np.ones(len(pairs), dtype=bool)
    is_train[rows] = False
    return pairs.select(np.flatnonzero(is_train)), pairs.select(rows)


def split_corpora(
    stores: Sequence[PairStore], data: DataConfig, task: Task, preparation: Preparation
) -> tuple[list[PairStore], PairStore | None]:
    """Split a dev set off from the corpora; return what is left of each, and no dev set if none is large enough.

    If any corpus has dev files, only those with a `dev_fraction` are split; otherwise all are.
    """
    default = 0.0 if data.dev_files else data.dev_fraction
    fractions = [corpus.dev_fraction or default for corpus in data.corpora] or [default]
    max_dev = max(1, MAX_DEV_PAIRS[task] // max(1, sum(fraction > 0 for fraction in fractions)))
    train: list[PairStore] = []
    held_out: list[PairStore] = []
    for store, corpus, fraction in zip(stores, data.per_corpus, fractions, strict=True):
        tag = corpus.tag if data.corpora and task == "seq2seq" else None
        parts = store, store
        if fraction:
            parts = train_dev_split(store, fraction, DEV_SPLIT_SEED, max_dev, preparation, tag)
        train.append(parts[0])
        held_out += parts[1:] if parts[1] is not parts[0] else []
    return train, PairStore.concatenate(held_out) if held_out else None


def _dev_rows(
    pairs: PairStore, dev_fraction: float, seed: int, max_dev: int, both_directions_of: str | None
) -> NDArray[np.int64]:
    hashes = np.fromiter(_source_hashes(pairs, seed, both_directions_of), np.uint64, len(pairs))
    ascending = np.sort(hashes)  # np.unique takes several times the memory
    is_new = np.ones(len(ascending), dtype=bool)
    is_new[1:] = ascending[1:] != ascending[:-1]
    sources = int(np.count_nonzero(is_new))
    if sources < MIN_SOURCES_TO_SPLIT:
        return np.zeros(0, np.int64)
    count = max(1, min(max_dev, round(dev_fraction * sources), sources - 1))
    last = np.searchsorted(np.cumsum(is_new, dtype=np.int32), count)
    return np.flatnonzero(hashes <= ascending[last])


def _source_hashes(pairs: PairStore, seed: int, both_directions_of: str | None) -> Iterator[int]:
    """Yield the first 64 bits of the hash of each source, or of the target if there is no source.

    For both directions it is the hash of the text that comes first in the alphabet, without the tag.
    """
    prefix = f"{seed}\t".encode()
    for source, target in zip(pairs.sources, pairs.targets, strict=True):
        if both_directions_of is not None:
            source = min(source.removeprefix(f"{both_directions_of} "), target)
        yield int.from_bytes(hashlib.sha256(prefix + (source or target).encode()).digest()[:8])
