"""Windows, emulated in a child process on Linux: its missing modules, functions and signals, and its rules for files.

This finds what the code takes from POSIX. It does not replace a test on Windows: paths, consoles, line ends of text
streams and the Windows builds of torch and CTranslate2 are those of Linux here.
"""

import ast
import errno
import fcntl
import os
import shutil
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

POSIX_MODULES = ("fcntl", "grp", "posix_ipc", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
POSIX_FUNCTIONS = (
    *("fork", "forkpty", "getloadavg", "getpgid", "getuid", "geteuid", "getgid", "killpg", "mkfifo", "nice", "setsid"),
    *("pread", "sched_getaffinity", "sched_setaffinity", "statvfs", "sysconf", "uname", "chown", "lchown", "sync"),
    *("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC"),
)
POSIX_SIGNALS = ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGUSR1", "SIGUSR2")
PACKAGE = Path(__file__).parents[1] / "src" / "tongsa"
LOCK_NOW = 2
"""The value of msvcrt.LK_NBLCK."""


def emulate_windows() -> None:
    """Change this process for good. Packages of others are imported first: on Windows they have other builds."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for module in modules:
                if module.partition(".")[0] not in ("tongsa", "msvcrt", "comet", "onnx", "ray", "transformers"):
                    import_module(module)
    flock, status_flags = fcntl.flock, fcntl.fcntl
    for name in POSIX_MODULES:
        sys.modules[name] = None  # type: ignore[assignment] # makes its import raise ModuleNotFoundError
    for name in POSIX_FUNCTIONS:
        delattr(os, name)
    for name in POSIX_SIGNALS:
        delattr(signal, name)
    _emulate_locks(flock)
    _emulate_files(status_flags)


def _emulate_locks(flock: Callable[[int, int], None]) -> None:
    def locking(fd: int, mode: int, _: int) -> None:
        assert mode == LOCK_NOW
        try:
            flock(fd, 2 | 4)  # LOCK_EX | LOCK_NB
        except BlockingIOError:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None

    msvcrt: Any = ModuleType("msvcrt")
    msvcrt.LK_NBLCK, msvcrt.locking = LOCK_NOW, locking
    sys.modules["msvcrt"] = msvcrt


def _emulate_files(status_flags: Callable[[int, int], int]) -> None:
    real_open, real_fsync = os.open, os.fsync
    shutil._use_fd_functions = False  # type: ignore[attr-defined] # there are no functions with dir_fd

    def open_file(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        if isinstance(path, str | os.PathLike) and Path(path).is_dir():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real_open(path, flags, *arguments, **options)

    def fsync(fd: int) -> None:
        if status_flags(fd, 3) & os.O_ACCMODE == os.O_RDONLY:  # F_GETFL
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real_fsync(fd)

    os.open, os.fsync = open_file, fsync  # type: ignore[assignment]
    for name in ("replace", "rename", "unlink", "remove"):
        setattr(os, name, _refuse_open_files(getattr(os, name), may_replace=name != "rename"))


def _refuse_open_files(function: Callable[..., None], *, may_replace: bool) -> Callable[..., None]:
    def refuse_or_call(*paths: Any, **options: Any) -> None:
        for path in map(Path, paths):
            if _is_open(path):
                raise PermissionError(errno.EACCES, "the file is open", str(path))
        if not may_replace and Path(paths[1]).exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(paths[1]))
        function(*paths, **options)

    return refuse_or_call


def _is_open(path: Path) -> bool:
    """Return whether this process has opened or mapped a file, or a file in this folder."""
    target = str(path.resolve())
    opened = [str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    mapped = [line.split(maxsplit=5)[-1] for line in Path("/proc/self/maps").read_text("utf-8").splitlines()]
    return any(name == target or name.startswith(target + "/") for name in (*opened, *mapped))
