"""Growing arrays on disk: raw files of a folder, appended to in steps that survive a crash, read as memory maps."""

import io
import json
import mmap
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

PROGRESS_FILE = "progress.jsonl"


class ArrayFiles:
    """Named arrays of one folder; without a folder they stay in memory, and there is no progress to restore."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._streams: dict[str, BinaryIO] = {}

    def append(self, name: str, values: NDArray[Any] | bytes) -> None:
        if name not in self._streams:
            self._streams[name] = (self.folder / name).open("ab") if self.folder else io.BytesIO()
        self._streams[name].write(values if isinstance(values, bytes) else values.tobytes())

    def read(self, name: str, dtype: DTypeLike) -> NDArray[Any]:
        """Return an array that cannot be written to; empty if nothing was appended."""
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
                os.truncate(path, progress["sizes"].get(path.name, 0))
        return int(progress["count"])

    def _last_progress(self) -> dict[str, Any]:
        path = (self.folder or Path()) / PROGRESS_FILE
        lines = path.read_bytes().splitlines() if path.exists() else []
        for i in reversed(range(len(lines))):  # a crash may have cut the last line
            try:
                progress: dict[str, Any] = json.loads(lines[i])
            except ValueError:
                continue
            if all(self._size(name) >= size for name, size in progress["sizes"].items()):
                path.write_bytes(b"".join(line + b"\n" for line in lines[: i + 1]))
                return progress
        path.unlink(missing_ok=True)
        return {"count": 0, "sizes": {}}

    def _size(self, name: str) -> int:
        path = (self.folder or Path()) / name
        return path.stat().st_size if path.exists() else -1

    def close(self) -> None:
        """Close the files of a folder; arrays in memory stay readable."""
        if self.folder is not None:
            for stream in self._streams.values():
                stream.close()
            self._streams.clear()


def release_pages(array: NDArray[Any]) -> None:
    """Give the pages of a memory map back to the system, which keeps them in its page cache; else do nothing."""
    base: Any = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    if sys.platform != "win32" and base is not None:  # Windows has no such call
        base.madvise(mmap.MADV_DONTNEED)
