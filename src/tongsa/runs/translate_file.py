"""Resumable output of a translation job: one line out for each line in, none twice and none lost.

Lines are written to OUT.partial. After each chunk the file is flushed to disk, then a small journal next to it records
the progress. Bytes of OUT.partial after that position belong to an unfinished chunk; a resumed job truncates them. The
output of a chunk depends only on the chunk and its position. So a resumed job writes the same bytes as an uninterrupted
one. The input is identified by the hash of the bytes read, not by name or date: later lines may still be edited.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tongsa import storage, system
from tongsa.bounded_files import UnreadableFileError, read_json
from tongsa.data.chunks import Chunk, ChunkReader
from tongsa.errors import InputError

RESTART_HINT = "start again with --restart"


class TranslatedChunk(NamedTuple):
    """Output lines of a chunk."""

    lines: Sequence[str]
    truncated: Sequence[int] = ()
    """Indices of lines that were longer than the model can read."""
    remarks: Sequence[tuple[int, str]] = ()
    """Index of a line and a remark: unlike the training data, or glossary terms that were left out."""


@dataclass(frozen=True, kw_only=True)
class TranslationProgress:
    """Progress of a job."""

    lines: int = 0
    bytes_read: int = 0
    """Bytes of the input, uncompressed."""
    bytes_written: int = 0
    """Bytes of the output."""
    truncated: int = 0
    """Number of lines that were longer than the model can read."""
    remarked: int = 0
    """Number of lines with a remark."""
    input_sha256: str = hashlib.sha256().hexdigest()
    """SHA-256 of the bytes read."""


class ResumableOutput:
    """The output file of a job: `resume`, then `write` each chunk, then `finish`."""

    def __init__(self, output: Path, settings: Mapping[str, Any], *, restart: bool = False) -> None:
        """`settings` determine the output, together with the input. A job resumes only with equal settings."""
        self.output = output
        self.partial = output.with_name(output.name + ".partial")
        self.journal = output.with_name(output.name + ".journal.json")
        self.settings = json.loads(json.dumps(settings))
        self.digest, self.is_closed = hashlib.sha256(), False
        with storage.explain_os_errors(output):
            if not restart:
                self._require_journal()
            if output.exists() and not output.is_file():
                raise InputError(f"{output}: not a regular file. Name another file.")
            if self.partial.is_symlink() or (self.partial.exists() and not self.partial.is_file()):
                raise InputError(f"{self.partial}: a link, a folder or a pipe, not a file of tongsa. Delete it.")
            output.parent.mkdir(parents=True, exist_ok=True)
            self.fd = os.open(self.partial, os.O_RDWR | os.O_CREAT | system.O_BINARY, 0o666)
        try:
            self._lock()
            self.progress = self._load_progress() if self.journal.exists() and not restart else TranslationProgress()
            self.finished = self._is_output_complete()
            self._save_journal()  # before the output changes: without a journal it cannot be resumed
            if not self.finished:
                os.ftruncate(self.fd, self.progress.bytes_written)
                os.lseek(self.fd, self.progress.bytes_written, os.SEEK_SET)
        except BaseException:
            self._close()
            raise

    def _require_journal(self) -> None:
        if self.partial.exists() and self.partial.stat().st_size and not self.journal.exists():
            raise InputError(f"{self.partial}: its journal is missing. Delete it, or {RESTART_HINT}.")

    def _lock(self) -> None:
        """Lock the output until this process ends."""
        if not system.try_lock(self.fd):
            raise InputError(f"{self.partial}: another process is writing it. Wait for it, or stop it.")

    def _load_progress(self) -> TranslationProgress:
        """Return the progress of an earlier job with the same settings."""
        try:
            record = read_json(self.journal)
            progress, settings = TranslationProgress(**record["progress"]), record["settings"]
            if not isinstance(settings, dict):
                raise TypeError("the settings are not a table")
            numbers = [number for name, number in asdict(progress).items() if name != "input_sha256"]
            if not all(type(number) is int and number >= 0 for number in numbers):
                raise ValueError("a position that is not a number from 0")
            if not re.fullmatch("[0-9a-f]{64}", progress.input_sha256):
                raise ValueError("input_sha256 is not a SHA-256")
        except UnreadableFileError as error:
            raise InputError(f"{self.journal}: {error.reason}. Restore it, or {RESTART_HINT}.") from None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise InputError(f"{self.journal}: damaged ({error}). Restore it, or {RESTART_HINT}.") from None
        changed = [
            f"{name} was {_abbreviate(settings.get(name))} and is {_abbreviate(self.settings.get(name))}"
            for name in sorted(settings.keys() | self.settings.keys())
            if settings.get(name) != self.settings.get(name)
        ]
        if changed and progress.lines:
            raise InputError(
                f"{self.partial}: started with other settings: {', '.join(changed)}. Use the same, or {RESTART_HINT}."
            )
        return progress

    def _is_output_complete(self) -> bool:
        """Return whether the job died after its output was renamed, so that only the journal is left to delete."""
        size, written = os.fstat(self.fd).st_size, self.progress.bytes_written
        if size >= written:
            return False
        if self.output.is_file() and self.output.stat().st_size == written:
            return True
        raise InputError(
            f"{self.partial}: {size:,} bytes, but {written:,} were written. Restore it, or {RESTART_HINT}."
        )

    def _save_journal(self) -> None:
        record = {"settings": self.settings, "progress": asdict(self.progress)}
        storage.write_text(self.journal, json.dumps(record, indent=1))  # ASCII: a prefix may hold a lone surrogate

    def resume(self, reader: ChunkReader) -> None:
        """Skip the input that was translated before, and check that it is unchanged."""
        for block in reader.read_prefix(self.progress.bytes_read, self.progress.lines):
            self.digest.update(block)
        if self.digest.hexdigest() != self.progress.input_sha256:
            raise InputError(
                f"{reader.name}: its first {self.progress.lines:,} lines are not those that were translated into "
                f"{self.partial}. Use the same input, or {RESTART_HINT}."
            )

    def write(self, chunk: Chunk, result: TranslatedChunk) -> None:
        """Write a chunk; it is on disk when this returns."""
        content = "".join(f"{line}\n" for line in result.lines).encode()
        assert content.count(b"\n") == len(chunk), "one line out for each line in"  # noqa: S101
        with storage.explain_os_errors(self.partial):
            remaining = memoryview(content)
            while remaining:
                remaining = remaining[os.write(self.fd, remaining) :]
            os.fsync(self.fd)
        self.digest.update(chunk.raw)
        self.progress = TranslationProgress(
            lines=self.progress.lines + len(chunk),
            bytes_read=self.progress.bytes_read + len(chunk.raw),
            bytes_written=self.progress.bytes_written + len(content),
            truncated=self.progress.truncated + len(result.truncated),
            remarked=self.progress.remarked + len(result.remarks),
            input_sha256=self.digest.hexdigest(),
        )
        self._save_journal()

    def finish(self) -> None:
        """Rename the partial file to the output, and delete the journal."""
        if not system.RENAMES_OPEN_FILES:
            self._close()
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
        self._close()

    def _close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            os.close(self.fd)


def _abbreviate(value: Any) -> str:
    """Return a value for a message; a hash is shortened to its first characters."""
    if value is None:
        return "not given"
    text = str(value)
    return text if len(text) < 40 else f"{text[:12]}…"
