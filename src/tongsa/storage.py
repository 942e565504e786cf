"""Atomic replacement of files and folders (write a temporary sibling, fsync, rename), folder locks and checksums."""

import errno
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import Any, BinaryIO

from tongsa import bounded_files, system
from tongsa.bounded_files import UnreadableFileError
from tongsa.errors import OS_ERROR_REMEDIES, InputError, describe_os_error

LOCK_TIMEOUT_SECONDS = 30.0
"""Maximum time to wait for a lock: a process that is stopping may still be saving."""


class LockTimeoutError(InputError):
    """Another process has held a lock for too long."""


@contextmanager
def explain_os_errors(path: Path) -> Iterator[None]:
    """Turn errors that the user can fix (full disk, no permission, …) into an InputError that names the path.

    A folder where a file belongs is named itself, because the message says to remove it.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in OS_ERROR_REMEDIES:
            raise
        if error.errno == errno.EISDIR:
            path = Path(error.filename2 or error.filename or path)
        raise InputError(f"{path}: {describe_os_error(error)} Files saved before are intact.") from None


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder. It is created if missing, and removed afterwards if it is still empty.

    The operating system releases the lock when the process ends, even if it is killed.
    """
    with explain_os_errors(folder):
        is_new = not folder.exists()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileNotFoundError:  # although parents=True: a file system such as /proc
            raise InputError(f"{folder}: no folder can be made here. Choose another folder.") from None
    path = system.lock_path(folder)
    with explain_os_errors(folder):
        descriptor = os.open(path, os.O_RDONLY if path == folder else os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _acquire_lock(descriptor, folder, time.monotonic() + LOCK_TIMEOUT_SECONDS)
        yield
    finally:
        os.close(descriptor)
        if path != folder:
            with suppress(OSError):  # another process waits for the lock
                path.unlink()
        if is_new:
            with suppress(OSError):  # the folder is not empty
                folder.rmdir()


@contextmanager
def lock_replacement(path: Path, timeout: float | None = None) -> Iterator[None]:
    """Hold the exclusive right to replace a folder: lock a file next to it, which is removed afterwards.

    Without a timeout, another process is waited for as long as everywhere (`LOCK_TIMEOUT_SECONDS`).

    The folder itself cannot be locked, because its replacement would be another, unlocked folder.
    """
    lock_file = path.with_name(f".{path.name}.lock")
    descriptor = _open_locked(
        lock_file, path, time.monotonic() + (LOCK_TIMEOUT_SECONDS if timeout is None else timeout)
    )
    try:
        yield
    finally:
        if not system.RENAMES_OPEN_FILES:
            os.close(descriptor)
        with suppress(OSError):  # on Windows another process may have opened it
            lock_file.unlink()
        if system.RENAMES_OPEN_FILES:  # only now: whoever gets the lock of the removed file opens a new one
            os.close(descriptor)


def _open_locked(lock_file: Path, path: Path, deadline: float) -> int:
    """Return the descriptor of a locked file that nobody has removed meanwhile."""
    while True:
        with explain_os_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT, 0o666)
        is_locked = False
        try:
            _acquire_lock(descriptor, path, deadline)
            is_locked = _is_same_file(descriptor, lock_file)
        finally:
            if not is_locked:
                os.close(descriptor)
        if is_locked:
            return descriptor


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _acquire_lock(fd: int, folder: Path, deadline: float) -> None:
    while not system.try_lock(fd):
        if time.monotonic() > deadline:
            raise LockTimeoutError(
                f"{folder}: another process is using this folder. Wait for it, stop it, or choose another folder."
            )
        time.sleep(0.2)


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file atomically; create its folder if needed."""
    with replacement_file(path) as file:
        file.write(content)


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Replace a text file atomically by lines that are written as they come; return their number."""
    count = 0
    with replacement_file(path) as file:
        for line in lines:
            file.write(line.encode("utf-8"))
            count += 1
    return count


@contextmanager
def replacement_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file to write that replaces `path`, atomically, if the block ends without an error."""
    with explain_os_errors(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if path.exists() and not path.is_file():  # a rename would replace a device such as /dev/null
            raise InputError(f"{path}: a device or a pipe, which cannot be replaced. Give the name of a file.")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(path.name + ".part")
        temporary.unlink(missing_ok=True)  # of a killed process; it may also be a link, which is not written through
        try:
            with temporary.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        replace_file(temporary, path)


def replace_file(old: Path, new: Path) -> None:
    """Rename a file over another one, atomically and durably."""
    old.replace(new)
    system.fsync_path(new.parent)


def write_text(path: Path, content: str) -> None:
    """Replace a text file atomically, in UTF-8."""
    write_bytes(path, content.encode("utf-8"))


@contextmanager
def replace_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces `path` at the end, after its files are synced to disk.

    Where the system can, both folders are swapped in one step. Elsewhere `path` is missing between two renames. If the
    process is killed there, `recover_folder` finishes the replacement: the new folder is complete by then.
    """
    new, old = _swap_paths(path)
    with explain_os_errors(path):
        recover_folder(path)
        for stale in (new, old):
            remove(stale)
        new.mkdir(parents=True)
        try:
            yield new
        except BaseException:  # nothing has been renamed yet: `path` is unchanged
            shutil.rmtree(new, ignore_errors=True)
            raise
        for file in new.iterdir():
            system.fsync_path(file)
        system.fsync_path(new)
        if not (path.exists() and system.exchange_folders(new, path)):
            if path.exists():
                path.rename(old)
            new.rename(path)
        system.fsync_path(path.parent)
        for replaced in (new, old):
            remove(replaced)  # a link to a folder is replaced like a folder; what it points to stays


def incoming_folder(path: Path) -> Path:
    """Return the temporary folder of `replace_folder(path)`, for other processes that write into it."""
    return _swap_paths(path)[0]


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def table_sha256(table: Mapping[str, Any]) -> str:
    """Return the checksum of a table that is written as JSON; the order of its keys does not matter."""
    return hashlib.sha256(json.dumps(table, sort_keys=True).encode("utf-8")).hexdigest()


def read_verified(path: Path, sha256: str, max_bytes: int) -> bytes:
    """Return the content of a file of a folder with checksums; raise InputError if it is missing or damaged.

    A damaged file is read as a stream and takes no memory.
    """
    if folder_file_sha256(path, max_bytes) != sha256:
        raise UnreadableFileError(path, "damaged (its checksum is wrong)")
    content = bounded_files.read_bytes(path, max_bytes)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise UnreadableFileError(path, "damaged (its checksum is wrong)")
    return content


def folder_file_sha256(path: Path, max_bytes: int = bounded_files.MAX_WEIGHTS_BYTES) -> str:
    """Return the SHA-256 of a file in a model or run folder; raise InputError if it is not a regular file."""
    with bounded_files.open_regular(path, max_bytes) as file:
        try:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        except OSError as error:
            raise UnreadableFileError(path, f"cannot be read ({error.strerror})") from None


def wait_for_replacement(path: Path) -> None:
    """Return when `path` is not between the two renames of a replacement; finish that of a killed process.

    For readers of a folder that is replaced under `lock_replacement`: while its lock is held, they leave it alone.
    """
    deadline, (_, old) = time.monotonic() + LOCK_TIMEOUT_SECONDS, _swap_paths(path)
    while not path.exists() and old.exists() and time.monotonic() < deadline:
        try:
            with lock_replacement(path, timeout=-inf):
                recover_folder(path)
        except LockTimeoutError:
            time.sleep(0.001)


def recover_folder(path: Path) -> None:
    """Finish an interrupted replacement: if `path` is missing, the temporary folder was complete.

    Only for a process that has the exclusive right to replace it.
    """
    new, old = _swap_paths(path)
    if not path.exists() and old.exists():
        (new if new.exists() else old).rename(path)


def remove(path: Path) -> None:
    """Delete a folder, a file or a link, if possible."""
    if path.is_symlink() or not path.is_dir():
        with suppress(OSError):
            path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)


def unfinished_replacements(folder: Path) -> list[Path]:
    """Return the temporary folders in a folder that killed processes left there."""
    return [*folder.glob(".*.incoming"), *folder.glob(".*.outgoing")]


def _swap_paths(path: Path) -> tuple[Path, Path]:
    return path.with_name(f".{path.name}.incoming"), path.with_name(f".{path.name}.outgoing")
