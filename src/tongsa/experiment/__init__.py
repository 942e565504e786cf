"""The one place that knows all parts: TOML → objects → the `for` around the update."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from tongsa import bundle, config, files
from tongsa.errors import InputError
from tongsa.evaluation.report import evaluate
from tongsa.experiment import plan
from tongsa.experiment.course import go_on
from tongsa.experiment.data import prepare, read
from tongsa.experiment.machine import settled
from tongsa.experiment.progress import Display, duration
from tongsa.experiment.recipe import Recipe, merged, parse
from tongsa.experiment.run import Run, created, write_settings
from tongsa.text import Ledger
from tongsa.training.snapshot import Progress

Files = Sequence[str | Path] | str | Path


def train(
    recipe: str | Path | None = None,
    *,
    run: Path,
    pairs: Files = (),
    dev: Files = (),
    settings: Sequence[str] = (),
    budget: str | None = None,
    quiet: bool = False,
) -> Progress:
    """A new run from a recipe, from files of pairs, or from a recipe with other files."""
    began = perf_counter()
    if (run / "run.toml").exists():
        raise InputError(
            f"{run}: holds a run already; go on with: tongsa train --resume {run}, or choose another folder"
        )
    for left in ("pieces", "data.json"):  # of a run that stopped before its first step
        shutil.rmtree(run / left) if (run / left).is_dir() else (run / left).unlink(missing_ok=True)
    time = plan.seconds(budget) if budget is not None else None
    chosen = gathered(recipe, pairs=pairs, dev=dev, settings=settings)
    chosen = replace(chosen, training=settled(chosen.training))
    display = Display(0, 0, quiet=quiet)
    new = created(run, chosen, prepare(chosen, run))
    for remark in new.data.remarks:
        display.say(remark)
    parameters = sum(parameter.numel() for parameter in new.bundle.model.parameters())
    display.say(
        f"{chosen.kind}: {parameters:,} parameters, {len(new.data.source):,} pieces, {chosen.training.precision}"
    )
    if time is not None:
        new = replace(new, recipe=plan.within(new, time, began))
        display.say(f"{new.recipe.training.steps:,} steps fit into {duration(time)} on this machine")
    write_settings(new)
    return _to_the_end(new, display)


def gathered(recipe: str | Path | None, *, pairs: Files, dev: Files, settings: Sequence[str]) -> Recipe:
    """What the recipe says, what the data suggest, what the command line adds: later words win."""
    values = config.read(Path(recipe)) if recipe is not None else {}
    added: config.Table = {}
    for assignment in settings:
        config.override(added, assignment)
    if pairs:  # files named on the command line are counted from here, not from the recipe's folder
        values = merged(values, {"data": {"train": _names(pairs), "dev": _names(dev), "folder": ""}})
        values["data"].pop("test", None)
    elif dev:
        raise InputError("--dev goes with --pairs; to change a recipe's dev set alone: --set data.dev=FILE")
    elif recipe is None:
        raise InputError("nothing to learn from: give a recipe (tongsa train RECIPE) or your own files (--pairs FILE)")
    if recipe is None:
        values = merged(_suggested(merged(values, added)), values)
    return parse(merged(values, added), str(recipe or ""))


def _suggested(asked: config.Table) -> config.Table:
    """What the data ask for, with a rhythm that fits the number of steps."""
    named = {key: value for key, value in asked.get("model", {}).items() if key in ("kind", "reader")}
    parsed = parse({"data": asked.get("data", {}), "model": named})  # the sizes are not known yet
    data, task = parsed.data, parsed.model.task
    tables = plan.sizes(read(data, task, data.paths(data.train), Ledger(None)), parsed.kind, task)
    training = parse(merged(tables, asked)).training
    return merged(tables, {"training": config.table(plan.rhythm(training.steps, training))})


def _names(files: Files) -> list[str]:
    return [str(file) for file in ([files] if isinstance(files, str | Path) else files)]


def opened(folder: Path) -> Run:
    """A run that exists, as its run.toml describes it."""
    if not (folder / "run.toml").is_file():
        raise InputError(f"{folder}: no run here (no run.toml); begin one with: tongsa train … --run {folder}")
    recipe = parse(config.read(folder / "run.toml"), str(folder / "run.toml"))
    recipe = replace(recipe, training=settled(recipe.training))
    return created(folder, recipe, prepare(recipe, folder))


def resume(folder: Path, *, quiet: bool = False) -> Progress:
    """Go on from the last whole snapshot, to the same bytes as if nothing had happened."""
    return _to_the_end(opened(folder), Display(0, 0, quiet=quiet))


def _to_the_end(run: Run, display: Display) -> Progress:
    """Train, then score the test set once, with the model that was kept."""
    progress = go_on(run, quiet=display.console.quiet)
    data = run.recipe.data
    if data.test:
        with Ledger(run.folder / "test-ledger.jsonl") as ledger:
            found = read(data, run.data.task, data.paths(data.test), ledger)
        if not found:
            raise InputError(f"{data.test[0]}: no usable line in it: {ledger.summary()}; the model itself is whole")
        report = evaluate(bundle.load(run.folder).reader(), [(pair.source, pair.target) for pair in found], run.how)
        files.write_text(run.folder / "scores.json", json.dumps({"test": report.as_json()}, indent=1))
        display.say(f"test: {report.summary()}", "green")
    return progress
