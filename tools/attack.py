"""Attack on the loading code: damaged and hostile model and run folders, in child processes with limits.

Usage: python tools/attack.py [--seed N] [--cases N] [--minutes M] [--only ATTACK]
Prints a table: attack, cases, held, and those that fell by a traceback, a hang, a wrong answer or too much memory.
Exit code 1 if any fell. A case is a function of the seed, the attack and its number: --first repeats one.
"""

import argparse
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import torch

from attack_cases import ATTACKS, WEIGHTS, Fixture, WrongAnswerError, is_sentence, make_fixture
from tongsa import system
from tongsa.errors import InputError

BATCH_CASES, CASE_SECONDS = 500, 30.0
"""Cases of one child process, and the seconds that a case may take."""
MAX_PEAK_BYTES, MAX_ADDRESS_BYTES = 600 << 20, 12 << 30
"""Peak memory (RSS) above which a case has fallen, and the limit of address space of a child."""
OUTCOMES = ("held", "traceback", "hang", "wrong answer", "memory")


def run_case(name: str, number: int, seed: int, fixture: Fixture) -> tuple[str, str]:
    """Run one case in this process; return its outcome and a reason."""
    system.reset_peak_memory()
    scratch = Path(tempfile.mkdtemp(prefix="attack-"))
    try:
        ATTACKS[name](Random(f"{seed} {name} {number}"), fixture, scratch)
    except InputError as error:
        if not is_sentence(error):
            return "traceback", f"not a sentence: {str(error)[:300]!r}"
    except WrongAnswerError as error:
        return "wrong answer", str(error)
    except Exception as error:  # noqa: BLE001 - that is what is counted
        where = traceback.extract_tb(error.__traceback__)[-1]
        return "traceback", f"{type(error).__name__}: {str(error)[:200]!r} ({Path(where.filename).name}:{where.lineno})"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    peak = system.peak_memory() or 0
    return ("memory", f"{peak >> 20} MiB") if peak > MAX_PEAK_BYTES else ("held", "")


def run_batch(name: str, numbers: range, seed: int, fixture: Fixture, output: int) -> None:
    """Run cases in a child process; write the outcome of each as a line."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_BYTES, MAX_ADDRESS_BYTES))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    for number in numbers:
        outcome, reason = run_case(name, number, seed, fixture)
        os.write(output, f"{number}\t{outcome}\t{' '.join(reason.split())}\n".encode()[:4000])


def child_lines(name: str, numbers: range, seed: int, fixture: Fixture) -> Generator[str, None, None]:
    """Yield the lines of a child; end when it has ended, has crashed, or has hung and was killed."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            run_batch(name, numbers, seed, fixture, writer)
        finally:
            os._exit(0)
    os.close(writer)
    buffer = b""
    try:
        while True:
            if not select.select([reader], [], [], CASE_SECONDS)[0]:
                yield f"{numbers[-1]}\thang\t"
                return
            data = os.read(reader, 1 << 16)
            if not data:
                return
            *lines, buffer = (buffer + data).split(b"\n")
            yield from (line.decode("utf-8", "replace") for line in lines)
    finally:
        os.close(reader)
        os.kill(pid, signal.SIGKILL)  # at a deadline it would still run its whole batch
        os.waitpid(pid, 0)


def run_attack(
    name: str, numbers: range, seed: int, fixture: Fixture, deadline: float
) -> Iterator[tuple[int, str, str]]:
    """Yield number, outcome and reason of each case. A child that crashes or hangs is replaced after that case."""
    start = numbers.start
    while start < numbers.stop and time.monotonic() < deadline:
        batch = range(start, min(numbers.stop, start + BATCH_CASES))
        with closing(child_lines(name, batch, seed, fixture)) as lines:
            for line in lines:
                number, outcome, reason = line.split("\t", 2)
                if outcome == "hang":
                    break
                yield int(number), outcome, reason
                start = int(number) + 1
                if time.monotonic() > deadline:
                    return
            else:
                outcome = "traceback"
        if start < batch.stop:  # the child did not finish its batch
            yield start, outcome, "killed after a hang" if outcome == "hang" else "the process crashed"
            start += 1


def attack_all(
    seed: int, cases: int, minutes: float, only: str = "", first: int = 0
) -> tuple[dict[str, Counter[str]], list[str]]:
    """Run all attacks; return the counts of outcomes by attack, and a line for each case that fell."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    falls: list[str] = []
    names = [name for name in ATTACKS if only in name]
    total = sum(WEIGHTS.get(name, 1.0) for name in names)
    with tempfile.TemporaryDirectory(prefix="attack-fixture-") as folder:
        fixture, started = make_fixture(Path(folder)), time.monotonic()
        for i, name in enumerate(names):
            table[name].clear()  # an attack without time for a case is shown with 0 cases
            count = max(1, round(cases * WEIGHTS.get(name, 1.0) / total))
            deadline = started + 60 * minutes * (i + 1) / len(names)
            for number, outcome, reason in run_attack(name, range(first, first + count), seed, fixture, deadline):
                table[name][outcome] += 1
                if outcome != "held":
                    falls.append(f"{name}, case {number}, seed {seed}: {outcome} {reason}")
    return table, falls


def main() -> int:
    """Run the attacks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="seed of all cases")
    parser.add_argument("--cases", type=int, default=10_000, help="cases of all attacks together")
    parser.add_argument("--minutes", type=float, default=10.0, help="time limit; each attack has an equal share")
    parser.add_argument("--only", default="", help="a part of the name of an attack")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    options = parser.parse_args()
    torch.set_num_threads(1)
    table, falls = attack_all(options.seed, options.cases, options.minutes, options.only, options.first)
    rows: list[tuple[str, ...]] = [("attack", "cases", *OUTCOMES)]
    rows += [(name, *map(str, (counts.total(), *(counts[key] for key in OUTCOMES)))) for name, counts in table.items()]
    for row in rows:
        print(f"{row[0]:<32}" + "".join(f"{cell:>13}" for cell in row[1:]))
    for line in falls[:50]:
        print(line)
    return 1 if falls else 0


if __name__ == "__main__":
    sys.exit(main())
