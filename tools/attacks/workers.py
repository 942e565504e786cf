"""Child processes that run cases: several at a time, replaced when they crash or hang, killed at the deadline."""

import os
import resource
import selectors
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from attacks import ATTACKS
from attacks.fixture import Fixture
from attacks.outcomes import FALLS, Outcome, WrongAnswerError, message_fault
from tongsa import system
from tongsa.errors import InputError

BATCH_CASES, CASE_SECONDS = 500, 60.0
"""Cases of one child process, and the seconds that a case may take."""
MAX_PEAK_BYTES, MAX_ADDRESS_BYTES = 600 << 20, 12 << 30
"""Peak memory (RSS) above which a case has fallen, and the limit of address space of a child."""


@dataclass(frozen=True)
class Result:
    """Outcome of a case."""

    number: int
    outcome: Outcome
    peak_mib: int = 0
    reason: str = ""


def run_case(name: str, number: int, seed: int, fixture: Fixture, scratch: Path) -> Result:
    """Run one case in this process, in an empty folder."""
    system.reset_peak_memory()
    outcome, reason = _judge(name, Random(f"{seed} {name} {number}"), fixture, scratch)
    peak = system.peak_memory() or 0
    is_limited = ATTACKS[name].limits_success or outcome != Outcome.NO_EFFECT
    if peak > MAX_PEAK_BYTES and is_limited and outcome not in FALLS:
        outcome, reason = Outcome.MEMORY, f"{peak >> 20} MiB ({outcome} {reason})"
    return Result(number, outcome, peak >> 20, reason)


def _judge(name: str, rng: Random, fixture: Fixture, scratch: Path) -> tuple[Outcome, str]:
    try:
        return ATTACKS[name].case(rng, fixture, scratch), ""
    except InputError as error:
        fault = message_fault(str(error).replace(str(scratch), "FOLDER").replace(str(fixture.folder), "FOLDER"))
        return (Outcome.BAD_MESSAGE, f"{fault}: {str(error)[:500]!r}") if fault else (Outcome.REFUSED, "")
    except WrongAnswerError as error:
        return Outcome.WRONG_ANSWER, str(error)
    except Exception as error:  # noqa: BLE001 - that is what is counted
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {str(error)[:200]!r} ({Path(where.filename).name}:{where.lineno})"
        return Outcome.TRACEBACK, text
    finally:
        os.chdir("/")
        for path in [*scratch.iterdir()]:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() and not path.is_symlink() else path.unlink()


class Child:
    """A process that runs the cases of a range, and writes the result of each as a line to a pipe."""

    def __init__(self, name: str, numbers: range, seed: int, fixture: Fixture) -> None:
        self.numbers, self.buffer, self.last_time, self.is_full = numbers, b"", time.monotonic(), False
        self.scratch = Path(tempfile.mkdtemp(prefix="attack-"))
        self.reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()  # its own children are killed with it
                os.close(self.reader)
                self._run(name, seed, fixture, writer)
            finally:
                os._exit(0)
        os.close(writer)

    def _run(self, name: str, seed: int, fixture: Fixture, output: int) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_BYTES, MAX_ADDRESS_BYTES))
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        for number in self.numbers:
            result = run_case(name, number, seed, fixture, self.scratch)
            reason = " ".join(result.reason.split())[:3000]
            os.write(output, f"{number}\t{result.outcome}\t{result.peak_mib}\t{reason}\n".encode("utf-8", "replace"))
            if result.outcome == Outcome.MEMORY:
                return  # a new process: this one may keep the memory

    def read(self) -> list[Result] | None:
        """Return the results that have arrived; None when the process has ended."""
        data = os.read(self.reader, 1 << 16)
        if not data:
            return None
        self.last_time = time.monotonic()
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        results = [_parse_line(line.decode("utf-8", "replace")) for line in lines]
        self.numbers = self.numbers[len(results) :]
        self.is_full = any(result.outcome == Outcome.MEMORY for result in results)
        return results

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)  # before its setsid it has no group
        os.close(self.reader)
        os.waitpid(self.pid, 0)
        shutil.rmtree(self.scratch, ignore_errors=True)


def _parse_line(line: str) -> Result:
    number, outcome, peak, reason = line.split("\t", 3)
    return Result(int(number), Outcome(outcome), int(peak), reason)


def run_cases(
    name: str, numbers: range, seed: int, fixture: Fixture, *, processes: int, deadline: float
) -> Iterator[Result]:
    """Yield the result of each case until the deadline. A child that crashes or hangs is replaced after that case."""
    size = max(1, min(BATCH_CASES, -(-len(numbers) // processes)))
    waiting = [numbers[i : i + size] for i in range(0, len(numbers), size)][::-1]
    with selectors.DefaultSelector() as selector:
        children: list[Child] = []
        try:
            while (waiting or children) and time.monotonic() < deadline:
                while waiting and len(children) < processes:
                    children.append(child := Child(name, waiting.pop(), seed, fixture))
                    selector.register(child.reader, selectors.EVENT_READ, child)
                ready = [key.data for key, _ in selector.select(timeout=1.0)]
                for child in list(children):
                    results = child.read() if child in ready else []
                    yield from results or ()
                    is_hanging = time.monotonic() - child.last_time > CASE_SECONDS
                    if results is None or is_hanging:
                        selector.unregister(child.reader)
                        children.remove(child)
                        child.end()
                        if child.numbers and not child.is_full:
                            outcome = Outcome.HANG if is_hanging else Outcome.TRACEBACK
                            yield Result(child.numbers[0], outcome, reason="" if is_hanging else "the process crashed")
                            child.numbers = child.numbers[1:]
                        waiting += [child.numbers] if child.numbers else []
        finally:
            for child in children:
                child.end()
