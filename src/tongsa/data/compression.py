"""Compressed files: gzip, bzip2, xz and Zstandard, read as a stream. The end of the name decides."""

import bz2
import gzip
import importlib
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from tongsa.data.records import CorpusError


def _open_zstandard(path: Path) -> io.BufferedIOBase:
    return cast(io.BufferedIOBase, _zstandard(path).ZstdFile(path))


def _zstandard(path: Path) -> Any:
    """Return the module for Zstandard: part of Python since 3.14, before that a package of the same authors."""
    try:
        return importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ImportError:
        raise CorpusError(
            f"{path}: Zstandard needs a package. Install it: pip install backports.zstd -c constraints.txt"
        ) from None


class Compression(NamedTuple):
    name: str
    signature: bytes
    """First bytes of a file."""
    open_file: Callable[[Path], io.BufferedIOBase]
    command: str
    """Command that writes the decompressed file to standard output."""
    test_command: str


COMPRESSIONS = {
    ".gz": Compression("gzip", b"\x1f\x8b", gzip.GzipFile, "gzip -dc", "gzip -t"),
    ".bz2": Compression("bzip2", b"BZh", bz2.BZ2File, "bzip2 -dc", "bzip2 -t"),
    ".xz": Compression("xz", b"\xfd7zXZ\0", lzma.LZMAFile, "xz -dc", "xz -t"),
    ".zst": Compression("Zstandard", b"\x28\xb5\x2f\xfd", _open_zstandard, "zstd -dc", "zstd -t"),
}
"""End of a name → compression."""
MIN_GZIP_BYTES = 18
"""Header and end of a gzip file; the last four bytes are the decompressed size, modulo 4 GiB."""
MAX_GZIP_BYTES = 1 << 29
"""A larger file may have more than 4 GiB of text."""


def compression_of(path: Path) -> Compression | None:
    return COMPRESSIONS.get(path.suffix.lower())


def format_suffix(path: Path) -> str:
    """Return the suffix without that of a compression: .tsv for x.tsv and x.tsv.gz."""
    return (path.with_suffix("") if compression_of(path) else path).suffix.lower()


def decompressed_size(path: Path) -> int | None:
    """Return the size of a file after decompression, to tell the time that is left; None if it is not known."""
    size, compression = path.stat().st_size, compression_of(path)
    if not compression:
        return size
    if compression.name != "gzip" or size < MIN_GZIP_BYTES:
        return None
    with path.open("rb") as file:
        file.seek(-4, os.SEEK_END)
        stated = int.from_bytes(file.read(), "little")
    # it is the size of the last part of a joined file, and wrong above 4 GiB
    return stated if size < stated and size < MAX_GZIP_BYTES else None


def unreadable_message(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{path}: no such file. Check the name and the folder."
    if isinstance(error, IsADirectoryError):
        return f"{path}: a folder, not a file. Give the files in it."
    return f"{path}: cannot be read ({error.strerror or error}). Check its permissions and the disk."


class _SourceStream(io.RawIOBase):
    """Decompressed bytes of a file. Damage and errors of the disk are a CorpusError with file and line."""

    def __init__(self, path: Path) -> None:
        self._path, self._lines = path, 0
        self._compression = compression_of(path)
        self._is_open = False
        try:
            self._stream = self._compression.open_file(path) if self._compression else path.open("rb")
        except OSError as error:
            raise CorpusError(unreadable_message(path, error)) from None
        self._is_open = True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            block = self._stream.read(len(buffer))
        except Exception as error:  # noqa: BLE001 - Zstandard has an exception of its own
            raise self._explain(error) from None
        buffer[: len(block)] = block
        self._lines += block.count(b"\n")
        return len(block)

    def _explain(self, error: Exception) -> Exception:
        if self._compression and _is_damage(error):
            location = f"{self._path}:{self._lines + 1}: damaged {self._compression.name} ({error})"
            return CorpusError(f"{location}. Copy the file again and test it with {self._compression.test_command}.")
        return CorpusError(unreadable_message(self._path, error)) if isinstance(error, OSError) else error

    def close(self) -> None:
        if not self.closed and self._is_open:
            self._stream.close()
        super().close()


def _is_damage(error: Exception) -> bool:
    is_damaged = isinstance(error, gzip.BadGzipFile | EOFError | zlib.error | lzma.LZMAError)
    is_bzip2 = type(error) is OSError and error.errno is None  # "Invalid data stream"
    return is_damaged or is_bzip2 or type(error).__name__ == "ZstdError"


def open_source(path: Path) -> BinaryIO:
    """Open a file for reading, decompressed if its name says so."""
    return cast(BinaryIO, io.BufferedReader(_SourceStream(path), 1 << 16))
