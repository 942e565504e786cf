"""The books of the data: what was read, what was kept, and why the rest was dropped."""

import json
import os
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, TextIO

from tongsa.errors import InputError

RATIO_SLACK_TOKENS = 10
"""Pieces allowed on top of the ratio: a greeting may well be ten times as long in another language."""


class Pair(NamedTuple):
    """A source and its target, and where they were found; two parallel files count as the source's file."""

    source: str
    target: str
    file: str
    line: int


@dataclass(frozen=True, kw_only=True)
class LengthLimits:
    """Which pairs are too odd to learn from; lengths are counted in pieces."""

    max_tokens: int = 256
    """The most pieces on a side."""
    max_length_ratio: float = 9.0
    """A pair is dropped when its longer side is over ratio × shorter side + 10 pieces; 0 allows any ratio."""

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InputError(f"longest = {self.max_tokens}: no pair is that short; write 1 or more")
        if self.max_length_ratio != 0 and not self.max_length_ratio >= 1:
            raise InputError(f"ratio = {self.max_length_ratio}: write 1 or more, or 0 to allow any ratio")

    def drop_reason(self, source_length: int, target_length: int) -> tuple[str, str] | None:
        """Reason and detail for the ledger, or None for a pair that may stay."""
        shorter, longer = sorted((source_length, target_length))
        lengths = f"{source_length} source and {target_length} target pieces"
        if longer > self.max_tokens:
            return "too-long", f"{lengths}; at most {self.max_tokens}"
        if self.max_length_ratio and longer > self.max_length_ratio * shorter + RATIO_SLACK_TOKENS:
            return "length-ratio", f"{lengths}; at most 1 to {self.max_length_ratio:g}, and {RATIO_SLACK_TOKENS} pieces"
        return None


class Ledger:
    """Counts lines and writes each dropped one, with file, line and reason, as a line of JSON.

    Leaving the `with` writes the totals and puts the file in place; leaving it through an exception keeps
    what was written under the name `*.part` and touches nothing else. Without a path it only counts.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._stream: TextIO | None = None
        self._read: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()
        self._dropped: defaultdict[str, Counter[str]] = defaultdict(Counter)

    @property
    def read(self) -> int:
        return self._read.total()

    @property
    def kept(self) -> int:
        return self._kept.total()

    @property
    def dropped(self) -> dict[str, int]:
        """Reason → number of lines, the most frequent first."""
        return dict(sum(self._dropped.values(), Counter[str]()).most_common())

    def __enter__(self) -> Self:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # a file name that is not UTF-8 reaches Python as lone surrogates, which JSON writes as \udcXX
            self._stream = self._partial_path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n")
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._stream is None:
            return
        with self._stream as stream:
            if exc is None:
                self._write_entry({"totals": self._totals()})
                stream.flush()
                os.fsync(stream.fileno())
        self._stream = None
        if exc is None and self.path is not None:
            self._partial_path.replace(self.path)

    def count_read(self, file: str) -> None:
        """One more line read; it is then kept or dropped."""
        self._read[file] += 1

    def keep(self, pair: Pair) -> None:
        self._kept[pair.file] += 1

    def drop(self, file: str, line: int, reason: str, detail: str = "") -> None:
        self._dropped[file][reason] += 1
        self._write_entry({"file": file, "line": line, "reason": reason} | ({"detail": detail} if detail else {}))

    def revoke(self, pair: Pair, reason: str, detail: str = "") -> None:
        """A later stage drops a pair that reading had kept."""
        self._kept[pair.file] -= 1
        self.drop(pair.file, pair.line, reason, detail)

    def check(self) -> None:
        """Every line read is kept or dropped, once, in every file."""
        for file, read in self._read.items():
            kept, dropped = self._kept[file], self._dropped[file].total()
            assert read == kept + dropped, f"{file}: {read} read, but {kept} kept and {dropped} dropped"  # noqa: S101

    def summary(self) -> str:
        if not self.dropped:
            return f"{self.read:,} pairs read, all kept"
        reasons = ", ".join(f"{count:,} {reason.replace('-', ' ')}" for reason, count in self.dropped.items())
        dropped = f"{sum(self.dropped.values()):,} dropped ({reasons})"
        counts = f"{self.read:,} pairs read, {self.kept:,} kept, {dropped}"
        return counts if self.path is None else f"{counts}; see {self._partial_path if self._stream else self.path}"

    @property
    def _partial_path(self) -> Path:
        assert self.path is not None  # noqa: S101
        return self.path.with_name(self.path.name + ".part")

    def _write_entry(self, entry: dict[str, object]) -> None:
        if self._stream is not None:
            self._stream.write(json.dumps(entry, ensure_ascii=False) + "\n")

    def _totals(self) -> dict[str, object]:
        files = {
            file: {"read": read, "kept": self._kept[file], "dropped": dict(self._dropped[file])}
            for file, read in self._read.items()
        }
        return {"read": self.read, "kept": self.kept, "dropped": self.dropped, "files": files}
