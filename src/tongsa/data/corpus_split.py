"""Split a corpus into train, dev and test: pairs with the same source, target or document stay on one side.

Each pair is a node; equal keys join nodes (union-find). Whole groups are drawn in a seeded order: a group goes to test
or dev if it still fits there, otherwise to train. Memory: the texts, and four integers per pair.
"""

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class Split:
    """Rows of each part, and the leak that a split of single lines would have had."""

    train: Rows
    dev: Rows
    test: Rows
    largest_group: int
    random_leak: int
    """Dev and test pairs of a random split of the same sizes with a key that is also in train."""


def text_keys(texts: Iterable[str], count: int) -> Keys:
    """Return 64 bits of a hash of the letters and digits of each text, without case."""

    def key(text: str) -> int:
        letters = "".join(filter(str.isalnum, text.casefold())) or text
        return int.from_bytes(hashlib.sha256(letters.encode(errors="surrogatepass")).digest()[:8])

    return np.fromiter(map(key, texts), np.uint64, count)


def split_rows(keys: Sequence[Keys], dev: int, test: int, seed: int) -> Split:
    """Split rows by several arrays of keys; rows that share a key in any of them stay together."""
    count = len(keys[0])
    groups = _groups(keys, count)
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(groups[order]) != 0]) if count else np.zeros(0, np.int64)
    members = np.split(order, starts[1:])
    left = {"test": test, "dev": dev}
    parts: dict[str, list[Rows]] = {"test": [], "dev": []}
    generator = np.random.default_rng(seed)
    for index in generator.permutation(len(members) if count else 0):
        rows = members[index]
        name = next((name for name in left if len(rows) <= left[name]), "")
        if name:
            left[name] -= len(rows)
            parts[name].append(rows)
    chosen = {name: np.sort(np.concatenate([*rows, np.zeros(0, np.int64)])) for name, rows in parts.items()}
    train = np.setdiff1d(np.arange(count), np.concatenate([chosen["dev"], chosen["test"]]))
    shuffled = generator.permutation(count)
    held_out = len(chosen["dev"]) + len(chosen["test"])
    leak = _leaking(keys, shuffled[:held_out], shuffled[held_out:])
    largest = max(map(len, members), default=0) if count else 0
    return Split(train, chosen["dev"], chosen["test"], largest, leak)


def _groups(keys: Sequence[Keys], count: int) -> Rows:
    """Return the number of the group of each row: the smallest row in it."""
    parent = array("q", range(count))

    def find(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]  # path halving
            row = parent[row]
        return row

    for column in keys:
        order = np.argsort(column, kind="stable")
        same = np.flatnonzero(np.diff(column[order]) == 0)
        for first, second in zip(order[same].tolist(), order[same + 1].tolist(), strict=True):
            low, high = sorted((find(first), find(second)))
            parent[high] = low
    return np.fromiter(map(find, range(count)), np.int64, count)


def _leaking(keys: Sequence[Keys], held_out: Rows, train: Rows) -> int:
    is_leaking = np.zeros(len(held_out), dtype=bool)
    for column in keys:
        is_leaking |= np.isin(column[held_out], column[train])
    return int(is_leaking.sum())
