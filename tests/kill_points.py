"""Processes that are killed at the k-th system call that changes the file system: rename, fsync, mkdir, unlink, ….

The functions of `os` are replaced in a forked child. So the child dies by SIGKILL, exactly before or after such a call,
with the files as they are at that moment.
"""

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

CALLS = ("rename", "replace", "fsync", "mkdir", "unlink", "remove", "rmdir", "truncate", "ftruncate", "link", "symlink")
"""Functions of `os`. A call of one that is implemented by another, such as `makedirs`, counts once."""
MAX_SECONDS = 120.0


def killed_before_call(count: int, work: Callable[[], object], *, after: bool = False) -> bool:
    """Run `work` in a child that dies before its call number `count`, or after it.

    Return False if it ended before: it has fewer calls. Its messages go nowhere.
    """
    status = _wait(_fork(lambda: _die_at(count, after=after), work))
    assert os.WIFEXITED(status) or os.WTERMSIG(status) == signal.SIGKILL, f"ended with status {status}"
    return os.WIFSIGNALED(status)


def count_calls(work: Callable[[], object]) -> list[str]:
    """Return the names of all calls of `work`, which runs in a child to its end."""
    reader, writer = os.pipe()

    def prepare() -> None:
        _patch(lambda name: os.write(writer, f"{name}\n".encode()))

    pid = _fork(prepare, work)
    os.close(writer)
    with os.fdopen(reader, encoding="ascii") as names:
        calls = names.read().split()
    assert os.WEXITSTATUS(_wait(pid)) == 0, "the undisturbed work failed"
    return calls


def kill_during(work: Callable[[], object], seconds: float) -> bool:
    """Run `work` in a child, and kill it after some seconds; return False if it ended before."""
    pid = _fork(lambda: None, work)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def _die_at(count: int, *, after: bool) -> None:
    calls = [0]

    def before(_: str) -> None:
        calls[0] += 1
        if calls[0] == count + after:
            os.kill(os.getpid(), signal.SIGKILL)

    _patch(before)


def _patch(before: Callable[[str], object]) -> None:
    for name in CALLS:
        setattr(os, name, _call_after(before, name, getattr(os, name)))


def _call_after(before: Callable[[str], object], name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def call_after(*arguments: Any, **options: Any) -> Any:
        before(name)
        return call(*arguments, **options)

    return call_after


def _fork(prepare: Callable[[], None], work: Callable[[], object]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork in a process with threads
        pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        quiet = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(quiet, stream)
        sys.stdout, sys.stderr = (Path(os.devnull).open("w", encoding="utf-8") for _ in range(2))  # noqa: SIM115
        prepare()
        result = work()
        code = result if isinstance(result, int) else 0
    finally:
        os._exit(code)
    raise AssertionError


def _wait(pid: int) -> int:
    deadline = time.monotonic() + MAX_SECONDS
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError(f"a child did not end in {MAX_SECONDS:.0f} s")
        time.sleep(0.002)
