"""The journal of a run (journal.jsonl): one JSON object per line for each update and each validation."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tongsa import storage


class Journal:
    """Append-only writer. Opening it removes the records after `last_step`: a resumed run writes them again."""

    def __init__(self, path: Path, *, last_step: int) -> None:
        kept = [line for line in _read_lines(path) if _parse_record(line).get("step", last_step + 1) <= last_step]
        storage.write_text(path, "".join(line + "\n" for line in kept))
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
    if path.exists():
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from (line.rstrip("\n") for line in file)


def _parse_record(line: str) -> dict[str, Any]:
    """Return the record of a line; {} for a line that a killed process left incomplete."""
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def read_journal(path: Path) -> list[dict[str, Any]]:
    return [record for line in _read_lines(path) if (record := _parse_record(line))]
