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

from tongsa import storage
from tongsa.data.chunks import Chunk, ChunkReader
from tongsa.errors import InputError

if sys.platform != "win32":
    import fcntl

RESTART_HINT = "begin again with --restart"


class TranslatedChunk(NamedTuple):
    """What became of a chunk."""

    lines: Sequence[str]
    truncated: Sequence[int] = ()
    """Which of its lines, counted from 0, were longer than the model can read."""


@dataclass(frozen=True, kw_only=True)
class TranslationProgress:
    """How far a job has come."""

    lines: int = 0
    bytes_read: int = 0
    """Bytes of the input, unpacked."""
    bytes_written: int = 0
    """Bytes of the output."""
    truncated: int = 0
    """Lines that were longer than the model can read."""
    digest: str = hashlib.sha256().hexdigest()
    """Of the bytes read."""


class ResumableOutput:
    """The output of a job: `go_on` behind what is done, `write` chunk after chunk, `finish`."""

    def __init__(self, output: Path, settings: Mapping[str, Any], *, restart: bool = False) -> None:
        """`settings` are what the output depends on beside the input; a job goes on only with the same."""
        self.output = output
        self.partial = output.with_name(output.name + ".partial")
        self.journal = output.with_name(output.name + ".journal.json")
        self.settings = json.loads(json.dumps(settings))
        self.digest = hashlib.sha256()
        with storage.explain_os_errors(output):
            if not restart:
                self._refuse_overwrite()
            if output.exists() and not output.is_file():
                raise InputError(f"{output}: is no file that can be replaced; name another, or use > instead of -o")
            output.parent.mkdir(parents=True, exist_ok=True)
            self.fd = os.open(self.partial, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._lock()
            self.progress = self._load_progress() if self.journal.exists() and not restart else TranslationProgress()
            self.finished = self._is_output_complete()
            self._save_journal()  # before the output changes: without its journal it would be of no use
            if not self.finished:
                os.ftruncate(self.fd, self.progress.bytes_written)
                os.lseek(self.fd, self.progress.bytes_written, os.SEEK_SET)
        except BaseException:
            os.close(self.fd)
            raise

    def _refuse_overwrite(self) -> None:
        if self.journal.exists():  # an output beside it was there when the job was begun with --restart
            return
        if self.output.exists():
            raise InputError(f"{self.output}: is there already; name another file, or {RESTART_HINT}")
        if self.partial.exists() and self.partial.stat().st_size:
            raise InputError(f"{self.partial}: nothing says how far this job had come; {RESTART_HINT}")

    def _lock(self) -> None:
        """Until this process ends, however it does."""
        if sys.platform == "win32":
            return
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{self.partial}: another process is writing it; wait for it or stop it") from None
        except OSError:
            return  # a file system without locks

    def _load_progress(self) -> TranslationProgress:
        """Where a job with the same settings stopped."""
        try:
            record = json.loads(self.journal.read_text("utf-8"))
            position, settings = TranslationProgress(**record["position"]), dict(record["settings"])
            if not all(type(number) is int for name, number in asdict(position).items() if name != "digest"):
                raise ValueError("a place that is no number")
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise InputError(f"{self.journal}: damaged ({error}); {RESTART_HINT}") from None
        changed = [
            f"{name} was {_abbreviate(settings.get(name))} and is {_abbreviate(self.settings.get(name))}"
            for name in sorted(settings.keys() | self.settings.keys())
            if settings.get(name) != self.settings.get(name)
        ]
        if changed and position.lines:
            raise InputError(
                f"{self.partial} was begun otherwise: {', '.join(changed)}; give the same, or {RESTART_HINT}"
            )
        return position

    def _is_output_complete(self) -> bool:
        """Whether the job died after its output had taken its name, with nothing left to do but tidy up."""
        size, written = os.fstat(self.fd).st_size, self.progress.bytes_written
        if size >= written:
            return False
        if self.output.is_file() and self.output.stat().st_size == written:
            return True
        raise InputError(f"{self.partial}: {size:,} bytes where {written:,} were written; {RESTART_HINT}")

    def _save_journal(self) -> None:
        record = {"settings": self.settings, "position": asdict(self.progress)}
        storage.write_text(self.journal, json.dumps(record, ensure_ascii=False, indent=1))

    def resume(self, reader: ChunkReader) -> None:
        """Pass over what was translated before, and make sure that it was this."""
        for block in reader.read_prefix(self.progress.bytes_read, self.progress.lines):
            self.digest.update(block)
        if self.digest.hexdigest() != self.progress.digest:
            raise InputError(
                f"{reader.name}: its first {self.progress.lines:,} lines are not those that were translated into "
                f"{self.partial}; give the same input, or {RESTART_HINT}"
            )

    def write(self, chunk: Chunk, result: TranslatedChunk) -> None:
        """On the disk when this returns, and never written again."""
        content = "".join(f"{line}\n" for line in result.lines).encode()
        assert content.count(b"\n") == len(chunk), "one line out for each line in"  # noqa: S101
        with storage.explain_os_errors(self.partial):
            left = memoryview(content)
            while left:
                left = left[os.write(self.fd, left) :]
            os.fsync(self.fd)
        self.digest.update(chunk.raw)
        self.progress = TranslationProgress(
            lines=self.progress.lines + len(chunk),
            bytes_read=self.progress.bytes_read + len(chunk.raw),
            bytes_written=self.progress.bytes_written + len(content),
            truncated=self.progress.truncated + len(result.truncated),
            digest=self.digest.hexdigest(),
        )
        self._save_journal()

    def finish(self) -> None:
        """The output takes its name; the journal goes."""
        with storage.explain_os_errors(self.output):
            if self.finished:
                self.partial.unlink()
            else:
                storage.replace_file(self.partial, self.output)
            self.journal.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self.fd)


def _abbreviate(value: Any) -> str:
    """Of a hash as much as tells it from another."""
    if value is None:
        return "not given"
    text = str(value)
    return text if len(text) < 40 else f"{text[:12]}…"
