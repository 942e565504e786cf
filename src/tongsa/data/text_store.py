"""Pairs of texts without a Python object for each: UTF-8 bytes and offsets, in memory or in files."""

import hashlib
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tongsa.data.array_files import MAX_SPAN_RATIO, Array, ArrayFiles, index_dtype, read_bounds, read_bytes
from tongsa.data.ledger import Pair
from tongsa.data.prepared_folder import content_key

Rows = NDArray[np.integer[Any]]
BLOCK_ROWS = 1024
"""Number of texts that are decoded together."""


@dataclass(frozen=True, eq=False)
class TextArray:
    """Texts as one array of bytes; text i lies between offsets i and i + 1."""

    data: Array
    offsets: Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def text(self, row: int) -> str:
        start, end = self.offsets[row : row + 2].tolist()
        return read_bytes(self.data, start, end).decode()

    def texts(self, rows: Rows) -> list[str]:
        """Decode some texts."""
        if not len(rows):
            return []
        starts, ends = read_bounds(self.offsets, rows)
        first, last = int(starts.min()), int(ends.max())
        if last - first > MAX_SPAN_RATIO * int((ends - starts).sum()) + 1024:
            bounds = zip(starts.tolist(), ends.tolist(), strict=True)
            return [read_bytes(self.data, start, end).decode() for start, end in bounds]
        span = read_bytes(self.data, first, last)
        bounds = zip((starts - first).tolist(), (ends - first).tolist(), strict=True)
        return [span[start:end].decode() for start, end in bounds]


@dataclass(frozen=True, eq=False)
class StoredPairs:
    """The pairs of one file, or of two parallel files, in the order of their lines."""

    sources: TextArray
    targets: TextArray
    lines: Array
    """Line number of each pair."""
    files: Sequence[tuple[int, str]]
    """First row and name of each file; one entry unless the reader names several."""
    key: str = ""
    """Hash of content and format; "" for pairs in memory only."""

    def file_name(self, row: int) -> str:
        return self.files[bisect(self.files, row, key=lambda entry: entry[0]) - 1][1]


def write_pairs(
    pairs: Iterable[Pair], arrays: ArrayFiles, report: Callable[[int, int], None] = lambda *_: None
) -> list[tuple[int, str]]:
    """Append all pairs to arrays, block by block; return the first row and the name of each file.

    `report` is called with the numbers of pairs and of bytes so far.
    """
    files: list[tuple[int, str]] = []
    count, ends = 0, {"source": 0, "target": 0}
    for side in ends:
        arrays.append(f"{side}.offsets", np.zeros(1, np.int64))
    for block in _blocks(pairs):
        for row, pair in enumerate(block, start=count):
            if not files or files[-1][1] != pair.file:
                files.append((row, pair.file))
        count += len(block)
        for side, texts in (("source", [pair.source for pair in block]), ("target", [pair.target for pair in block])):
            encoded = [text.encode() for text in texts]
            arrays.append(f"{side}.text", b"".join(encoded))
            offsets = ends[side] + np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
            arrays.append(f"{side}.offsets", offsets)
            ends[side] = int(offsets[-1])
        arrays.append("lines", np.fromiter((pair.line for pair in block), np.int64, len(block)))
        report(count, sum(ends.values()))
    return files


def _blocks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    block: list[Pair] = []
    for pair in pairs:
        block.append(pair)
        if len(block) == BLOCK_ROWS:
            yield block
            block = []
    if block:
        yield block


def open_pairs(arrays: ArrayFiles, files: Sequence[tuple[int, str]], key: str = "") -> StoredPairs:
    """Open arrays that `write_pairs` has written."""
    source, target = (
        TextArray(arrays.open_array(f"{side}.text", np.uint8), arrays.open_array(f"{side}.offsets", np.int64))
        for side in ("source", "target")
    )
    return StoredPairs(source, target, arrays.open_array("lines", np.int64), files, key)


class PairStore(Sequence[Pair]):
    """A sequence of pairs, decoded when they are read: all pairs of some files, or a selection of rows."""

    def __init__(self, parts: Sequence[StoredPairs], rows: Rows | None = None) -> None:
        self.parts = [part for part in parts if len(part.sources)]
        self.starts = np.cumsum([0, *(len(part.sources) for part in self.parts)])
        self.rows = None if rows is None else rows.astype(index_dtype(int(self.starts[-1])), copy=False)
        """Rows of the concatenated parts; None for all."""

    @classmethod
    def from_pairs(cls, pairs: Iterable[Pair]) -> "PairStore":
        arrays = ArrayFiles()
        files = write_pairs(pairs, arrays)
        return cls([open_pairs(arrays, files)])

    @classmethod
    def concatenate(cls, stores: Sequence["PairStore"]) -> "PairStore":
        """Return the pairs of all stores, one after the other."""
        if len(stores) == 1:
            return stores[0]
        parts = [part for store in stores for part in store.parts]
        if all(store.rows is None for store in stores):
            return cls(parts)
        starts = np.cumsum([0, *(int(store.starts[-1]) for store in stores)])
        rows = [store.absolute(np.arange(len(store))) + start for store, start in zip(stores, starts, strict=False)]
        return cls(parts, np.concatenate(rows))

    def __len__(self) -> int:
        return int(self.starts[-1]) if self.rows is None else len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> "PairStore": ...
    def __getitem__(self, index: int | slice) -> "Pair | PairStore":
        if isinstance(index, slice):
            return self.select(np.arange(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        row = index % len(self) if self.rows is None else int(self.rows[index])
        owner = int(self.starts.searchsorted(row, side="right")) - 1
        part, own_row = self.parts[owner], row - int(self.starts[owner])
        source, target = part.sources.text(own_row), part.targets.text(own_row)
        return Pair(source, target, part.file_name(own_row), int(part.lines[own_row : own_row + 1][0]))

    def __iter__(self) -> Iterator[Pair]:
        for rows in self.row_blocks():
            yield from self._read(rows)

    def select(self, rows: Rows) -> "PairStore":
        """Return the pairs with these indices, in this order."""
        return PairStore(self.parts, self.absolute(rows))

    @cached_property
    def key(self) -> str:
        """Hash of the pairs; "" if some are in memory only."""
        keys = [part.key for part in self.parts]
        if not all(keys):
            return ""
        rows = hashlib.sha256()
        for block in self.row_blocks() if self.rows is not None else ():
            rows.update(block.tobytes())
        return content_key(keys, "" if self.rows is None else rows.hexdigest())

    @property
    def sources(self) -> "TextView":
        return TextView(self, "sources")

    @property
    def targets(self) -> "TextView":
        return TextView(self, "targets")

    @property
    def first_lines(self) -> list[Pair]:
        """The pairs of line 1 of each file."""
        pairs: list[Pair] = []
        for rows in self.row_blocks():
            lines = np.concatenate([part.lines[own_rows] for part, own_rows in self.by_part(rows)])
            pairs += self._read(rows[lines == 1])
        return pairs

    def absolute(self, rows: Rows) -> Rows:
        """Return the rows of the concatenated parts for indices of this store."""
        return rows if self.rows is None else self.rows[rows].astype(np.int64)

    def row_blocks(self) -> Iterator[Rows]:
        """Yield the rows of the parts in blocks."""
        for start in range(0, len(self), BLOCK_ROWS):
            yield self.absolute(np.arange(start, min(start + BLOCK_ROWS, len(self))))

    def by_part(self, rows: Rows) -> Iterator[tuple[StoredPairs, Rows]]:
        """Yield runs of rows that belong to one part, relative to its start."""
        if not len(rows):
            return
        owners = np.searchsorted(self.starts, rows, side="right") - 1
        bounds = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(rows)]
        for i, start in enumerate(bounds[:-1]):
            owner = int(owners[start])
            yield self.parts[owner], rows[start : bounds[i + 1]] - self.starts[owner]

    def _read(self, rows: Rows) -> Iterator[Pair]:
        for part, own_rows in self.by_part(rows):
            sources, targets = part.sources.texts(own_rows), part.targets.texts(own_rows)
            lines = part.lines[own_rows].tolist()
            if len(part.files) == 1:
                file = part.files[0][1]
                for source, target, line in zip(sources, targets, lines, strict=True):
                    yield Pair(source, target, file, line)
                continue
            for row, source, target, line in zip(own_rows.tolist(), sources, targets, lines, strict=True):
                yield Pair(source, target, part.file_name(row), line)


class TextView(Sequence[str]):
    """One side of a store as a sequence of texts."""

    def __init__(self, pairs: PairStore, side: str) -> None:
        self.pairs, self.side = pairs, side

    def __len__(self) -> int:
        return len(self.pairs)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return self.take(np.arange(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self.take(np.array([index % len(self)]))[0]

    def __iter__(self) -> Iterator[str]:
        for rows in self.pairs.row_blocks():
            yield from self._read(rows)

    def take(self, rows: Rows) -> list[str]:
        """Return the texts with these indices."""
        return self._read(self.pairs.absolute(rows))

    def _read(self, rows: Rows) -> list[str]:
        return [
            text
            for part, own_rows in self.pairs.by_part(rows)
            for text in (part.sources if self.side == "sources" else part.targets).texts(own_rows)
        ]
