"""Train a grid of settings × seeds: one run after another, or as tasks of a Ray cluster, with one journal.

`grid.jsonl` has a line for each run that ended: run, state, score, seconds. A run that was interrupted is resumed
exactly, a finished one is skipped, a failed one is tried again. A failure of one run does not end the others.
"""

import json
import math
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

from tongsa import config, storage
from tongsa.bounded_files import UnreadableFileError, read_json
from tongsa.config import ConfigError, NonNegative, Table
from tongsa.errors import InputError, InterruptedRun
from tongsa.runs.grid_display import GridDisplay
from tongsa.runs.grid_plan import GridPlan
from tongsa.runs.grid_recipes import prepare_grid, read_planned_file
from tongsa.runs.recipe import parse_recipe
from tongsa.runs.reporting import ProgressDisplay, format_duration
from tongsa.runs.train import resume
from tongsa.training.journal import read_journal
from tongsa.visualize.family import dev_score

JOURNAL_FILE = "grid.jsonl"
RECORD_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("run", "state", "metric", "split", "message"), str),
    **dict.fromkeys(("score", "seconds"), (float, int)),
    "steps": int,
}
"""Keys of a line of the journal."""


@dataclass(frozen=True, kw_only=True)
class _RunRecord:
    """Line of the journal about a run that ended."""

    state: Literal["waiting", "finished", "failed"] = "waiting"
    metric: str = ""
    split: str = ""
    score: float | None = None
    steps: NonNegative = 0
    seconds: float = 0.0
    message: str = ""

    def __post_init__(self) -> None:
        if self.state == "finished" and self.score is None:
            raise ValueError("score: missing")


@dataclass(frozen=True, kw_only=True)
class GridRun:
    """A run of a grid, and how it ended."""

    name: str
    """Name of its folder."""
    folder: Path
    plan_folder: Path
    """Folder with the plan of its setting."""
    variant: str
    """Name of its setting; the runs of a setting differ in their seed."""
    seed: int
    state: Literal["waiting", "finished", "failed"] = "waiting"
    metric: str = ""
    split: str = ""
    """The score is on this set: test, or dev without a test set."""
    score: float | None = None
    steps: int = 0
    seconds: float = 0.0
    """Time of the updates."""
    message: str = ""
    """Reason of a failure."""

    def record(self) -> Table:
        """Return the line of the journal."""
        names = ("state", "metric", "split", "score", "steps", "seconds", "message")
        return {"run": self.name} | {name: value for name in names if (value := getattr(self, name)) not in ("", None)}

    def with_record(self, record: Table) -> Self:
        try:
            known = config.build_config(_RunRecord, {name: value for name, value in record.items() if name != "run"})
        except ConfigError:
            return self
        return replace(self, **vars(known))

    def summary(self) -> str:
        if self.state == "failed":
            return f"{self.name}: failed. {self.message}"
        time = format_duration(self.seconds)
        return f"{self.name}: {self.metric} {self.score:.2f} on {self.split}, {self.steps:,} steps in {time}"


GridRemark = Callable[[Sequence[GridRun], Callable[[str], None]], None]
"""Called with all runs of a grid and a function that prints a message."""


def train_grid(plan: GridPlan, *, quiet: bool = False, remark: GridRemark | None = None) -> list[GridRun]:
    """Train the runs of a plan that have not finished, and return all of them; a failure is in the state of its run.

    `remark` is called before the first run and after each. Ctrl-C saves a checkpoint and raises InterruptedRun; the
    same call continues.
    """
    with storage.lock_folder(plan.folder):
        planning = GridDisplay(0, 0, quiet=quiet)
        recipes = prepare_grid(plan, planning)
        journal = _open_journal(plan.folder / JOURNAL_FILE)
        runs = {run.name: run for run in _list_runs(plan, journal)}
        pending = [run for run in runs.values() if run.state != "finished"]
        planning.log(_describe_work(plan, len(recipes), len(runs) - len(pending), len(runs)))
        if remark and pending:
            remark(list(runs.values()), planning.log)
        with GridDisplay(len(runs), len(runs) - len(pending), quiet=quiet) as display:
            for run in _train_runs(plan, pending, display):
                _append_record(plan.folder / JOURNAL_FILE, run.record())
                runs[run.name] = run
                display.end_run(run.summary(), "red" if run.state == "failed" else "green")
                if remark:
                    remark(list(runs.values()), display.log)
        return list(runs.values())


def _describe_work(plan: GridPlan, settings: int, finished: int, total: int) -> str:
    length = f", {plan.budget} each" if plan.budget else ""
    done = f"; {'all' if finished == total else f'{finished:,}'} have finished" if finished else ""
    work = f"{_count(settings, 'setting')} × {_count(len(plan.seeds), 'seed')}"
    return f"{_count(total, 'run')}: {work}{length}{done}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _list_runs(plan: GridPlan, journal: dict[str, Table]) -> Iterator[GridRun]:
    """Yield the runs of a plan with their last record; a run whose settings or model are gone is waiting again."""
    for variant in plan.all_variants:
        for seed in plan.seeds:
            folder = plan.run_folder(variant, seed)
            run = GridRun(
                name=folder.name, folder=folder, plan_folder=plan.plan_folder(variant), variant=variant.name, seed=seed
            )
            record = journal.get(run.name, {})
            is_trained = all((folder / name).is_file() for name in ("run.toml", "model/model.toml"))
            is_kept = record.get("state") == "failed" or is_trained
            yield run.with_record(record) if record and is_kept else run


def _train_runs(plan: GridPlan, runs: list[GridRun], display: GridDisplay) -> Iterator[GridRun]:
    """Yield the runs as they end."""
    if plan.executor == "ray" and runs:
        from tongsa.runs.grid_ray import train_with_ray

        trained = train_with_ray(runs, display)
    else:
        trained = (train_run(run, display.for_run(run.name)) for run in runs)
    try:
        yield from trained
    except InterruptedRun:
        again = f"Continue with: {plan.command}" if plan.command else "The same call continues."
        raise InterruptedRun(f"stopped and saved in {plan.folder}. {again}") from None


def train_run(run: GridRun, display: ProgressDisplay) -> GridRun:
    """Train a run from its plan or from its last checkpoint, and return it with its score or with its error."""
    waiting = GridRun(**{name: getattr(run, name) for name in ("name", "folder", "plan_folder", "variant", "seed")})
    try:
        _copy_plan(run)
        progress = resume(run.folder, display=display)
        done = replace(waiting, steps=progress.step, seconds=round(progress.seconds, 1))
        return _with_score(done)
    except InterruptedRun:
        raise
    except InputError as error:
        return replace(waiting, state="failed", message=str(error))
    except Exception as error:  # noqa: BLE001 - a crash of one run must not end the others
        reason, details = f"{type(error).__name__}: {error}".splitlines()[0], run.folder / "error.txt"
        with suppress(InputError, OSError):
            storage.write_text(details, traceback.format_exc())
            reason = f"{reason} (traceback: {details})"
        return replace(waiting, state="failed", message=reason)


def _copy_plan(run: GridRun) -> None:
    """Copy tokenizers, data checksums and settings to a new run; the settings last, because they make it a run."""
    if not run.folder.is_dir() and os.path.lexists(run.folder):
        raise InputError(f"{run.folder}: a file or a broken link, not the folder of a run. Remove it.")
    if (run.folder / "run.toml").is_file():
        return
    for path in [*sorted((run.plan_folder / "tokenizer").iterdir()), run.plan_folder / "data.json"]:
        content = read_planned_file(path, run.plan_folder)
        storage.write_bytes(run.folder / path.relative_to(run.plan_folder), content)
    settings = run.plan_folder / "run.toml"
    read_planned_file(settings, run.plan_folder)  # its checksum: a file that is cut off has default settings
    recipe = parse_recipe(config.read_folder_toml(settings))
    recipe = replace(recipe, training=replace(recipe.training, seed=run.seed))
    storage.write_text(run.folder / "run.toml", config.dump_toml(recipe.to_table()))


def _with_score(run: GridRun) -> GridRun:
    """Return a trained run with its score: of the test set, else the best one of the dev set."""
    recipe = parse_recipe(config.read_folder_toml(run.folder / "run.toml"))
    validations = [record for record in read_journal(run.folder / "journal.jsonl") if "validation" in record]
    best = dev_score(validations, recipe.training.best_metric)
    if best is None:
        return replace(run, state="failed", message="no validation in journal.jsonl")
    metric, value, split = best["name"], best["value"], "dev"
    scores = run.folder / "scores.json"
    if recipe.data.test and scores.is_file():
        metric, split = "perplexity" if metric == "dev_loss" else metric, "test"
        value = _test_score(scores, metric)
    if value is None or not math.isfinite(value):
        return replace(run, state="failed", message=f"{metric} on {split} is not a number. Look at journal.jsonl.")
    return replace(run, state="finished", metric=metric, split=split, score=round(value, 4))


def _test_score(path: Path, metric: str) -> float:
    try:
        return float(read_json(path)["test"][metric])
    except (KeyError, TypeError, ValueError):
        raise UnreadableFileError(path, f"damaged (no {metric} of the test set)") from None


def _open_journal(path: Path) -> dict[str, Table]:
    """Return the last record of each run; a damaged line, such as one of a killed process, is removed."""
    records = [record for record in read_journal(path) if _is_record(record)]
    if path.exists():
        storage.write_text(path, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    return {record["run"]: record for record in records}


def _is_record(record: Table) -> bool:
    return (
        record.keys() >= {"run", "state"}
        and record["state"] in ("finished", "failed")
        and all(name in RECORD_TYPES and isinstance(value, RECORD_TYPES[name]) for name, value in record.items())
    )


def _append_record(path: Path, record: Table) -> None:
    with storage.explain_os_errors(path), path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def describe_failures(runs: Sequence[GridRun], command: str = "") -> str:
    """Return a message about the runs that failed, with the command that tries them again; "" if none did."""
    failed = [run for run in runs if run.state == "failed"]
    if not failed:
        return ""
    reasons = "".join(f"\n  {run.name}: {run.message}" for run in failed)
    again = f"To try again: {command}" if command else "The same call tries again."
    return f"{len(failed)} of {len(runs)} runs failed; the others are complete.{reasons}\n{again}"
