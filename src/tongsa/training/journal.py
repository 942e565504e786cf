"""journal.jsonl: one line for each step and each validation, readable by anything."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tongsa import files


class Journal:
    """Lines are appended as they come. On resuming, what came after the snapshot is taken back: it comes again."""

    def __init__(self, path: Path, *, after: int) -> None:
        kept = [line for line in _lines(path) if _record(line).get("step", after + 1) <= after]
        files.write_text(path, "".join(line + "\n" for line in kept))
        self.file = path.open("a", encoding="utf-8")

    def write(self, record: Mapping[str, Any]) -> None:
        with files.explained(Path(self.file.name)):
            self.file.write(json.dumps(record, ensure_ascii=False) + "\n")
            self.file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # what a full disk did not take is tried once more on closing, and has been told about
        with suppress(OSError) if error else files.explained(Path(self.file.name)):
            self.file.close()


def _lines(path: Path) -> Iterator[str]:
    if path.exists():
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from (line.rstrip("\n") for line in file)


def _record(line: str) -> dict[str, Any]:
    """A line cut short by a death is no record."""
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def read(path: Path) -> list[dict[str, Any]]:
    return [record for line in _lines(path) if (record := _record(line))]
