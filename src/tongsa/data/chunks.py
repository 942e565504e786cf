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

from tongsa.data.corpus import CorpusError, decode_line, strip_line_end, unreadable_message

MAX_CHUNK_LINES, MAX_CHUNK_BYTES = 2048, 2**18
"""A chunk ends where it has so many lines or bytes: enough to sort by length, little enough to do again."""
BLOCK_BYTES = 2**20


@dataclass(frozen=True)
class Chunk:
    """Whole lines that follow each other."""

    name: str
    """Of the input, for sentences about it."""
    first_line: int
    """How many lines stand before it."""
    raw: bytes
    """As it stands in the input, unpacked."""

    def __len__(self) -> int:
        return self.raw.count(b"\n") + (not self.raw.endswith(b"\n"))

    @property
    def lines(self) -> list[str]:
        """Split at line feeds only, and without their ends, as a corpus is read."""
        found = enumerate(io.BytesIO(self.raw), start=self.first_line)
        return [decode_line(strip_line_end(raw, number), f"{self.name}:{number + 1}") for number, raw in found]


class ChunkReader:
    """A file, unpacked if its name ends in .gz, or standard input ("-"), from its beginning to its end."""

    def __init__(self, source: str) -> None:
        self.is_file = source != "-"
        self.is_gzip = self.is_file and Path(source).suffix.lower() == ".gz"
        self.name = source if self.is_file else "<stdin>"
        self.lines_read = 0
        with self._translate_errors():
            self.file = Path(source).open("rb") if self.is_file else sys.stdin.buffer  # noqa: SIM115 - in __exit__
            self.total_bytes = _file_size(self.file)
        """Bytes on the disk, where that can be known."""
        self.stream = cast(BinaryIO, gzip.GzipFile(fileobj=self.file)) if self.is_gzip else self.file

    @property
    def bytes_read(self) -> int:
        """How much of `size` is read."""
        return self.file.tell() if self.total_bytes is not None else 0

    def read_prefix(self, byte_count: int, line_count: int) -> Iterator[bytes]:
        """The first so many bytes, which hold so many lines, block by block; fewer if the input has fewer."""
        with self._translate_errors():
            while byte_count and (block := self.stream.read(min(BLOCK_BYTES, byte_count))):
                byte_count -= len(block)
                yield block
        self.lines_read = line_count

    def seek(self, byte_offset: int, line_count: int) -> None:
        """To this byte of a file that is not packed, behind so many lines."""
        self.stream.seek(byte_offset)
        self.lines_read = line_count

    def chunks(self, max_lines: int = MAX_CHUNK_LINES) -> Iterator[Chunk]:
        """What is left. The same place gives the same chunks, whoever reads and however often it was begun."""
        while raw := self._read_lines(max_lines):
            chunk = Chunk(self.name, self.lines_read, raw)
            if not self.lines_read and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise CorpusError(f"{self.name}:1: is UTF-16; convert it: iconv -f UTF-16 -t UTF-8")
            self.lines_read += len(chunk)
            yield chunk

    def _read_lines(self, max_lines: int) -> bytes:
        found, size = list[bytes](), 0
        with self._translate_errors():
            while len(found) < max_lines and size < MAX_CHUNK_BYTES and (raw := self.stream.readline()):
                found.append(raw)
                size += len(raw)
        return b"".join(found)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            what = f"{self.name}: damaged gzip behind line {self.lines_read:,} ({error})"
            raise CorpusError(f"{what}; copy it again and test it with gzip -t") from None
        except OSError as error:
            raise CorpusError(unreadable_message(Path(self.name), error)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.is_file:
            self.file.close()


def _file_size(file: BinaryIO) -> int | None:
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None
