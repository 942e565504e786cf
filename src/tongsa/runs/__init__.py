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

from tongsa import bundle, config, storage
from tongsa.config import ConfigError
from tongsa.errors import InputError
from tongsa.evaluation.evaluate import evaluate
from tongsa.runs import doctor, planner
from tongsa.runs.train import run_training
from tongsa.runs.data import prepare_data, read_data
from tongsa.runs.hardware import configure_hardware
from tongsa.runs.progress import TrainingDisplay, format_duration
from tongsa.runs.recipe import Recipe, merge_tables, parse_recipe
from tongsa.runs.run import Run, create_run, load_initial_weights, write_settings
from tongsa.data.ledger import Ledger
from tongsa.checks.finding import Finding
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext, init_distributed
from tongsa.training.checkpoint import TrainingProgress

PathOrPaths = Sequence[str | Path] | str | Path


def train(
    recipe: str | Path | None = None,
    *,
    run: Path,
    data: PathOrPaths = (),
    dev: PathOrPaths = (),
    settings: Sequence[str] = (),
    budget: str | None = None,
    resume_if_exists: bool = False,
    quiet: bool = False,
) -> TrainingProgress:
    """A new run from a recipe, from files of pairs, or both; with `again` the run that is there already goes on."""
    began = perf_counter()
    time = planner.parse_duration(budget) if budget is not None else inf
    with init_distributed() as workers, ExitStack() as stack:
        if resume_if_exists and workers.broadcast_text(lambda: str((run / "run.toml").exists())) == "True":
            return resume(run, quiet=quiet)

        def asked() -> str:
            stack.enter_context(storage.lock_folder(run))
            _prepare_run_folder(run)
            found = resolve_recipe(recipe, data=data, dev=dev, settings=settings, time_budget=time)
            found = replace(found, training=configure_hardware(found.training, workers))
            among = workers.world_size if workers.world_size > 1 else planner.parallel_batches(found.training, found.model)
            return json.dumps(replace(found, training=planner.fit_grad_accumulation(found.training, among)).to_table())

        chosen = parse_recipe(json.loads(workers.broadcast_text(asked)))
        configure_hardware(chosen.training, workers)
        display = TrainingDisplay(0, 0, quiet=quiet or not workers.is_main_process)
        new = create_run(run, chosen, prepare_data(chosen, run, workers))
        _print_summary(new, display)
        if workers.is_main_process:
            doctor.warn_before_training(new, display)
        if chosen.training.init_from:
            display.log(load_initial_weights(new))
        if chosen.training.memory_limit_mib:
            new = replace(new, recipe=planner.fit_memory_limit(new, workers))
            display.log(f"at most {new.recipe.training.micro_batch_tokens:,} places are computed at once, to save memory")
        if time < inf:
            new = replace(new, recipe=planner.fit_time_budget(new, time, began, workers))
            display.log(f"{new.recipe.training.steps:,} steps fit into {format_duration(time)} on this machine")
        if workers.is_main_process:
            write_settings(new)
        return _train_and_test(new, workers, display)


def _prepare_run_folder(folder: Path) -> None:
    with storage.explain_os_errors(folder):
        if (folder / "run.toml").exists():
            raise InputError(
                f"{folder}: holds a run already; go on with: tongsa train --resume {folder}, or choose another folder"
            )
        if any((folder / "checkpoints").glob("*")):
            raise InputError(
                f"{folder}: holds checkpoints of a run, but no run.toml; choose another folder, or remove it"
            )
        for left in ("tokenizer", "data.json"):  # of a run that stopped before its first step
            shutil.rmtree(folder / left) if (folder / left).is_dir() else (folder / left).unlink(missing_ok=True)


def _print_summary(run: Run, display: TrainingDisplay) -> None:
    for remark in run.data.remarks:
        display.log(remark)
    parameters = sum(parameter.numel() for parameter in run.bundle.model.parameters())
    precision = run.recipe.training.precision
    display.log(f"{run.recipe.kind}: {parameters:,} parameters, {len(run.data.source_tokenizer):,} pieces, {precision}")


def resolve_recipe(
    recipe: str | Path | None, *, data: PathOrPaths, dev: PathOrPaths, settings: Sequence[str], time_budget: float = inf
) -> Recipe:
    """What the recipe says, what the data and the time suggest, what the command line adds: later words win."""
    values = config.read_toml(Path(recipe)) if recipe is not None else {}
    added: config.Table = {}
    for assignment in _as_strings(settings):
        config.override(added, assignment)
    if data:  # files named on the command line are counted from here, not from the recipe's folder
        values = merge_tables(values, {"data": {"train": _as_strings(data), "dev": _as_strings(dev), "folder": ""}})
        values["data"].pop("test", None)
    elif dev:
        raise InputError("--dev goes with --pairs; to change a recipe's dev set alone: --set data.dev=FILE")
    elif recipe is None:
        raise InputError("nothing to learn from: give a recipe (tongsa train RECIPE) or your own files (--pairs FILE)")
    try:
        if begin := merge_tables(values, added).get("training", {}).get("begin"):
            values = merge_tables(_inherited_settings(Path(str(begin)), with_model=recipe is None), values)
        if recipe is None:  # what has begun has its sizes, however short the time
            values = merge_tables(_preset_settings(merge_tables(values, added), inf if begin else time_budget), values)
        return parse_recipe(merge_tables(values, added))
    except ConfigError as error:
        raise ConfigError(f"{_error_origin(values, str(error), recipe)}: {error}") from None


def _error_origin(values: config.Table, message: str, recipe: str | Path | None) -> str:
    """Who has brought a fault into the settings: the recipe, if it has the same one by itself, or else `--set`."""
    try:
        parse_recipe(values)
    except ConfigError as own:
        if recipe is not None and str(own) == message:
            return str(recipe)
    return "--set"


def run_doctor(
    recipe: str | Path | None = None, *, data: PathOrPaths = (), dev: PathOrPaths = (), settings: Sequence[str] = ()
) -> list[Finding]:
    """What the doctor finds in the run that `train` would begin; nothing of it is kept."""
    chosen = resolve_recipe(recipe, data=data, dev=dev, settings=settings)
    chosen = replace(chosen, training=configure_hardware(chosen.training))
    with tempfile.TemporaryDirectory() as folder:
        run = create_run(Path(folder), chosen, prepare_data(chosen, Path(folder)))
        return list(doctor.run_checks(run))


def _preset_settings(requested: config.Table, time_budget: float) -> config.Table:
    """What the data ask for, in so many seconds, with a rhythm that fits the number of steps."""
    named = {key: value for key, value in requested.get("model", {}).items() if key in ("kind", "reader")}
    parsed = parse_recipe({"data": requested.get("data", {}), "model": named})  # the sizes are not known yet
    data, task = parsed.data, parsed.model.task
    tables = planner.choose_preset(read_data(data, task, data.paths(data.train), Ledger(None)), parsed.kind, task, time_budget)
    training = parse_recipe(merge_tables(tables, requested)).training
    return merge_tables(tables, {"training": config.to_table(planner.fit_intervals(training.steps, training))})


def _inherited_settings(init_from: Path, *, with_model: bool) -> config.Table:
    """What a run that begins with the weights of another has of it: its pieces; without a recipe its sizes, too."""
    begun = bundle.load_bundle(init_from)
    jamo = getattr(begun.source_tokenizer, "jamo", False)
    found: config.Table = {"tokenizer": {"reuse_from": str(init_from), "shared": begun.target_tokenizer is begun.source_tokenizer, "jamo": jamo}}
    if with_model:
        languages = {"source_language": begun.source_language, "target_language": begun.target_language}
        found["data"] = {name: value for name, value in languages.items() if value}
        found["model"] = {"kind": begun.kind} | config.to_table(begun.config)
        found["decoding"] = config.to_table(begun.decoding)
    return found


def _as_strings(values: PathOrPaths) -> list[str]:
    """One by itself needs no list, from Python: a text is not taken for a list of its letters."""
    return [str(one) for one in ([values] if isinstance(values, str | Path) else values)]


def open_run(folder: Path, distributed: DistributedContext = SINGLE_PROCESS) -> Run:
    """A run that exists, as its run.toml describes it."""
    if not (folder / "run.toml").is_file():
        raise InputError(f"{folder}: no run here (no run.toml); begin one with: tongsa train … --run {folder}")
    recipe = parse_recipe(config.read_toml(folder / "run.toml"), str(folder / "run.toml"))
    if not recipe.data.train:
        raise InputError(f"{folder / 'run.toml'}: names nothing to learn from; bring it back, or begin a new run")
    recipe = replace(recipe, training=configure_hardware(recipe.training, distributed))
    if planner.fit_grad_accumulation(recipe.training, distributed.world_size) != recipe.training:
        batches, how = recipe.training.grad_accumulation, "a divisor of it" if recipe.training.shard else "at most so many"
        raise InputError(
            f"{folder}: an update is {batches} batches (training.grad_accumulation), which {distributed.world_size} workers "
            f"cannot share; take {how}"
        )
    return create_run(folder, recipe, prepare_data(recipe, folder, distributed))


def resume(folder: Path, *, quiet: bool = False) -> TrainingProgress:
    """Go on from the last whole snapshot, to the same bytes as if nothing had happened."""
    with init_distributed() as workers, storage.lock_folder(folder) if workers.is_main_process and folder.is_dir() else nullcontext():
        display = TrainingDisplay(0, 0, quiet=quiet or not workers.is_main_process)
        return _train_and_test(open_run(folder, workers), workers, display)


def _train_and_test(run: Run, distributed: DistributedContext, display: TrainingDisplay) -> TrainingProgress:
    """Train, then score the test set once, with the model that was kept."""
    progress = run_training(run, distributed, quiet=display.console.quiet)
    data = run.recipe.data
    if data.test and distributed.is_main_process:
        with Ledger(run.folder / "test-ledger.jsonl") as ledger:
            found = read_data(data, run.data.task, data.paths(data.test), ledger)
        if not found:
            raise InputError(f"{data.test[0]}: no usable line in it: {ledger.summary()}; the model itself is whole")
        report = evaluate(bundle.load_bundle(run.folder).text_model(), [(pair.source, pair.target) for pair in found], run.evaluation_config)
        storage.write_text(run.folder / "scores.json", json.dumps({"test": report.as_json()}, indent=1))
        display.log(f"test: {report.summary()}", "green")
    return progress
