"""The journal of a run (journal.jsonl): one JSON object per line for each update and each validation."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tongsa import bounded_files, storage
from tongsa.bounded_files import MalformedTextError, UnreadableFileError
from tongsa.errors import InputError

MAX_JOURNAL_BYTES = 2 << 30
"""Size of a journal: about 200 bytes for each update. It is read as a stream."""
MAX_UPDATES = 100_000
"""Updates that are kept in memory; of a longer run, an even selection."""


class Journal:
    """Append-only writer. Opening it removes the records after `last_step`: a resumed run writes them again."""

    def __init__(self, path: Path, *, last_step: int) -> None:
        lines = _read_lines(path)
        first = next(lines, None)  # an unreadable journal is an error before anything is written
        with storage.replacement_file(path) as file:
            for line in chain([first] if first is not None else [], lines):
                if 0 <= _parse_record(line).get("step", -1) <= last_step:
                    file.write(f"{line}\n".encode())
        self.file = path.open("a", encoding="utf-8", newline="\n")

    def write(self, record: Mapping[str, Any]) -> None:
        with storage.explain_os_errors(Path(self.file.name)):
            self.file.write(json.dumps(record, ensure_ascii=False) + "\n")
            self.file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # on a full disk close() fails again to flush; an exception that is already raised explains the cause
        with suppress(OSError) if exc else storage.explain_os_errors(Path(self.file.name)):
            self.file.close()


def _read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a journal; a missing one has none."""
    if path.is_symlink() or path.exists():
        try:
            yield from bounded_files.read_lines(path, MAX_JOURNAL_BYTES)
        except UnreadableFileError as error:
            raise InputError(f"{path}: {error.reason}. Move it away; the run writes a new one.") from None


def _parse_record(line: str) -> dict[str, Any]:
    """Return the record of a line; {} for a damaged line, such as one that a killed process left incomplete."""
    try:
        record = bounded_files.parse_json(line)
        if "\\u" in line:  # a lone surrogate could not be written again
            json.dumps(record, ensure_ascii=False).encode()
    except (MalformedTextError, UnicodeEncodeError):
        return {}
    if not isinstance(record, dict) or type(record.get("step", 0)) is not int:
        return {}
    return record


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Return the records of a journal. Of more than MAX_UPDATES updates, every second, fourth … one is returned."""
    records: list[dict[str, Any]] = []
    stride, updates, kept = 1, 0, 0
    for record in filter(None, map(_parse_record, _read_lines(path))):
        if _is_update(record):
            updates += 1
            if updates % stride:
                continue
            kept += 1
        records.append(record)
        if kept > MAX_UPDATES:
            stride *= 2
            numbers = count(1)
            records = [record for record in records if not _is_update(record) or next(numbers) % 2 == 0]
            kept //= 2
    return records


def _is_update(record: Mapping[str, Any]) -> bool:
    return "loss" in record
