"""Attack on the loading code: damaged and hostile models, runs, jobs, corpora and command lines, in child processes.

Usage: python tools/attack.py [--seed N] [--cases N] [--minutes M] [--processes P] [--only ATTACK] [--record]
Prints a table: attack, cases, outcomes and the peak memory of a case. Exit code 1 if a case fell: a traceback, a hang,
a wrong answer, a message without place, reason or remedy, or too much memory. A case is a function of the seed, the
attack and its number: --seed N --only ATTACK --first N --cases 1 repeats it.
"""

import argparse
import os
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from attacks import ATTACKS
from attacks.fixture import make_fixture
from attacks.outcomes import FALLS, HOLDS, Outcome
from attacks.workers import Result, run_cases

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
COLUMNS = (*(str(outcome) for outcome in HOLDS), "fell", "peak, MiB")
MAX_SHOWN = 10
"""Cases of an attack that are listed when they fall."""


@dataclass
class AttackTable:
    """Counts of one attack."""

    name: str
    counts: Counter[Outcome] = field(default_factory=Counter)
    peak_mib: int = 0
    seconds: float = 0.0

    def add(self, result: Result) -> None:
        self.counts[result.outcome] += 1
        self.peak_mib = max(self.peak_mib, result.peak_mib)

    @property
    def fallen(self) -> int:
        return sum(self.counts[outcome] for outcome in FALLS)

    def cells(self) -> list[int]:
        """Return the values of COLUMNS."""
        return [*(self.counts[outcome] for outcome in HOLDS), self.fallen, self.peak_mib]


def attack_all(options: argparse.Namespace) -> Iterator[tuple[AttackTable, list[str]]]:
    """Run the attacks; yield the counts of each, and a line for each case that fell."""
    names = [name for name in ATTACKS if options.only in name]
    deadline = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="attack-fixture-", ignore_cleanup_errors=True) as folder:
        fixture = make_fixture(Path(folder))
        for i, name in enumerate(names):
            started, table, falls = time.monotonic(), AttackTable(name), list[str]()
            share = (deadline - started) / (len(names) - i)  # what an attack leaves belongs to those after it
            count = options.cases or ATTACKS[name].cases
            numbers = range(options.first, options.first + count)
            ATTACKS[name].prepare(fixture)
            for result in run_cases(
                name, numbers, options.seed, fixture, processes=options.processes, deadline=started + share
            ):
                table.add(result)
                if result.outcome in FALLS and len(falls) < MAX_SHOWN:
                    falls.append(f"{name}, case {result.number}: {result.outcome} {result.reason}")
            table.seconds = time.monotonic() - started
            yield table, falls


def record(tables: list[AttackTable], options: argparse.Namespace) -> None:
    """Write the counts to benchmarks/results/attack.json."""
    sys.path.insert(0, str(BENCHMARKS))
    records: Any = import_module("record")
    words = [f"--{name}={getattr(options, name)}" for name in ("seed", "cases", "minutes", "processes")]
    command = shlex.join(["python", "tools/attack.py", *words])
    rows = [
        records.Measurement(
            id=f"attack-{records.to_slug(table.name)}-{{cpu}}",
            table="attacks",
            headline=False,
            what=table.name,
            value=table.counts.total(),
            unit="cases",
            command=command,
            seeds=[options.seed],
            details=dict(zip(COLUMNS, table.cells(), strict=True)),
        )
        for table in tables
    ]
    total = sum(table.counts.total() for table in tables)
    summary = records.Measurement(
        id="attack-total-{cpu}",
        table="total",
        headline=True,
        what="Damaged and hostile models, runs, jobs, corpora and command lines: cases that fell",
        value=sum(table.fallen for table in tables),
        unit=f"of {total:,} cases",
        command=command,
        seeds=[options.seed],
        details={"cases": total, "peak, MiB": max(table.peak_mib for table in tables)},
    )
    records.record("attack", [summary, *rows], options.results)


def main() -> int:
    """Run the attacks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="seed of all cases (default: a random number, which is printed)")
    parser.add_argument("--cases", type=int, default=0, help="cases of each attack (default: chosen for each)")
    parser.add_argument("--minutes", type=float, default=15.0, help="time limit, shared by the attacks (default: 15)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="children (default: all CPUs)")
    parser.add_argument("--only", default="", help="a part of the name of an attack")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--record", action="store_true", help="write the figures to --results; then run tables.py")
    parser.add_argument("--results", type=Path, default=BENCHMARKS / "results", metavar="FOLDER")
    options = parser.parse_args()
    options.seed = int.from_bytes(os.urandom(4)) if options.seed is None else options.seed
    torch.set_num_threads(1)
    print(f"seed {options.seed}\n{'attack':<36}{'cases':>9}" + "".join(f"{name:>15}" for name in COLUMNS), flush=True)
    tables, falls = list[AttackTable](), list[str]()
    for table, new in attack_all(options):
        tables.append(table)
        falls += new
        cells = "".join(f"{cell:>15,}" for cell in table.cells())
        print(f"{table.name:<36}{table.counts.total():>9,}{cells}   {table.seconds:,.0f} s", flush=True)
    for line in falls:
        print(line)
    if options.record:
        record(tables, options)
    return 1 if falls else 0


if __name__ == "__main__":
    sys.exit(main())
