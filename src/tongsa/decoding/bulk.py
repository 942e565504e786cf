"""A job of any length that survives its own death: lines in, one line out for each, none twice and none lost.

Lines go to OUT.partial. After each chunk they are flushed to the disk, and then a small journal beside them says how
far the job has come: what lies behind that place in OUT.partial is of a chunk that was not finished, and is cut off
when the job goes on. Chunks depend on nothing but the place where they begin, so a job that was killed makes the bytes
of one that was not. The input is known by the hash of what was read, not by its name or date: what was not read yet
may be mended.
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tongsa import files
from tongsa.errors import InputError
from tongsa.text.chunks import Chunk, ChunkReader

if sys.platform != "win32":
    import fcntl

AGAIN = "begin again with --restart"


class Translated(NamedTuple):
    """What became of a chunk."""

    lines: Sequence[str]
    cut: Sequence[int] = ()
    """Which of its lines, counted from 0, were longer than the model can read."""


@dataclass(frozen=True, kw_only=True)
class Position:
    """How far a job has come."""

    lines: int = 0
    read: int = 0
    """Bytes of the input, unpacked."""
    written: int = 0
    """Bytes of the output."""
    cut: int = 0
    """Lines that were longer than the model can read."""
    digest: str = hashlib.sha256().hexdigest()
    """Of the bytes read."""


class Job:
    """The output of a job: `go_on` behind what is done, `write` chunk after chunk, `finish`."""

    def __init__(self, output: Path, settings: Mapping[str, Any], *, restart: bool = False) -> None:
        """`settings` are what the output depends on beside the input; a job goes on only with the same."""
        self.output = output
        self.partial = output.with_name(output.name + ".partial")
        self.journal = output.with_name(output.name + ".journal.json")
        self.settings = json.loads(json.dumps(settings))
        self.digest = hashlib.sha256()
        with files.explained(output):
            if not restart:
                self._check_nothing_is_lost()
            if output.exists() and not output.is_file():
                raise InputError(f"{output}: is no file that can be replaced; name another, or use > instead of -o")
            output.parent.mkdir(parents=True, exist_ok=True)
            self.handle = os.open(self.partial, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._lock()
            self.position = self._found() if self.journal.exists() and not restart else Position()
            self.finished = self._all_done()
            self._save()  # before the output changes: without its journal it would be of no use
            if not self.finished:
                os.ftruncate(self.handle, self.position.written)
                os.lseek(self.handle, self.position.written, os.SEEK_SET)
        except BaseException:
            os.close(self.handle)
            raise

    def _check_nothing_is_lost(self) -> None:
        if self.journal.exists():  # an output beside it was there when the job was begun with --restart
            return
        if self.output.exists():
            raise InputError(f"{self.output}: is there already; name another file, or {AGAIN}")
        if self.partial.exists() and self.partial.stat().st_size:
            raise InputError(f"{self.partial}: nothing says how far this job had come; {AGAIN}")

    def _lock(self) -> None:
        """Until this process ends, however it does."""
        if sys.platform == "win32":
            return
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{self.partial}: another process is writing it; wait for it or stop it") from None
        except OSError:
            return  # a file system without locks

    def _found(self) -> Position:
        """Where a job with the same settings stopped."""
        try:
            record = json.loads(self.journal.read_text("utf-8"))
            position, settings = Position(**record["position"]), dict(record["settings"])
            if not all(type(number) is int for name, number in asdict(position).items() if name != "digest"):
                raise ValueError("a place that is no number")
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise InputError(f"{self.journal}: damaged ({error}); {AGAIN}") from None
        changed = [
            f"{name} was {_short(settings.get(name))} and is {_short(self.settings.get(name))}"
            for name in sorted(settings.keys() | self.settings.keys())
            if settings.get(name) != self.settings.get(name)
        ]
        if changed and position.lines:
            raise InputError(f"{self.partial} was begun otherwise: {', '.join(changed)}; give the same, or {AGAIN}")
        return position

    def _all_done(self) -> bool:
        """Whether the job died after its output had taken its name, with nothing left to do but tidy up."""
        size, written = os.fstat(self.handle).st_size, self.position.written
        if size >= written:
            return False
        if self.output.is_file() and self.output.stat().st_size == written:
            return True
        raise InputError(f"{self.partial}: {size:,} bytes where {written:,} were written; {AGAIN}")

    def _save(self) -> None:
        record = {"settings": self.settings, "position": asdict(self.position)}
        files.write_text(self.journal, json.dumps(record, ensure_ascii=False, indent=1))

    def go_on(self, reader: ChunkReader) -> None:
        """Pass over what was translated before, and make sure that it was this."""
        for block in reader.passed(self.position.read, self.position.lines):
            self.digest.update(block)
        if self.digest.hexdigest() != self.position.digest:
            raise InputError(
                f"{reader.name}: its first {self.position.lines:,} lines are not those that were translated into "
                f"{self.partial}; give the same input, or {AGAIN}"
            )

    def write(self, chunk: Chunk, translated: Translated) -> None:
        """On the disk when this returns, and never written again."""
        content = "".join(f"{line}\n" for line in translated.lines).encode()
        assert content.count(b"\n") == len(chunk), "one line out for each line in"  # noqa: S101
        with files.explained(self.partial):
            left = memoryview(content)
            while left:
                left = left[os.write(self.handle, left) :]
            os.fsync(self.handle)
        self.digest.update(chunk.raw)
        self.position = Position(
            lines=self.position.lines + len(chunk),
            read=self.position.read + len(chunk.raw),
            written=self.position.written + len(content),
            cut=self.position.cut + len(translated.cut),
            digest=self.digest.hexdigest(),
        )
        self._save()

    def finish(self) -> None:
        """The output takes its name; the journal goes."""
        with files.explained(self.output):
            if self.finished:
                self.partial.unlink()
            else:
                files.rename(self.partial, self.output)
            self.journal.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.handle)


def _short(value: Any) -> str:
    """Of a hash as much as tells it from another."""
    if value is None:
        return "not given"
    text = str(value)
    return text if len(text) < 40 else f"{text[:12]}…"
