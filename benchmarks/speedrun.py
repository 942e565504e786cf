"""Training time until sacreBLEU on the whole dev set reaches given values, with beam 5.

    python benchmarks/speedrun.py                                  one run, planned for 30 minutes of training
    python benchmarks/speedrun.py --budgets 5m 8m 30m --seeds 1 2 3    one run each: a schedule fits one budget only
    python benchmarks/speedrun.py --journal runs/mine/journal.jsonl --marks 30 35      read an existing run
    python benchmarks/speedrun.py --record                         write the figures to benchmarks/results/training.json

A budget is the time of the updates in the run's journal. Reading data, training the tokenizer, planning, checkpoints,
weight averaging and validations are not included; they are reported separately. The number of steps is planned by a
short run that is deleted. So a run may end a little before or after its budget; the measured time is reported. A mark
is a BLEU value: it is reached at the first validation with at least this BLEU. With several seeds, each budget has the
median, the lowest and the highest of its runs; the seeds take turns.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any, NamedTuple

from machine import machine
from record import add_options, record, row_id, rows_of_this_cpu, this_cpu, training_seed
from rows import BUDGETS, speedrun_curve, speedrun_row, speedrun_summary

from tongsa.errors import InputError
from tongsa.training import journal

RECIPE = Path(__file__).parent.parent / "recipes/multi30k-de-en.toml"
MULTI30K = Path(__file__).parent.parent.parent / "shared/data/multi30k"
"""Data of the default recipe, unless --set data.folder names another folder."""
SETTINGS = (
    "data.test=[]",
    "training.validate_sentences=0",
    "training.best_metric=bleu",
    "training.patience=0",
    "decoding.beam=5",
)
"""The test set is not used; every validation uses the whole dev set."""
PROBES = 18
"""Updates that measure the speed of this machine; the first third is warm-up."""
Table = dict[str, Any]


class Point(NamedTuple):
    """A validation."""

    step: int
    seconds: float
    """Time of all updates so far."""
    bleu: float


def main() -> int:
    options = parse_options()
    try:
        if options.journal:
            runs = [summarize_journal(options.journal, options.marks)]
        else:
            # the seeds of a budget are hours apart if there are many: a slow hour affects all budgets
            runs = [train_and_score(options, budget, seed) for seed in options.seeds for budget in budgets(options)]
    except InputError as error:
        print(f"speedrun: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "\nspeedrun: interrupted. After `tongsa train --resume FOLDER`, read the run with --journal.",
            file=sys.stderr,
        )
        return 130
    report = {"marks": earliest(runs, options.marks), "runs": runs, "budgets": spreads(runs), "machine": machine()}
    print(json.dumps(report, ensure_ascii=False) if options.json else as_text(report))
    if options.record:
        record_runs(runs, options)
    return 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--recipe", type=Path, default=RECIPE, help="default: recipes/multi30k-de-en.toml")
    parser.add_argument("--run", type=Path, default=Path("runs/speedrun"), help="each run gets a folder under this one")
    parser.add_argument("--seeds", "--seed", nargs="+", type=int, default=[1], metavar="N", help="one run each")
    parser.add_argument("--marks", nargs="+", type=float, default=[30, 35, 38, 40, 42], metavar="BLEU")
    parser.add_argument("--validations", type=int, default=20, help="in each run, evenly spread (default: 20)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="data-parallel processes")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="e.g. data.folder=…")
    time = parser.add_mutually_exclusive_group()
    time.add_argument("--budget", metavar="TIME", help="default: 30m; with --journal the budget of that run")
    time.add_argument("--budgets", nargs="+", metavar="TIME", help="one run each")
    parser.add_argument("--journal", type=Path, metavar="FILE", help="read this journal, train nothing")
    add_options(parser)
    options = parser.parse_args()
    if options.journal and options.budgets:
        parser.error("--budgets: not allowed with --journal. Give the budget of that run with --budget.")
    if options.journal and len(options.seeds) > 1:
        parser.error("--seeds: a journal is one run. Give the seed of that run.")
    if options.record and options.journal and not options.budget:
        parser.error("--record: the budget of this journal is unknown. Give it with --budget.")
    if options.record and not set(budgets(options)) <= set(BUDGETS):
        parser.error(f"--record: no table for this budget. Choose from {', '.join(BUDGETS)}.")
    if options.recipe == RECIPE:
        options.set.insert(0, f"data.folder={MULTI30K}")
    if options.validations < 1:
        parser.error(f"--validations {options.validations}: too small. Give at least 1.")
    return options


def budgets(options: argparse.Namespace) -> list[str]:
    return options.budgets or [options.budget or "30m"]


def record_runs(runs: list[Table], options: argparse.Namespace) -> None:
    """Record each run, then the summary of all recorded seeds."""
    for run in runs:
        budget, seed = run.get("budget") or options.budget, run.get("seed")
        if options.journal:
            seed = (training_seed(options.journal.parent) or options.seeds)[0]
        run = run | {"budget": budget}
        record("training", [speedrun_row(run, seed)], options.results)
        rows, curve = rows_of_this_cpu("training", options.results), speedrun_curve(run, seed)
        # a curve is a table of its own in the report, so it is replaced, never added
        if budget == "30m" and row_id(curve.id, rows, this_cpu()) in {row["id"] for row in rows}:
            record("training", [curve], options.results)
        record("training", [speedrun_summary(budget, rows)], options.results)


def train_and_score(options: argparse.Namespace, budget: str, seed: int) -> Table:
    """Train one run with `tongsa train`, read its journal, evaluate its best model."""
    from tongsa.runs import planner

    start = perf_counter()
    folder = options.run / f"{budget}-seed{seed}"
    if folder.exists():
        raise InputError(
            f"{folder}: holds a run already. Remove it, choose another --run, "
            f"or read it with --journal {folder / 'journal.jsonl'}"
        )
    settings = [*options.set, *SETTINGS, f"training.seed={seed}"]
    recipe = planner.resolve_recipe(options.recipe, data=(), dev=(), settings=settings)
    if not recipe.data.dev:
        raise InputError(f"{options.recipe}: no data.dev. Name a file with --set data.dev=FILE.")
    steps = max(1, round(planner.parse_duration(budget) / update_seconds(options, settings)))
    training = planner.fit_intervals(steps, recipe.training)
    settings += [
        f"training.steps={steps}",
        f"training.validate_every={-(-steps // options.validations)}",
        f"training.checkpoint_every={training.checkpoint_every}",
        f"training.lr.warmup={training.lr.warmup}",
    ]
    print(f"{budget}, seed {seed}: {steps:,} steps", file=sys.stderr)
    train(options, folder, settings)
    data = recipe.data
    scored = json.loads(tongsa("evaluate", str(folder), "--data", *map(str, data.paths(data.dev)), "--json"))
    summary = summarize_journal(folder / "journal.jsonl", options.marks)
    summary["evaluation_seconds"] = round(summary["evaluation_seconds"] + scored["seconds"], 1)
    wall_seconds = perf_counter() - start
    other = wall_seconds - summary["training_seconds"] - summary["evaluation_seconds"]
    return summary | {
        "budget": budget,
        "seed": seed,
        "bleu": scored["bleu"],
        "signature": scored["signatures"]["bleu"],
        "sentences": scored["sentences"],
        "wall_seconds": round(wall_seconds, 1),
        "other_seconds": round(other, 1),
    }


def update_seconds(options: argparse.Namespace, settings: list[str]) -> float:
    """Return the mean time of an update, from the later updates of a short run."""
    with tempfile.TemporaryDirectory() as folder:
        train(options, Path(folder, "probe"), [*settings, f"training.steps={PROBES}", "training.validate_sentences=1"])
        steps = [record for record in journal.read_journal(Path(folder, "probe/journal.jsonl")) if "tokens" in record]
        return mean(step["seconds"] for step in steps[PROBES // 3 :])


def train(options: argparse.Namespace, folder: Path, settings: list[str]) -> None:
    flags = [word for setting in settings for word in ("--set", setting)]
    shared = ["--workers", str(options.workers)] if options.workers > 1 else []
    tongsa("train", str(options.recipe), "--run", str(folder), *shared, *flags)


def tongsa(command: str, *arguments: str) -> str:
    """Run a tongsa command and return its standard output."""
    argv = [sys.executable, "-m", "tongsa.cli", command, *arguments]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        try:
            output, _ = process.communicate()
        except KeyboardInterrupt:
            process.wait()  # the command gets Ctrl-C, too, and saves a checkpoint
            raise
    if process.returncode:
        raise InputError(f"tongsa {command}: exit code {process.returncode}. Its messages are above.")
    return output


def summarize_journal(path: Path, marks: Sequence[float]) -> Table:
    records = journal.read_journal(path)
    points, steps = curve(records), [record for record in records if "tokens" in record]
    if not points:
        raise InputError(f"{path}: no validation with BLEU. Name the journal.jsonl of a translation run.")
    seconds, tokens = sum(step["seconds"] for step in steps), sum(step["tokens"] for step in steps)
    return {
        "marks": {f"{mark:g}": first_point(points, mark) for mark in marks},
        "last_bleu": points[-1].bleu,
        "best_bleu": max(point.bleu for point in points),
        "steps": len(steps),
        "tokens": tokens,
        "tokens_per_second": round(tokens / seconds),
        "training_seconds": round(seconds, 1),
        "evaluation_seconds": round(sum(record["seconds"] for record in records if "validation" in record), 1),
        "curve": [point._asdict() for point in points],
    }


def curve(records: list[Table]) -> list[Point]:
    """Return each validation with the time of the updates before it."""
    times = accumulate(record["seconds"] if "tokens" in record else 0.0 for record in records)
    return [
        Point(record["step"], round(time, 1), record["validation"]["bleu"])
        for record, time in zip(records, times, strict=True)
        if "bleu" in record.get("validation", {})
    ]


def first_point(points: list[Point], mark: float) -> Table | None:
    return next((point._asdict() for point in points if point.bleu >= mark), None)


def earliest(runs: list[Table], marks: Sequence[float]) -> Table:
    """Return the shortest training time to each mark over all runs."""
    shortest: Table = {}
    for mark in (f"{mark:g}" for mark in marks):
        times = [run["marks"][mark]["seconds"] for run in runs if run["marks"][mark]]
        shortest[mark] = min(times, default=None)
    return shortest


def spreads(runs: list[Table]) -> Table:
    """Return the best dev BLEU and the time to each mark over the seeds of each budget: median and range."""
    table: Table = {}
    for budget in dict.fromkeys(run["budget"] for run in runs if "budget" in run):
        same = [run for run in runs if run.get("budget") == budget]
        times = {
            mark: [run["marks"][mark]["seconds"] for run in same if run["marks"][mark]] for mark in same[0]["marks"]
        }
        table[budget] = {
            "seeds": [run["seed"] for run in same],
            "best_bleu": spread([run["best_bleu"] for run in same]),
            "last_bleu": spread([run["last_bleu"] for run in same]),
            # a seed that does not reach the mark has no time, so its number is given, too
            "marks": {mark: {"runs": len(values), "seconds": spread(values)} for mark, values in times.items()},
        }
    return table


def spread(values: list[float]) -> Table | None:
    return {"median": median(values), "range": [min(values), max(values)]} if values else None


def as_text(report: Table) -> str:
    host = report["machine"]
    head = f"{host['cpu']}, {host['cores']} cores, torch {host['torch']}, {host['date']}"
    lines = [
        head,
        "",
        "| budget | seed | training | evaluation | other | steps | target tokens | tokens/s | val BLEU, kept | last |",
    ]
    lines.append("|---|" + "--:|" * 9)
    for run in report["runs"]:
        times = [clock(run.get(f"{name}_seconds")) for name in ("training", "evaluation", "other")]
        counts = [f"{run[name]:,}" for name in ("steps", "tokens", "tokens_per_second")]
        scores = [f"{run.get('bleu', run['best_bleu']):.2f}", f"{run['last_bleu']:.2f}"]
        name = [run.get("budget", "–"), str(run.get("seed", "–"))]
        lines.append(f"| {' | '.join([*name, *times, *counts, *scores])} |")
    for budget, row in report["budgets"].items():
        best, seeds = row["best_bleu"], len(row["seeds"])
        low, high = best["range"]
        lines += ["", f"{budget}: best val BLEU {best['median']:.2f} ({low:.2f}–{high:.2f}), {seeds} seeds"]
    lines += ["", "| val BLEU | time in training, shortest |", "|--:|--:|"]
    lines += [f"| {mark} | {clock(seconds)} |" for mark, seconds in report["marks"].items()]
    return "\n".join([*lines, "", *{run["signature"]: None for run in report["runs"] if "signature" in run}])


def clock(seconds: float | None) -> str:
    return "–" if seconds is None else f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


if __name__ == "__main__":
    sys.exit(main())
