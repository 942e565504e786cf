"""Streaming input in chunks of whole lines, with byte and line offsets so that reading can be resumed."""

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

from tongsa.data.compression import unreadable_message
from tongsa.data.corpus import CorpusError, decode_line, standard_input
from tongsa.data.source_file import strip_line_end

MAX_CHUNK_LINES, MAX_CHUNK_BYTES = 2048, 2**18
"""Size limits of a chunk: large enough to sort by length, small enough to translate again after a crash."""
BLOCK_BYTES = 2**20


@dataclass(frozen=True)
class Chunk:
    """Consecutive whole lines of an input."""

    name: str
    """Name of the input, for messages."""
    first_line: int
    """Number of lines before this chunk."""
    raw: bytes
    """Bytes as in the (decompressed) input."""

    def __len__(self) -> int:
        return self.raw.count(b"\n") + (not self.raw.endswith(b"\n"))

    @property
    def lines(self) -> list[str]:
        """Decoded lines without line ends, split at line feeds only, as `data.corpus` does."""
        raw_lines = enumerate(io.BytesIO(self.raw), start=self.first_line)
        return [decode_line(strip_line_end(raw, index), f"{self.name}:{index + 1}") for index, raw in raw_lines]


class ChunkReader:
    """Reader of a file (decompressed if its name ends in .gz) or of standard input ("-")."""

    def __init__(self, source: str) -> None:
        self.is_file = source != "-"
        self.is_gzip = self.is_file and Path(source).suffix.lower() == ".gz"
        self.name = source if self.is_file else "<stdin>"
        self.lines_read = 0
        with self._translate_errors():
            self.file = Path(source).open("rb") if self.is_file else standard_input()  # noqa: SIM115 - in __exit__
            self.total_bytes = _file_size(self.file)
        """Size of the file on disk, None for a stream."""
        self.stream = cast(BinaryIO, gzip.GzipFile(fileobj=self.file)) if self.is_gzip else self.file

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, of `total_bytes`; 0 for a stream."""
        return self.file.tell() if self.total_bytes is not None else 0

    def read_prefix(self, byte_count: int, line_count: int) -> Iterator[bytes]:
        """Yield the first bytes of the input in blocks and count their lines as read; stop early at its end."""
        with self._translate_errors():
            while byte_count and (block := self.stream.read(min(BLOCK_BYTES, byte_count))):
                byte_count -= len(block)
                yield block
        self.lines_read = line_count

    def seek(self, byte_offset: int, line_count: int) -> None:
        """Move to a byte offset of an uncompressed file, after `line_count` lines."""
        self.stream.seek(byte_offset)
        self.lines_read = line_count

    def chunks(self, max_lines: int = MAX_CHUNK_LINES) -> Iterator[Chunk]:
        """Yield the rest of the input. Chunk boundaries depend on the start offset only."""
        while raw := self._read_lines(max_lines):
            chunk = Chunk(self.name, self.lines_read, raw)
            if not self.lines_read and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise CorpusError(f"{self.name}:1: UTF-16. Convert the file: iconv -f UTF-16 -t UTF-8")
            self.lines_read += len(chunk)
            yield chunk

    def _read_lines(self, max_lines: int) -> bytes:
        lines, size = list[bytes](), 0
        with self._translate_errors():
            while len(lines) < max_lines and size < MAX_CHUNK_BYTES and (raw := self.stream.readline()):
                lines.append(raw)
                size += len(raw)
        return b"".join(lines)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            location = f"{self.name}: damaged gzip after line {self.lines_read:,} ({error})"
            raise CorpusError(f"{location}. Copy the file again and test it with gzip -t.") from None
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
