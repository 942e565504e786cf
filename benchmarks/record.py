"""Rows of benchmarks/results/ written by the benchmark that measured them: --record and --results.

A script passes measurements to `record`. A measurement replaces the row with its id; the other rows stay as they are,
digit for digit. A new row is added at the end of its table. The CPU, the date and the command are filled in here.

The rows of one question on several CPUs have different ids. `{cpu}` in an id stands for the CPU class (epyc, zen4,
zen5, xeon). An id without it belongs to the CPU of the existing row; on any other CPU the class is appended.
"""

import argparse
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from machine import CPUClass, machine, this_cpu

RESULTS = Path(__file__).parent / "results"
PEER_PYTHON = "OTHER/bin/python"
"""Stands for the interpreter of another environment in a recorded command."""
ABSOLUTE_FOLDER = re.compile(r"""(?<![^\s"'=\[,])/(?:[^/\s"',\]]+/)*""")
"""The folders of an absolute path, at the start of an argument or of a value in it."""
NOT_IN_COMMAND = {"--json", "--record"}
"""Options that do not change a value."""
Row = dict[str, Any]
Number = Decimal | int
KEY_ORDER = (
    *("id", "table", "headline", "what", "value", "unit", "spread", "baseline", "baseline_value", "command"),
    *("cpu", "date", "seeds", "notes", "details"),
)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A row without its CPU and date; tables.py describes the fields."""

    id: str
    table: str
    headline: bool = False
    what: str
    value: Number
    unit: str
    spread: Sequence[Number] | None = None
    baseline: str | None = None
    baseline_value: Number | None = None
    command: str | None = None
    """Default: the command of this process."""
    seeds: list[int] | None = None
    notes: str | None = None
    details: Mapping[str, Number | str | None] = field(default_factory=dict)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--record", action="store_true", help="write the figures to --results; then run tables.py")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER", help="default: benchmarks/results")


def check_task(parser: argparse.ArgumentParser, options: argparse.Namespace, *, differs: bool, task: str) -> None:
    """Refuse to mix the figures of another task with the published ones."""
    if options.record and differs and options.results.resolve() == RESULTS.resolve():
        parser.error(f"--record: benchmarks/results is about {task}. Name another folder with --results.")


def record(name: str, measurements: Iterable[Measurement], folder: Path) -> None:
    """Write measurements of this process to results/NAME.json and say what to do next."""
    path, cpu = folder / f"{name}.json", this_cpu()
    rows = read_results(path)["rows"]
    filled = [fill_row(measurement, rows, cpu, shell_line(sys.argv)) for measurement in measurements]
    lost = update(path, filled)
    for row_id, notes in lost.items():
        print(f"{row_id}: its note was about the earlier value and is removed: {notes}", file=sys.stderr)
    print(f"{path}: {len(filled)} rows recorded. Run python benchmarks/tables.py", file=sys.stderr)


def update(path: Path, rows: Sequence[Row]) -> dict[str, str]:
    """Replace the rows with the same ids, add the others at the end of their tables; return the notes that are lost."""
    results = read_results(path)
    lost = {}
    for row in rows:
        ids = [existing["id"] for existing in results["rows"]]
        if row["id"] in ids:
            i = ids.index(row["id"])
            notes = results["rows"][i]["notes"]
            if notes and notes != row["notes"]:
                lost[row["id"]] = notes
            results["rows"][i] = row
        else:
            same_table = [i for i, existing in enumerate(results["rows"]) if existing["table"] == row["table"]]
            results["rows"].insert(same_table[-1] + 1 if same_table else len(ids), row)
    path.write_text(to_json(results) + "\n", "utf-8")
    return lost


def read_results(path: Path) -> dict[str, Any]:
    """Read a file of results; decimals keep the digits as written."""
    results: dict[str, Any] = json.loads(path.read_text("utf-8"), parse_float=Decimal)
    return results


def fill_row(measurement: Measurement, rows: Sequence[Row], cpu: CPUClass, command: str) -> Row:
    row = asdict(measurement)
    row |= {"id": row_id(measurement.id, rows, cpu), "cpu": cpu.name, "date": machine()["date"]}
    row["command"] = measurement.command or command
    return {key: row[key] for key in KEY_ORDER}


def row_id(template: str, rows: Sequence[Row], cpu: CPUClass) -> str:
    """Return the id of a measurement on this CPU."""
    if "{cpu}" in template:
        return template.replace("{cpu}", cpu.suffix)
    is_ours = any(row["id"] == template and row["cpu"] == cpu.name for row in rows)
    return template if is_ours else f"{template}-{cpu.suffix}"


def rows_of_this_cpu(name: str, folder: Path) -> list[Row]:
    return [row for row in read_results(folder / f"{name}.json")["rows"] if row["cpu"] == this_cpu().name]


def shell_line(argv: Sequence[str]) -> str:
    """Return the command of a process, without the options that only choose the output.

    Paths of this machine are of no use elsewhere: of an absolute path only the last name is kept.
    """
    words, arguments = ["python", f"benchmarks/{Path(argv[0]).name}"], iter(argv[1:])
    for argument in arguments:
        if argument == "--results":
            next(arguments, None)
        elif argument not in NOT_IN_COMMAND and not argument.startswith("--results="):
            words.append(ABSOLUTE_FOLDER.sub("", argument))
            if argument == "--peer-python" and next(arguments, None):
                words.append(PEER_PYTHON)
    return shlex.join(words)


def training_seed(run: Path) -> list[int] | None:
    """Return the seed in the run.toml of a run; None for a model without one."""
    settings = run / "run.toml"
    seed = tomllib.loads(settings.read_text("utf-8")).get("training", {}).get("seed") if settings.is_file() else None
    return None if seed is None else [seed]


def to_number(value: float, digits: int = 0) -> Number:
    """Round a value; all digits after the point are printed: 1.50, not 1.5."""
    return Decimal(f"{value:.{digits}f}") if digits else round(value)


def to_spread(values: Sequence[float], digits: int = 0) -> list[Number] | None:
    """Return the lowest and the highest value; None for a single round."""
    return [to_number(min(values), digits), to_number(max(values), digits)] if len(values) > 1 else None


def to_slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def to_json(value: Any, indent: str = "") -> str:
    """Return JSON in the layout of the results: one line for each key, lists of numbers on one line."""
    inner = f"{indent} "
    if isinstance(value, dict) and value:
        items = (f"{inner}{json.dumps(key, ensure_ascii=False)}: {to_json(item, inner)}" for key, item in value.items())
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "[\n" + ",\n".join(f"{inner}{to_json(item, inner)}" for item in value) + f"\n{indent}]"
    if isinstance(value, list):
        return f"[{', '.join(map(to_json, value))}]"
    return f"{value:f}" if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)
