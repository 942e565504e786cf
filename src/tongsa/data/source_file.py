"""A corpus file as a stream of UTF-8 or as lines: decompressed, converted from its encoding."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from tongsa.data.compression import format_suffix, open_source
from tongsa.data.encoding import (
    AUTO,
    HEAD_BYTES,
    UTF_8,
    convert_to_utf8,
    declared_encoding,
    guess_encoding,
    is_utf8_name,
    marked_encoding,
    recognized_encoding,
    unicode_encoding,
    with_byte_order,
)
from tongsa.data.records import MAX_RECORD_BYTES, BadRecordError, Record, dropped_record, too_long_record

DECLARING_SUFFIXES = (".tmx", ".xlf", ".xliff", ".po")
"""Formats whose files name their encoding."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class SourceFile:
    """A corpus file with the encoding of the settings: a name, or "auto"."""

    path: Path
    encoding: str = UTF_8

    def __str__(self) -> str:
        return str(self.path)

    @cached_property
    def head(self) -> bytes:
        """The first bytes, decompressed."""
        with open_source(self.path) as stream:
            return stream.read(HEAD_BYTES)

    @cached_property
    def text_encoding(self) -> str:
        """The encoding of the text: that of the byte order mark, the declared one, or that of the settings."""
        declares = format_suffix(self.path) in DECLARING_SUFFIXES
        if self.encoding == UTF_8 and not declares:
            return UTF_8
        if marked := marked_encoding(self.head):
            return marked
        if declares and (declared := unicode_encoding(self.head, 1) or declared_encoding(self.head)):
            return with_byte_order(declared, self.head)
        if self.encoding == AUTO:
            return with_byte_order(recognized_encoding(self.head) or UTF_8, self.head)  # a line may have a mark
        return with_byte_order(self.encoding, self.head)

    def open_utf8(self) -> BinaryIO:
        """Open the file as a stream of UTF-8."""
        return convert_to_utf8(open_source(self.path), self.text_encoding)

    def open_bytes(self) -> BinaryIO:
        """Open the decompressed bytes."""
        return open_source(self.path)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines in UTF-8 without line ends; of a line over `MAX_RECORD_BYTES` one byte more than that."""
        with self.open_utf8() as stream:
            yield from capped_lines(stream)

    def decode(self, raw: bytes, name: str = "") -> str:
        """Return the text of a line. Raise BadRecordError if it is too long or not in its encoding."""
        if len(raw) > MAX_RECORD_BYTES:
            too_long = too_long_record(0)
            raise BadRecordError(too_long.reason, too_long.detail + (f" in {name}" if name else ""))
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            where = f" of {name}" if name else ""
            if not is_utf8_name(self.text_encoding):
                raise BadRecordError(f"not-{self.text_encoding.lower()}", f"bad bytes{where}") from None
            encoding = guess_encoding(raw)
            detail = f"{error.reason} at byte {error.start + 1}{where}"
            raise BadRecordError("not-utf8", detail + (f"; probably {encoding}" if encoding else "")) from None

    def line_records(self, parse: Callable[[str], tuple[str, str]]) -> Iterator[Record]:
        """Yield a record for each line; `parse` returns its texts or raises BadRecordError."""
        for number, raw in enumerate(self.lines(), start=1):
            try:
                source, target = parse(self.decode(raw))
            except BadRecordError as bad:
                yield dropped_record(number, bad.reason, bad.detail)
            else:
                yield Record(number, source, target)


def capped_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a stream without line ends. Only a line feed ends a line, not U+2028 or a form feed."""
    index, limit = 0, MAX_RECORD_BYTES + 3  # a byte too many, and a line end
    while raw := stream.readline(limit):
        if len(raw) == limit and not raw.endswith(b"\n"):
            while (rest := stream.readline(HEAD_BYTES)) and not rest.endswith(b"\n"):
                pass
        yield strip_line_end(raw, index)[: MAX_RECORD_BYTES + 1]
        index += 1


def strip_line_end(raw: bytes, line_index: int) -> bytes:
    """Remove the line end, and from the first line (index 0) the byte order mark."""
    line = raw.removesuffix(b"\n").removesuffix(b"\r")
    return line.removeprefix(_BOM) if line_index == 0 else line
