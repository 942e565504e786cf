"""`tongsa train --workers N`: the short way to torchrun, for the cores or GPUs of this machine."""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import IO

from tongsa.errors import EXIT_FAILURE, EXIT_OK, InputError

SHUTDOWN_TIMEOUT_SECONDS = 20.0
"""Seconds for the others to stop by themselves when one worker has."""
RESUME_HINT = "what was saved is whole: go on with tongsa train --resume"
PR_SET_PDEATHSIG = 1
LOOPBACK = "127.0.0.1"


def launch(argv: Sequence[str], world_size: int) -> int:
    """Run `tongsa` with these arguments in several workers that know of each other; the exit code of the run."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    store = TCPStore(LOOPBACK, 0, is_master=True, wait_for_workers=False)
    with tempfile.TemporaryFile() as unheard:  # what the others say is heard only if the first one is silent
        workers = [_start_worker(argv, rank, world_size, store.port, unheard) for rank in range(world_size)]
        before = {
            number: signal.signal(number, lambda number, _: _send_signal(workers, number))
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            failed = wait_for_workers(workers)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return _run_exit_code(workers, failed, unheard)


def _start_worker(
    argv: Sequence[str], rank: int, world_size: int, port: int, stderr_file: IO[bytes]
) -> "subprocess.Popen[bytes]":
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world_size, "LOCAL_WORLD_SIZE": world_size}
    meeting = {
        "MASTER_ADDR": LOOPBACK,
        "MASTER_PORT": port,
        "TORCHELASTIC_USE_AGENT_STORE": True,
        "TORCHELASTIC_RESTART_COUNT": 0,
        "GLOO_SOCKET_IFNAME": "lo",
        "TONGSA_LAUNCHER": os.getpid(),
    }
    environment = os.environ | {name: str(value) for name, value in (place | meeting).items()}
    return subprocess.Popen(
        [sys.executable, "-m", "tongsa.cli", *argv],
        env=environment,
        stderr=stderr_file if rank else None,
        start_new_session=True,  # Ctrl-C reaches them once, from here
    )


def terminate_with_launcher() -> None:
    """A worker whose launcher is killed is asked to save and stop."""
    if (launcher := os.environ.get("TONGSA_LAUNCHER")) and sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != int(launcher):
            raise InputError("the process that started this worker is gone")


def _send_signal(workers: Sequence["subprocess.Popen[bytes]"], signum: int) -> None:
    for worker in workers:
        if worker.poll() is None:
            worker.send_signal(signum)


def wait_for_workers(workers: Sequence["subprocess.Popen[bytes]"]) -> int:
    """Wait until all have ended; the one whose end explains the run's, for the others may have failed because of it."""
    patience = SHUTDOWN_TIMEOUT_SECONDS
    while any(worker.poll() is None for worker in workers) and patience > 0:
        time.sleep(0.05)
        if any(worker.poll() for worker in workers):
            patience -= 0.05
    found = max(range(len(workers)), key=lambda rank: _exit_code_priority(workers[rank].poll() or EXIT_OK))
    _send_signal(workers, signal.SIGKILL)  # those that did not stop in time
    for worker in workers:
        worker.wait()
    return found


def _exit_code_priority(exit_code: int) -> int:
    """Killed by a signal says more than a mistake explained or a stop asked for, and that more than others lost."""
    return 3 if exit_code < 0 else {EXIT_OK: 0, EXIT_FAILURE: 1}.get(exit_code, 2)


def _run_exit_code(workers: Sequence["subprocess.Popen[bytes]"], failed_rank: int, stderr_file: IO[bytes]) -> int:
    code: int = workers[failed_rank].returncode
    if code < 0:
        print(f"tongsa: worker {failed_rank} was killed ({signal.Signals(-code).name}); {RESUME_HINT}", file=sys.stderr)  # noqa: T201
        return 1
    if code != workers[0].returncode:
        stderr_file.seek(0)
        sys.stderr.write(stderr_file.read().decode("utf-8", "replace"))
    return code
