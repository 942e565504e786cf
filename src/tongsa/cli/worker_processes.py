"""Worker processes of `tongsa train --workers N`: like torchrun, for the cores or GPUs of this machine."""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import IO

from tongsa import system
from tongsa.errors import EXIT_FAILURE, EXIT_OK, InputError
from tongsa.program import PROGRAM_VARIABLE, format_command, program_name

SHUTDOWN_TIMEOUT_SECONDS = 20.0
"""Time for the other workers to stop by themselves after one has failed."""
MIN_WORKER_LIMIT = 8
"""Number of workers that any machine may start, to try them."""
RESUME_HINT = f"The last checkpoint is intact. Resume with {format_command('train --resume RUN')}."
PR_SET_PDEATHSIG = 1
LOOPBACK = "127.0.0.1"
Worker = subprocess.Popen[bytes]


def check_count(workers: int) -> None:
    """Raise InputError for more workers than this machine has cores; torchrun has no such limit."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = max(MIN_WORKER_LIMIT, cores)
    if workers > limit:
        raise InputError(
            f"--workers {workers}: too many for the {cores} cores of this machine. "
            f"Give at most {limit}, or start more with torchrun (docs/scaling.md)."
        )


def launch_workers(argv: Sequence[str], world_size: int) -> int:
    """Run `tongsa` with these arguments in `world_size` processes and return the exit code of the run."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    store = TCPStore(LOOPBACK, 0, is_master=True, wait_for_workers=False)
    with tempfile.TemporaryFile() as stderr_file:  # of ranks above 0; printed if the exit code is not that of rank 0
        workers = [_start_worker(argv, rank, world_size, store.port, stderr_file) for rank in range(world_size)]
        old_handlers = {
            signum: signal.signal(signum, lambda signum, _: _send_signal(workers, signum))
            for signum in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            failed_rank = wait_for_workers(workers)
        finally:
            for signum, handler in old_handlers.items():
                signal.signal(signum, handler)
        return _run_exit_code(workers, failed_rank, stderr_file)


def _start_worker(argv: Sequence[str], rank: int, world_size: int, port: int, stderr_file: IO[bytes]) -> Worker:
    ranks = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world_size, "LOCAL_WORLD_SIZE": world_size}
    rendezvous: dict[str, object] = {
        "MASTER_ADDR": LOOPBACK,
        "MASTER_PORT": port,
        "TORCHELASTIC_USE_AGENT_STORE": True,
        "TORCHELASTIC_RESTART_COUNT": 0,
        "TONGSA_LAUNCHER": os.getpid(),
        PROGRAM_VARIABLE: program_name(),
    }
    if interface := system.LOOPBACK_INTERFACES.get(sys.platform):
        rendezvous["GLOO_SOCKET_IFNAME"] = interface
    environment = os.environ | {name: str(value) for name, value in (ranks | rendezvous).items()}
    return subprocess.Popen(
        [sys.executable, "-m", "tongsa.cli", *argv],
        env=environment,
        stderr=stderr_file if rank else None,
        start_new_session=True,  # Ctrl-C reaches the workers once, through the launcher
    )


def terminate_with_launcher() -> None:
    """Ask the kernel for SIGTERM when the launcher dies, so that this worker saves and stops."""
    if (launcher := os.environ.get("TONGSA_LAUNCHER")) and sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != int(launcher):
            raise InputError("--workers: the process that started this worker has ended. Start the command again.")


def _send_signal(workers: Sequence[Worker], signum: int) -> None:
    if sys.platform == "win32" and signum == signal.SIGINT:
        return  # the console has sent Ctrl-C to the workers too
    for worker in workers:
        if worker.poll() is None:
            worker.send_signal(signum)


def wait_for_workers(workers: Sequence[Worker]) -> int:
    """Wait until all workers have ended and return the rank whose exit code best explains the outcome.

    When one fails, the others have SHUTDOWN_TIMEOUT_SECONDS to stop and are then killed.
    """
    remaining = SHUTDOWN_TIMEOUT_SECONDS
    while any(worker.poll() is None for worker in workers) and remaining > 0:
        time.sleep(0.05)
        if any(worker.poll() for worker in workers):
            remaining -= 0.05
    decisive_rank = max(range(len(workers)), key=lambda rank: _exit_code_priority(workers[rank].poll() or EXIT_OK))
    for worker in workers:
        worker.kill()  # does nothing if the worker has ended
        worker.wait()
    return decisive_rank


def _exit_code_priority(exit_code: int) -> int:
    """Return the priority of an exit code: killed by a signal, then bad input or interrupted, then a lost worker."""
    return 3 if exit_code < 0 else {EXIT_OK: 0, EXIT_FAILURE: 1}.get(exit_code, 2)


def _run_exit_code(workers: Sequence[Worker], failed_rank: int, stderr_file: IO[bytes]) -> int:
    code: int = workers[failed_rank].returncode
    if code < 0:
        name = signal.Signals(-code).name
        print(f"tongsa: worker {failed_rank} was killed ({name}). {RESUME_HINT}", file=sys.stderr)  # noqa: T201
        return EXIT_FAILURE
    if code != workers[0].returncode:
        stderr_file.seek(0)
        sys.stderr.write(stderr_file.read().decode("utf-8", "replace"))
    return code
