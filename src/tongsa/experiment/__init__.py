"""The one place that knows all parts: TOML → objects → the `for` around the update."""

import json
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from math import inf
from pathlib import Path
from time import perf_counter

from tongsa import bundle, config, files
from tongsa.config import ConfigError
from tongsa.errors import InputError
from tongsa.evaluation.report import evaluate
from tongsa.experiment import doctor, plan
from tongsa.experiment.course import go_on
from tongsa.experiment.data import prepared, read
from tongsa.experiment.machine import settled
from tongsa.experiment.progress import Display, duration
from tongsa.experiment.recipe import Recipe, merged, parse
from tongsa.experiment.run import Run, created, taken_over, write_settings
from tongsa.text import Ledger
from tongsa.text.finding import Finding
from tongsa.training.parallel import ALONE, Workers, joined
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
    again: bool = False,
    quiet: bool = False,
) -> Progress:
    """A new run from a recipe, from files of pairs, or both; with `again` the run that is there already goes on."""
    began = perf_counter()
    time = plan.seconds(budget) if budget is not None else inf
    with joined() as workers, ExitStack() as stack:
        if again and workers.told(lambda: str((run / "run.toml").exists())) == "True":
            return resume(run, quiet=quiet)

        def asked() -> str:
            stack.enter_context(files.held(run))
            _make_room(run)
            found = gathered(recipe, pairs=pairs, dev=dev, settings=settings, time=time)
            found = replace(found, training=settled(found.training, workers))
            among = workers.count if workers.count > 1 else plan.at_once(found.training, found.model)
            return json.dumps(replace(found, training=plan.shared_out(found.training, among)).table())

        chosen = parse(json.loads(workers.told(asked)))
        settled(chosen.training, workers)
        display = Display(0, 0, quiet=quiet or not workers.first)
        new = created(run, chosen, prepared(chosen, run, workers))
        _introduce(new, display)
        if workers.first:
            doctor.warn(new, display)
        if chosen.training.begin:
            display.say(taken_over(new))
        if chosen.training.memory:
            new = replace(new, recipe=plan.limited(new, workers))
            display.say(f"at most {new.recipe.training.part_tokens:,} places are computed at once, to save memory")
        if time < inf:
            new = replace(new, recipe=plan.within(new, time, began, workers))
            display.say(f"{new.recipe.training.steps:,} steps fit into {duration(time)} on this machine")
        if workers.first:
            write_settings(new)
        return _to_the_end(new, workers, display)


def _make_room(folder: Path) -> None:
    with files.explained(folder):
        if (folder / "run.toml").exists():
            raise InputError(
                f"{folder}: holds a run already; go on with: tongsa train --resume {folder}, or choose another folder"
            )
        if any((folder / "snapshots").glob("*")):
            raise InputError(
                f"{folder}: holds snapshots of a run, but no run.toml; choose another folder, or remove it"
            )
        for left in ("pieces", "data.json"):  # of a run that stopped before its first step
            shutil.rmtree(folder / left) if (folder / left).is_dir() else (folder / left).unlink(missing_ok=True)


def _introduce(new: Run, display: Display) -> None:
    for remark in new.data.remarks:
        display.say(remark)
    parameters = sum(parameter.numel() for parameter in new.bundle.model.parameters())
    precision = new.recipe.training.precision
    display.say(f"{new.recipe.kind}: {parameters:,} parameters, {len(new.data.source):,} pieces, {precision}")


def gathered(
    recipe: str | Path | None, *, pairs: Files, dev: Files, settings: Sequence[str], time: float = inf
) -> Recipe:
    """What the recipe says, what the data and the time suggest, what the command line adds: later words win."""
    values = config.read(Path(recipe)) if recipe is not None else {}
    added: config.Table = {}
    for assignment in _words(settings):
        config.override(added, assignment)
    if pairs:  # files named on the command line are counted from here, not from the recipe's folder
        values = merged(values, {"data": {"train": _words(pairs), "dev": _words(dev), "folder": ""}})
        values["data"].pop("test", None)
    elif dev:
        raise InputError("--dev goes with --pairs; to change a recipe's dev set alone: --set data.dev=FILE")
    elif recipe is None:
        raise InputError("nothing to learn from: give a recipe (tongsa train RECIPE) or your own files (--pairs FILE)")
    try:
        if begin := merged(values, added).get("training", {}).get("begin"):
            values = merged(_begun(Path(str(begin)), whole=recipe is None), values)
        if recipe is None:  # what has begun has its sizes, however short the time
            values = merged(_suggested(merged(values, added), inf if begin else time), values)
        return parse(merged(values, added))
    except ConfigError as error:
        raise ConfigError(f"{_bringer(values, str(error), recipe)}: {error}") from None


def _bringer(values: config.Table, fault: str, recipe: str | Path | None) -> str:
    """Who has brought a fault into the settings: the recipe, if it has the same one by itself, or else `--set`."""
    try:
        parse(values)
    except ConfigError as own:
        if recipe is not None and str(own) == fault:
            return str(recipe)
    return "--set"


def findings(
    recipe: str | Path | None = None, *, pairs: Files = (), dev: Files = (), settings: Sequence[str] = ()
) -> list[Finding]:
    """What the doctor finds in the run that `train` would begin; nothing of it is kept."""
    chosen = gathered(recipe, pairs=pairs, dev=dev, settings=settings)
    chosen = replace(chosen, training=settled(chosen.training))
    with tempfile.TemporaryDirectory() as folder:
        run = created(Path(folder), chosen, prepared(chosen, Path(folder)))
        return list(doctor.examination(run))


def _suggested(asked: config.Table, time: float) -> config.Table:
    """What the data ask for, in so many seconds, with a rhythm that fits the number of steps."""
    named = {key: value for key, value in asked.get("model", {}).items() if key in ("kind", "reader")}
    parsed = parse({"data": asked.get("data", {}), "model": named})  # the sizes are not known yet
    data, task = parsed.data, parsed.model.task
    tables = plan.sizes(read(data, task, data.paths(data.train), Ledger(None)), parsed.kind, task, time)
    training = parse(merged(tables, asked)).training
    return merged(tables, {"training": config.table(plan.rhythm(training.steps, training))})


def _begun(place: Path, *, whole: bool) -> config.Table:
    """What a run that begins with the weights of another has of it: its pieces; without a recipe its sizes, too."""
    begun = bundle.load(place)
    jamo = getattr(begun.source, "jamo", False)
    found: config.Table = {"pieces": {"reuse": str(place), "shared": begun.target is begun.source, "jamo": jamo}}
    if whole:
        languages = {"source_language": begun.source_language, "target_language": begun.target_language}
        found["data"] = {name: value for name, value in languages.items() if value}
        found["model"] = {"kind": begun.kind} | config.table(begun.config)
        found["decoding"] = config.table(begun.decoding)
    return found


def _words(given: Files) -> list[str]:
    """One by itself needs no list, from Python: a text is not taken for a list of its letters."""
    return [str(one) for one in ([given] if isinstance(given, str | Path) else given)]


def opened(folder: Path, workers: Workers = ALONE) -> Run:
    """A run that exists, as its run.toml describes it."""
    if not (folder / "run.toml").is_file():
        raise InputError(f"{folder}: no run here (no run.toml); begin one with: tongsa train … --run {folder}")
    recipe = parse(config.read(folder / "run.toml"), str(folder / "run.toml"))
    if not recipe.data.train:
        raise InputError(f"{folder / 'run.toml'}: names nothing to learn from; bring it back, or begin a new run")
    recipe = replace(recipe, training=settled(recipe.training, workers))
    if plan.shared_out(recipe.training, workers.count) != recipe.training:
        batches, how = recipe.training.accumulate, "a divisor of it" if recipe.training.shard else "at most so many"
        raise InputError(
            f"{folder}: an update is {batches} batches (training.accumulate), which {workers.count} workers "
            f"cannot share; take {how}"
        )
    return created(folder, recipe, prepared(recipe, folder, workers))


def resume(folder: Path, *, quiet: bool = False) -> Progress:
    """Go on from the last whole snapshot, to the same bytes as if nothing had happened."""
    with joined() as workers, files.held(folder) if workers.first and folder.is_dir() else nullcontext():
        display = Display(0, 0, quiet=quiet or not workers.first)
        return _to_the_end(opened(folder, workers), workers, display)


def _to_the_end(run: Run, workers: Workers, display: Display) -> Progress:
    """Train, then score the test set once, with the model that was kept."""
    progress = go_on(run, workers, quiet=display.console.quiet)
    data = run.recipe.data
    if data.test and workers.first:
        with Ledger(run.folder / "test-ledger.jsonl") as ledger:
            found = read(data, run.data.task, data.paths(data.test), ledger)
        if not found:
            raise InputError(f"{data.test[0]}: no usable line in it: {ledger.summary()}; the model itself is whole")
        report = evaluate(bundle.load(run.folder).reader(), [(pair.source, pair.target) for pair in found], run.how)
        files.write_text(run.folder / "scores.json", json.dumps({"test": report.as_json()}, indent=1))
        display.say(f"test: {report.summary()}", "green")
    return progress
