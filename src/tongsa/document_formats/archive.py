"""Zip archives of office documents: read within limits, written with the same entries in the same order."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tongsa.document_formats.limits import (
    MAX_COMPRESSION_RATIO,
    MAX_ENTRIES,
    MAX_ENTRY_BYTES,
    MAX_UNPACKED_BYTES,
    MIN_CHECKED_BYTES,
    DocumentFormatError,
)

SUPPORTED_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_SAVE_AGAIN = "Save the document again."


class ArchiveEntry(NamedTuple):
    info: zipfile.ZipInfo
    content: bytes


def read_archive(content: bytes, name: str) -> list[ArchiveEntry]:
    """Return all entries. Raise DocumentFormatError for a damaged archive, and for one that is too large unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            _check_entries(entries, name)
            return [ArchiveEntry(info, _read_entry(archive, info, name)) for info in entries]
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        struct.error,
        ValueError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise DocumentFormatError(f"{name}: a damaged or encrypted archive ({error}). {_SAVE_AGAIN}") from None


def _check_entries(entries: Sequence[zipfile.ZipInfo], name: str) -> None:
    if len(entries) > MAX_ENTRIES:
        raise DocumentFormatError(f"{name}: {len(entries):,} entries, but at most {MAX_ENTRIES:,}. {_SAVE_AGAIN}")
    if len({entry.filename for entry in entries}) < len(entries):
        raise DocumentFormatError(f"{name}: two entries of the archive have the same name. {_SAVE_AGAIN}")
    total = sum(entry.file_size for entry in entries)
    if total > MAX_UNPACKED_BYTES:
        raise DocumentFormatError(
            f"{name}: {total:,} bytes unpacked, but at most {MAX_UNPACKED_BYTES:,}. Divide the document."
        )
    for entry in entries:
        if entry.flag_bits & 1:
            raise DocumentFormatError(f"{name}: encrypted. Save the document without a password.")
        if entry.compress_type not in SUPPORTED_COMPRESSION:
            raise DocumentFormatError(f"{name}: {entry.filename!r} has an unknown compression. {_SAVE_AGAIN}")
        is_bomb = entry.file_size > MIN_CHECKED_BYTES + MAX_COMPRESSION_RATIO * entry.compress_size
        if is_bomb:
            raise DocumentFormatError(
                f"{name}: {entry.filename!r} is compressed more than {MAX_COMPRESSION_RATIO} times. {_SAVE_AGAIN}"
            )


def _read_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> bytes:
    with archive.open(info) as file:
        content = file.read(info.file_size + 1)  # not more than the size that was checked
    if len(content) != info.file_size:
        raise DocumentFormatError(f"{name}: {info.filename!r} has another size than it says. {_SAVE_AGAIN}")
    return content


def check_text_entry(entry: ArchiveEntry, name: str) -> None:
    if len(entry.content) > MAX_ENTRY_BYTES:
        raise DocumentFormatError(
            f"{name}: {entry.info.filename!r} has {len(entry.content):,} bytes of text, but at most "
            f"{MAX_ENTRY_BYTES:,}. Divide the document."
        )


def write_archive(entries: Sequence[ArchiveEntry], replaced: Mapping[str, bytes]) -> bytes:
    """Return an archive with the same entries, dates and compression; some have another content."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        for info, content in entries:
            copied = zipfile.ZipInfo(info.filename, info.date_time)
            copied.compress_type, copied.external_attr, copied.comment = (
                info.compress_type,
                info.external_attr,
                info.comment,
            )
            archive.writestr(copied, replaced.get(info.filename, content))
    return output.getvalue()
