"""Files that are either whole or not there: written beside, flushed to the disk, then renamed."""

import errno
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tongsa.errors import InputError

if sys.platform != "win32":
    import fcntl

LOCK_TIMEOUT_SECONDS = 30.0
"""Seconds that a process on its way out, which may still save, is waited for."""


@contextmanager
def explain_os_errors(path: Path) -> Iterator[None]:
    """A disk that is full or closed to us is the user's to mend; nothing that was there before is touched."""
    try:
        yield
    except OSError as error:
        reasons = {
            errno.ENOSPC: "the disk is full; free some space",
            errno.EDQUOT: "your disk quota is used up; free some space",
            errno.EACCES: "no permission to write there; choose another folder",
            errno.EROFS: "the disk is read-only; choose another folder",
            errno.ENOTDIR: "a part of this path is a file; choose another folder",
            errno.EEXIST: "a file of this name is in the way; choose another folder",
            errno.EISDIR: "a folder of this name is there; name a file",
            errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
            errno.EFBIG: "the file is larger than the disk or your limits allow; raise the limit (ulimit -f)",
        }
        if error.errno not in reasons:
            raise
        raise InputError(f"{path}: {reasons[error.errno]}, then go on; what was saved before is whole") from None


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """A folder that no other process works on meanwhile; made if it is not there, and gone again if nothing came of it.

    The system lets go of it when this process ends, however it does.
    """
    with explain_os_errors(folder):
        new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        _acquire_lock(handle, folder, time.monotonic() + LOCK_TIMEOUT_SECONDS)
        yield
    finally:
        os.close(handle)
        if new:
            with suppress(OSError):  # not empty: something came of it
                folder.rmdir()


def _acquire_lock(fd: int, folder: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise InputError(
                    f"{folder}: another process is training there; wait for it, stop it, or choose another folder"
                ) from None
            time.sleep(0.2)
        except OSError:  # a file system without locks
            return
        else:
            return


def write_bytes(path: Path, content: bytes) -> None:
    with explain_os_errors(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        replace_file(part, path)


def replace_file(old: Path, new: Path) -> None:
    """A file takes its name, in place of what is there; on the disk when this returns."""
    old.replace(new)
    _fsync(new.parent)


def write_text(path: Path, content: str) -> None:
    write_bytes(path, content.encode("utf-8"))


@contextmanager
def replace_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which takes the place of `path` when all in it is on the disk.

    A death between the two renames leaves the new one complete under its other name; `settle` finds it.
    """
    new, old = _swap_paths(path)
    with explain_os_errors(path):
        recover_folder(path)
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)
        new.mkdir(parents=True)
        try:
            yield new
        except BaseException:  # nothing has been renamed yet
            shutil.rmtree(new, ignore_errors=True)
            raise
        for file in new.iterdir():
            _fsync(file)
        _fsync(new)
        if path.exists():
            path.rename(old)
        new.rename(path)
        _fsync(path.parent)
        shutil.rmtree(old, ignore_errors=True)


def incoming_folder(path: Path) -> Path:
    """Where another process fills the folder that will be `path`."""
    return _swap_paths(path)[0]


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def recover_folder(path: Path) -> None:
    """Finish a replacement that was cut short: if `path` is gone, its successor was complete."""
    new, old = _swap_paths(path)
    if not path.exists() and old.exists():
        (new if new.exists() else old).rename(path)


def _swap_paths(path: Path) -> tuple[Path, Path]:
    return path.with_name(f".{path.name}.incoming"), path.with_name(f".{path.name}.outgoing")


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
