"""Ledger of a corpus: lines read, lines kept, and each dropped line with its reason."""

import json
import os
import tempfile
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, TextIO

from tongsa import storage
from tongsa.errors import InputError

RATIO_SLACK_TOKENS = 10
"""Tokens allowed on top of the length ratio: short texts differ more in length."""
MAX_SPOOLED_BYTES = 1 << 20
"""Size of the entries that a ledger without a path keeps in memory; more go to a temporary file."""


class Pair(NamedTuple):
    """A source text and its target text, with file and line. For parallel files the file is the source file."""

    source: str
    target: str
    file: str
    line: int


@dataclass(frozen=True, kw_only=True)
class LengthLimits:
    """Length limits of training pairs, in tokens."""

    max_tokens: int = 256
    """Maximum number of tokens per side."""
    max_length_ratio: float = 9.0
    """A pair is dropped if its longer side has more than ratio × shorter side + 10 tokens; 0 allows any ratio."""

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InputError(f"max_tokens {self.max_tokens}: too small. Write 1 or more.")
        if self.max_length_ratio != 0 and not self.max_length_ratio >= 1:
            raise InputError(
                f"max_length_ratio {self.max_length_ratio}: too small. Write 1 or more, or 0 for any ratio."
            )

    def drop_reason(self, source_length: int, target_length: int) -> tuple[str, str] | None:
        """Return the reason and the detail for the ledger, or None if the pair is kept."""
        shorter, longer = sorted((source_length, target_length))
        lengths = f"{source_length} source and {target_length} target tokens"
        if longer > self.max_tokens:
            return "too-long", f"{lengths}; at most {self.max_tokens}"
        if self.max_length_ratio and longer > self.max_length_ratio * shorter + RATIO_SLACK_TOKENS:
            return "length-ratio", f"{lengths}; at most {self.max_length_ratio:g} × shorter + {RATIO_SLACK_TOKENS}"
        return None


class Reason(NamedTuple):
    """A reason to drop a pair, with value and threshold in words."""

    name: str
    detail: str = ""


class Ledger:
    """Counts of lines, and a JSON line for each dropped or repaired line.

    A dropped line has file, line, reason and detail, or a list of all its reasons; it is counted under the first. A
    repaired line has the names of the repairs, and may be kept or dropped.

    As a context manager it writes a file: the entries go to `*.part`, which is renamed at the end, after the totals.
    After an exception `*.part` stays and an older ledger is unchanged. Without a path the entries are kept for
    `include`, in memory or in a temporary file.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._stream: TextIO | None = None
        self._entries = tempfile.SpooledTemporaryFile(MAX_SPOOLED_BYTES)  # noqa: SIM115 - closed with the ledger
        weakref.finalize(self, self._entries.close)
        self._read: Counter[str] = Counter()
        self._kept: Counter[str] = Counter()
        self._dropped: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._repaired: Counter[str] = Counter()
        self.first_dropped = ""
        """The first dropped line: file, line, reason and detail."""
        self.encodings: dict[str, str] = {}
        """File → its encoding, if it was recognized and is not UTF-8."""

    @property
    def read(self) -> int:
        return self._read.total()

    @property
    def kept(self) -> int:
        return self._kept.total()

    @property
    def repaired(self) -> int:
        return self._repaired.total()

    @property
    def dropped(self) -> dict[str, int]:
        """Number of dropped lines by reason, most frequent first."""
        return dict(sum(self._dropped.values(), Counter[str]()).most_common())

    def __enter__(self) -> Self:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Python represents a file name that is not UTF-8 with lone surrogates; JSON writes them as \udcXX
            self._partial_path.unlink(missing_ok=True)  # it may be a link, which is not written through
            self._stream = self._partial_path.open("x", encoding="utf-8", errors="backslashreplace", newline="\n")
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
            storage.replace_file(self._partial_path, self.path)

    def count_read(self, file: str) -> None:
        """Count a line as read; it must then be kept or dropped."""
        self._read[file] += 1

    def keep(self, pair: Pair) -> None:
        self._kept[pair.file] += 1

    def drop(self, file: str, line: int, reason: str, detail: str = "") -> None:
        self.drop_for_all(file, line, [Reason(reason, detail)])

    def drop_for_all(self, file: str, line: int, reasons: Sequence[Reason]) -> None:
        """Drop a line for several reasons at once."""
        name, detail = reasons[0]
        self._dropped[file][name] += 1
        self._note_first(file, line, name, detail)
        records = [{"reason": name} | ({"detail": detail} if detail else {}) for name, detail in reasons]
        self._write_entry({"file": file, "line": line} | (records[0] if len(records) == 1 else {"reasons": records}))

    def revoke(self, pair: Pair, reason: str, detail: str = "") -> None:
        """Drop a pair that was kept before."""
        self.revoke_for_all(pair, [Reason(reason, detail)])

    def revoke_for_all(self, pair: Pair, reasons: Sequence[Reason]) -> None:
        self._kept[pair.file] -= 1
        self.drop_for_all(pair.file, pair.line, reasons)

    def repair(self, file: str, line: int, repairs: Mapping[str, Sequence[str]]) -> None:
        """Record the repairs of a line: side → names of the repairs."""
        self._repaired[file] += 1
        self._write_entry({"file": file, "line": line, "repairs": repairs})

    def include(self, other: "Ledger") -> None:
        """Add the counts and entries of a ledger without a path."""
        self._read += other._read
        self._kept += other._kept
        self.first_dropped = self.first_dropped or other.first_dropped
        self.encodings |= other.encodings
        for file, reasons in other._dropped.items():
            self._dropped[file] += reasons
        self._repaired += other._repaired
        for line in other.entry_lines():
            self._write_line(line.decode())

    def entry_lines(self) -> Iterator[bytes]:
        """Yield the entries of a ledger without a path as JSON lines."""
        self._entries.seek(0)
        yield from self._entries

    def to_record(self) -> dict[str, Any]:
        """Return the counts as JSON; `from_record` takes them back with the `entry_lines`."""
        return {
            "read": self._read,
            "kept": self._kept,
            "dropped": self._dropped,
            "repaired": self._repaired,
            "encodings": self.encodings,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], lines: Iterable[bytes], names: Mapping[str, str]) -> Self:
        """Make a ledger without a path again; `names` maps the names of its files to those of today."""
        ledger = cls(None)

        def rename(file: str) -> str:
            return names.get(file, file)

        for name in ("read", "kept", "repaired"):
            getattr(ledger, f"_{name}").update({rename(file): count for file, count in record[name].items()})
        for file, reasons in record["dropped"].items():
            ledger._dropped[rename(file)].update(reasons)
        ledger.encodings = {rename(file): encoding for file, encoding in record["encodings"].items()}
        for line in lines:
            entry = json.loads(line)
            entry["file"] = rename(entry["file"])
            if not ledger.first_dropped and "repairs" not in entry:
                first, *_ = entry.get("reasons", [entry])
                ledger._note_first(entry["file"], entry["line"], first["reason"], first.get("detail", ""))
            ledger._write_entry(entry)
        return ledger

    def _note_first(self, file: str, line: int, reason: str, detail: str) -> None:
        self.first_dropped = self.first_dropped or f"{file}:{line}: {reason}" + (f" ({detail})" if detail else "")

    def check(self) -> None:
        """Assert for each file that kept + dropped = read."""
        for file, read in self._read.items():
            kept, dropped = self._kept[file], self._dropped[file].total()
            assert read == kept + dropped, f"{file}: {read} read, but {kept} kept and {dropped} dropped"  # noqa: S101

    def counts(self) -> str:
        """Return the numbers of lines read, kept and dropped."""
        repaired = f"; {self.repaired:,} repaired" if self.repaired else ""
        if not self.dropped:
            return f"{self.read:,} pairs read, all kept{repaired}"
        reasons = ", ".join(f"{count:,} {reason.replace('-', ' ')}" for reason, count in self.dropped.items())
        dropped = f"{sum(self.dropped.values()):,} dropped ({reasons})"
        return f"{self.read:,} pairs read, {self.kept:,} kept, {dropped}{repaired}"

    def summary(self) -> str:
        """Return the counts, the recognized encodings and, if lines were dropped, the file that lists them."""
        encodings = "".join(f"; {file}: converted from {encoding}" for file, encoding in self.encodings.items())
        where = f"; see {self.path}" if self.dropped and self.path is not None else ""
        return f"{self.counts()}{encodings}{where}"

    @property
    def _partial_path(self) -> Path:
        assert self.path is not None  # noqa: S101
        return self.path.with_name(self.path.name + ".part")

    def _write_entry(self, entry: Mapping[str, object]) -> None:
        self._write_line(json.dumps(entry, ensure_ascii=False) + "\n")

    def _write_line(self, line: str) -> None:
        if self._stream is not None:
            self._stream.write(line)
        elif self.path is None:
            self._entries.seek(0, os.SEEK_END)
            self._entries.write(line.encode("utf-8", "backslashreplace"))

    def _totals(self) -> dict[str, object]:
        files = {
            file: {"read": read, "kept": self._kept[file], "dropped": dict(self._dropped[file])}
            for file, read in self._read.items()
        }
        repaired = {"repaired": self.repaired} if self.repaired else {}
        return {"read": self.read, "kept": self.kept, "dropped": self.dropped, **repaired, "files": files}
