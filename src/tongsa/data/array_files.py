"""Growing arrays on disk: raw files of a folder, appended to in steps that survive a crash.

Large arrays are read in pieces, as they are needed. The pages of a memory map would count as memory of the process:
each text that is read makes 64 KiB of the file resident.
"""

import errno
import io
import json
import mmap
import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tongsa import storage, system
from tongsa.bounded_files import MalformedTextError, is_file_name, parse_json, read_lines

PROGRESS_FILE = "progress.jsonl"
MAX_PROGRESS_BYTES = 64 << 20
"""Size of the record of progress: about 200 bytes for each block."""
MAX_SPAN_RATIO, MIN_SPAN = 4, 1024
"""Values are read in one piece if there are at most this many times as many between the first and the last, or few."""


class FileArray:
    """Array in a file that is read piece by piece: only the pieces are in memory."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self.path, self.dtype = path, np.dtype(dtype)
        self._length = path.stat().st_size // self.dtype.itemsize
        file = path.open("rb", buffering=0)
        self._fd = file.fileno()
        weakref.finalize(self, file.close)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, part: slice | NDArray[np.integer[Any]]) -> NDArray[Any]:
        """Return the values of a range, without a step, or those with some indices."""
        if isinstance(part, slice):
            start, end, _ = part.indices(self._length)
            return np.frombuffer(self.read_bytes(start, end), self.dtype)
        if not len(part):
            return np.zeros(0, self.dtype)
        first, last = int(part.min()), int(part.max())
        if last - first <= MAX_SPAN_RATIO * len(part) + MIN_SPAN:
            values: NDArray[Any] = self[first : last + 1][part - first]
            return values
        return np.concatenate([self[index : index + 1] for index in part.tolist()])

    def read_bytes(self, start: int, end: int) -> bytes:
        size = self.dtype.itemsize
        content = system.read_at(self._fd, (end - start) * size, start * size)
        if len(content) < (end - start) * size:
            raise OSError(errno.EIO, "is shorter than when it was opened", str(self.path))
        return content


Array = NDArray[Any] | FileArray


def read_bytes(array: Array, start: int, end: int) -> bytes:
    return array.read_bytes(start, end) if isinstance(array, FileArray) else array[start:end].tobytes()


def read_bounds(offsets: Array, rows: NDArray[np.integer[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return where some sequences start and end in the array of all; sequence i lies between offsets i and i + 1."""
    first, last = int(rows.min()), int(rows.max())
    if last - first <= MAX_SPAN_RATIO * len(rows) + MIN_SPAN:
        span, indices = offsets[first : last + 2], rows - first
        return span[indices], span[indices + 1]
    bounds = np.array([offsets[row : row + 2] for row in rows.tolist()])
    return bounds[:, 0], bounds[:, 1]


def index_dtype(count: int) -> type[np.integer[Any]]:
    """Return the dtype of indices below `count`: 4 bytes if they are enough, because a corpus has millions of pairs."""
    return np.int32 if count <= np.iinfo(np.int32).max else np.int64


class ArrayFiles:
    """Named arrays of one folder; without a folder they stay in memory, and there is no progress to restore."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._streams: dict[str, BinaryIO] = {}

    def append(self, name: str, values: NDArray[Any] | bytes) -> None:
        if name not in self._streams:
            self._streams[name] = (self.folder / name).open("ab") if self.folder else io.BytesIO()
        self._streams[name].write(values if isinstance(values, bytes) else values.tobytes())

    def open_array(self, name: str, dtype: DTypeLike) -> Array:
        """Return an array whose values stay in its file; in memory if there is none."""
        path = (self.folder or Path()) / name
        return FileArray(path, dtype) if self.folder is not None and path.exists() else self.read(name, dtype)

    def read(self, name: str, dtype: DTypeLike) -> NDArray[Any]:
        """Return an array that cannot be written to, a memory map if it is in a file; empty if nothing was appended."""
        if self.folder is None:
            stream = self._streams.get(name)
            return np.frombuffer(stream.getvalue() if isinstance(stream, io.BytesIO) else b"", dtype)
        path = self.folder / name
        if not path.exists() or not path.stat().st_size:
            return np.zeros(0, dtype)
        with path.open("rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype)

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a text that was appended."""
        if self.folder is None:
            yield from io.BytesIO(self.read(name, np.uint8).tobytes())
        elif (self.folder / name).exists():
            with (self.folder / name).open("rb") as file:
                yield from file

    def save_progress(self, count: int) -> None:
        """Record that the first `count` items are in the files: data to disk first, then the line that counts them."""
        if self.folder is None:
            return
        for stream in self._streams.values():
            stream.flush()
            os.fsync(stream.fileno())
        sizes = {path.name: path.stat().st_size for path in self.folder.iterdir() if path.name != PROGRESS_FILE}
        with (self.folder / PROGRESS_FILE).open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps({"count": count, "sizes": sizes}) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def restore_progress(self) -> int:
        """Cut the files back to the last recorded progress and return its count; without one, to nothing and 0."""
        if self.folder is None:
            return 0
        progress = self._last_progress()
        for path in self.folder.iterdir():
            if path.name != PROGRESS_FILE:
                _remove_unless_regular(path)
                if path.exists():
                    os.truncate(path, progress["sizes"].get(path.name, 0))
        return int(progress["count"])

    def _last_progress(self) -> dict[str, Any]:
        path = (self.folder or Path()) / PROGRESS_FILE
        _remove_unless_regular(path)
        lines = list(read_lines(path, MAX_PROGRESS_BYTES)) if path.exists() else []
        for i in reversed(range(len(lines))):  # a crash may have cut the last line
            progress = _parse_progress(lines[i])
            if progress and all(self._size(name) >= size for name, size in progress["sizes"].items()):
                storage.write_text(path, "".join(f"{line}\n" for line in lines[: i + 1]))
                return progress
        path.unlink(missing_ok=True)
        return {"count": 0, "sizes": {}}

    def _size(self, name: str) -> int:
        path = (self.folder or Path()) / name
        return path.stat().st_size if path.is_file() and not path.is_symlink() else -1

    def close(self) -> None:
        """Close the files of a folder; arrays in memory stay readable."""
        if self.folder is not None:
            for stream in self._streams.values():
                stream.close()
            self._streams.clear()


def _parse_progress(line: str) -> dict[str, Any] | None:
    """Return the progress of a line; None if the line is damaged."""
    try:
        progress = parse_json(line)
        sizes = progress["sizes"]
        numbers = [progress["count"], *sizes.values()]
    except (MalformedTextError, KeyError, TypeError, AttributeError):
        return None
    is_valid = all(map(is_file_name, sizes)) and all(type(number) is int and number >= 0 for number in numbers)
    return progress if is_valid else None


def _remove_unless_regular(path: Path) -> None:
    """Remove a link, a pipe or a folder where a file is written: it would lead out of the folder, or wait."""
    if path.is_symlink() or not path.is_file():
        storage.remove(path)
