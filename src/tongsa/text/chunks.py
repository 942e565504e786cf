"""An input of any length, some lines at a time: what was read before can be forgotten, and where it ended is known."""

import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

from tongsa.text.corpus import CorpusError, decoded, unended, unreadable

LINES, BYTES = 2048, 2**18
"""A chunk ends where it has so many lines or bytes: enough to sort by length, little enough to do again."""
BLOCK = 2**20


@dataclass(frozen=True)
class Chunk:
    """Whole lines that follow each other."""

    name: str
    """Of the input, for sentences about it."""
    first: int
    """How many lines stand before it."""
    raw: bytes
    """As it stands in the input, unpacked."""

    def __len__(self) -> int:
        return self.raw.count(b"\n") + (not self.raw.endswith(b"\n"))

    @property
    def lines(self) -> list[str]:
        """Split at line feeds only, and without their ends, as a corpus is read."""
        found = enumerate(io.BytesIO(self.raw), start=self.first)
        return [decoded(unended(raw, number), f"{self.name}:{number + 1}") for number, raw in found]


class ChunkReader:
    """A file, unpacked if its name ends in .gz, or standard input ("-"), from its beginning to its end."""

    def __init__(self, source: str) -> None:
        self.is_file = source != "-"
        self.packed = self.is_file and Path(source).suffix.lower() == ".gz"
        self.name = source if self.is_file else "<stdin>"
        self.line = 0
        with self._explained():
            self.file = Path(source).open("rb") if self.is_file else sys.stdin.buffer  # noqa: SIM115 - in __exit__
            self.size = _size(self.file)
        """Bytes on the disk, where that can be known."""
        self.stream = cast(BinaryIO, gzip.GzipFile(fileobj=self.file)) if self.packed else self.file

    @property
    def reached(self) -> int:
        """How much of `size` is read."""
        return self.file.tell() if self.size is not None else 0

    def passed(self, count: int, lines: int) -> Iterator[bytes]:
        """The first so many bytes, which hold so many lines, block by block; fewer if the input has fewer."""
        with self._explained():
            while count and (block := self.stream.read(min(BLOCK, count))):
                count -= len(block)
                yield block
        self.line = lines

    def jump(self, start: int, lines: int) -> None:
        """To this byte of a file that is not packed, behind so many lines."""
        self.stream.seek(start)
        self.line = lines

    def chunks(self, lines: int = LINES) -> Iterator[Chunk]:
        """What is left. The same place gives the same chunks, whoever reads and however often it was begun."""
        while raw := self._together(lines):
            chunk = Chunk(self.name, self.line, raw)
            if not self.line and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise CorpusError(f"{self.name}:1: is UTF-16; convert it: iconv -f UTF-16 -t UTF-8")
            self.line += len(chunk)
            yield chunk

    def _together(self, lines: int) -> bytes:
        found, size = list[bytes](), 0
        with self._explained():
            while len(found) < lines and size < BYTES and (raw := self.stream.readline()):
                found.append(raw)
                size += len(raw)
        return b"".join(found)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            what = f"{self.name}: damaged gzip behind line {self.line:,} ({error})"
            raise CorpusError(f"{what}; copy it again and test it with gzip -t") from None
        except OSError as error:
            raise CorpusError(unreadable(Path(self.name), error)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_file:
            self.file.close()


def _size(file: BinaryIO) -> int | None:
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None
