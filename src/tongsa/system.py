"""Operating system services that differ between Linux, macOS and Windows: locks, renames, fsync, memory, open files.

Windows has neither fcntl nor resource. It cannot open a folder, and cannot rename or delete a file that is open. All
other modules use only functions of Python that every system has; `tests/test_system.py` checks this.
"""

import ctypes
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
msvcrt: ModuleType | None
resource: ModuleType | None
try:
    import fcntl
    import resource
except ImportError:
    fcntl = resource = None
try:
    import msvcrt
except ImportError:
    msvcrt = None

O_BINARY: int = getattr(os, "O_BINARY", 0)
"""Flag of `os.open` for bytes without translation of line ends; 0 where there is none."""
O_NO_WAITING: int = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
"""Flags of `os.open` that do not wait for the writer of a pipe and do not follow a link; 0 on Windows."""
RENAMES_OPEN_FILES = fcntl is not None
"""False on Windows: a file must be closed before it is renamed or deleted."""
LOCKED_BYTE = 1 << 40
"""Offset of the byte that is locked on Windows, far behind the content: a locked byte cannot be read by others."""
AT_FDCWD, RENAME_EXCHANGE = -100, 2
"""Arguments of Linux's renameat2: paths as usual; swap them."""
MAX_READ_BYTES = 1 << 30
"""Bytes of one call that reads: Linux stops at 2 GiB."""
LOOPBACK_INTERFACES = {"linux": "lo", "darwin": "lo0"}
"""Name of the network interface of 127.0.0.1, for Gloo; Windows finds it by the address."""
_seek_lock = threading.Lock()


def try_lock(fd: int) -> bool:
    """Lock an open file or folder exclusively. Return False if another process holds the lock.

    The system releases the lock when the file is closed or the process ends. Return True without a lock if the file
    system has none.
    """
    try:
        if fcntl is not None:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            position = os.lseek(fd, 0, os.SEEK_CUR)
            os.lseek(fd, LOCKED_BYTE, os.SEEK_SET)
            try:
                msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(fd, position, os.SEEK_SET)
    except (BlockingIOError, PermissionError):  # of flock, and of msvcrt
        return False
    except OSError:
        return True
    return True


def lock_path(folder: Path) -> Path:
    """Return the path to open for a lock on a folder: the folder itself, or a file in it on Windows."""
    return folder if fcntl is not None else folder / ".lock"


def open_without_waiting(path: Path) -> int:
    """Open a file for reading and return its descriptor. A pipe does not block, and a link is not followed.

    Windows has neither flag: there a link is followed, and pipes are no files.
    """
    return os.open(path, os.O_RDONLY | O_BINARY | O_NO_WAITING)


def _seek_and_read(fd: int, size: int, offset: int) -> bytes:
    with _seek_lock:  # an open file has one position for all threads
        os.lseek(fd, offset, os.SEEK_SET)
        return os.read(fd, size)


_read_once = os.pread if hasattr(os, "pread") else _seek_and_read


def read_at(fd: int, size: int, offset: int) -> bytes:
    """Return `size` bytes of an open file, fewer at its end. Several threads may read the same file."""
    content = _read_once(fd, min(size, MAX_READ_BYTES), offset)
    while (missing := size - len(content)) and (
        more := _read_once(fd, min(missing, MAX_READ_BYTES), offset + len(content))
    ):
        content += more
    return content


def exchange_folders(first: Path, second: Path) -> bool:
    """Swap two folders in one step, so that neither name is ever missing. Return False, with no change, if impossible.

    It is possible on Linux, on most file systems.
    """
    if sys.platform != "linux":
        return False
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):  # a C library without this function
        return False
    result: int = rename(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE)
    return result == 0


def fsync_path(path: Path) -> None:
    """Flush a file or a folder to disk. On Windows folders cannot be flushed, and files only if opened for writing."""
    if fcntl is None and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY if fcntl is not None else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def reset_peak_memory() -> None:
    """Reset the peak of `peak_memory`. Where the system cannot, it is the peak since the start of the process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii", newline="\n")


def peak_memory() -> int | None:
    """Return the peak memory of this process in bytes; None where Python cannot measure it (Windows)."""
    if resource is None:
        return None
    with suppress(OSError, StopIteration):  # on Linux ru_maxrss is inherited from the parent process, VmHWM is not
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes on macOS, in KiB elsewhere
    return peak if sys.platform == "darwin" else peak * 1024


def available_memory() -> int | None:
    """Return the bytes that this process can still allocate; None where Python cannot tell (Windows)."""
    if not hasattr(os, "sysconf"):
        return None
    available: int = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError, StopIteration):  # Linux also counts what other processes use
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    with suppress(OSError, ValueError):  # a container may have a lower limit than its machine
        limit, used = (Path("/sys/fs/cgroup", name).read_text("ascii") for name in ("memory.max", "memory.current"))
        available = min(available, int(limit) - int(used))
    return available


def allow_open_files(count: int) -> None:
    """Raise the limit of open files and connections of this process, as far as the system permits."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        with suppress(OSError, ValueError):  # macOS has another, lower limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def cpu_vendor() -> str:
    """Return the vendor as the CPU names itself, such as "GenuineIntel" or "AuthenticAMD"; "" where it is not known."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", errors="replace").splitlines()
    except OSError:
        # Windows: "AMD64 Family 25 Model 33 Stepping 0, AuthenticAMD"
        return os.environ.get("PROCESSOR_IDENTIFIER", "").rpartition(", ")[2]
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("vendor_id")), "")
