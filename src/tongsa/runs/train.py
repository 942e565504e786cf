"""Start a run from a recipe or from data files, or resume one; then score its test set."""

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from math import inf
from pathlib import Path
from time import perf_counter

from tongsa import storage
from tongsa.errors import InputError
from tongsa.program import format_command
from tongsa.runs import doctor
from tongsa.runs.budget import fit_memory_limit, fit_time_budget
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.data import check_data_files, prepare_data
from tongsa.runs.hardware import configure_hardware
from tongsa.runs.languages import guess_languages
from tongsa.runs.plan_warnings import plan_warnings
from tongsa.runs.planner import PathOrPaths, parse_budget, resolve_recipe
from tongsa.runs.preparation import Preparation
from tongsa.runs.recipe import Recipe, broadcast_recipe
from tongsa.runs.reporting import ProgressDisplay, format_duration
from tongsa.runs.resume_changes import (
    apply_changes,
    describe_finished,
    describe_kept_settings,
    more_steps,
    parse_changes,
)
from tongsa.runs.run import Run, create_run, load_initial_weights, open_run, write_settings
from tongsa.runs.scores import score_test_sets
from tongsa.runs.training_loop import run_training
from tongsa.runs.update_batches import split_update
from tongsa.runs.validation import describe_adaptation
from tongsa.training.checkpoint import latest_checkpoint
from tongsa.training.checkpoint_files import TrainingProgress
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext, init_distributed


def train(
    recipe: str | Path | None = None,
    *,
    run: Path,
    data: PathOrPaths = (),
    dev: PathOrPaths = (),
    test: PathOrPaths = (),
    settings: Sequence[str] = (),
    budget: str | None = None,
    resume_if_exists: bool = False,
    quiet: bool = False,
) -> TrainingProgress:
    """Train a new run from a recipe, from data files, or from both.

    Args:
        recipe: TOML file with settings; without it a preset is chosen for the data.
        run: Folder of the run.
        data: Training files, instead of the recipe's.
        dev: Development files, together with `data`.
        test: Test files, together with `data`; scored once, with the best model.
        settings: Assignments as for `--set`, for example "training.steps=1000".
        budget: Time limit such as "20m"; the number of steps is chosen to fit.
        resume_if_exists: Resume the run if the folder holds one, with the settings it was started with.
        quiet: Print nothing.

    """
    time_budget = parse_budget(budget, settings)

    def resolve(reader: CorpusReader) -> Recipe:
        resolved = resolve_recipe(
            recipe, data=data, dev=dev, test=test, settings=settings, time_budget=time_budget, reader=reader
        )
        check_data_files(resolved.data, str(recipe))
        return resolved

    with init_distributed() as distributed:
        if resume_if_exists and distributed.broadcast_text(lambda: str((run / "run.toml").exists())) == "True":
            display = ProgressDisplay(quiet=quiet or not distributed.is_main_process)
            return _resume(run, distributed, display, first_settings=settings)
        return start_run(resolve, run, distributed, time_budget=time_budget, quiet=quiet)


def start_run(
    resolve: Callable[[CorpusReader], Recipe],
    folder: Path,
    distributed: DistributedContext = SINGLE_PROCESS,
    *,
    reader: CorpusReader | None = None,
    time_budget: float = inf,
    quiet: bool = False,
) -> TrainingProgress:
    """Train a new run with the recipe that `resolve` returns; it is called on rank 0, with the folder locked.

    `reader` may have read some of the files before.
    """
    started_at = perf_counter()
    display = ProgressDisplay(quiet=quiet or not distributed.is_main_process)
    with ExitStack() as stack:

        def resolve_in_folder(reader: CorpusReader) -> Recipe:
            stack.enter_context(storage.lock_folder(folder))
            _prepare_run_folder(folder)
            return _complete_recipe(resolve(reader), reader, distributed, display)

        reader = reader or CorpusReader(Preparation.beside_run(folder, display))
        run = _prepare_run(resolve_in_folder, folder, distributed, display, reader)
        run = _fit_limits(run, time_budget, started_at, distributed, display)
        return _train_and_test(run, distributed, display)


def plan_run(
    recipe: Recipe, folder: Path, display: ProgressDisplay, *, reader: CorpusReader, time_budget: float = inf
) -> Run:
    """Write the settings, tokenizers and data checksums of a new run, which `resume` then trains from step 0.

    Tokenizers that are in the folder already are used. Reading and tokenizing the data are not part of the time budget.
    """

    def complete(reader: CorpusReader) -> Recipe:
        return _complete_recipe(recipe, reader, SINGLE_PROCESS, display)

    run = _prepare_run(complete, folder, SINGLE_PROCESS, display, reader)
    return _fit_limits(run, time_budget, perf_counter(), SINGLE_PROCESS, display)


def _fit_limits(
    run: Run, time_budget: float, started_at: float, distributed: DistributedContext, display: ProgressDisplay
) -> Run:
    """Fit the run to its memory limit and time budget, warn about the plan, and write run.toml."""
    if run.recipe.training.memory_limit_mib:
        run = replace(run, recipe=fit_memory_limit(run, distributed))
        display.log(f"micro-batches of at most {run.recipe.training.micro_batch_tokens:,} tokens fit the memory limit")
    if time_budget < inf:
        planned = run.recipe.training.steps
        run = replace(run, recipe=fit_time_budget(run, time_budget, started_at, distributed))
        steps, limit = run.recipe.training.steps, format_duration(time_budget)
        display.log(f"steps that fit into {limit} on this machine: {steps:,} (without a budget: {planned:,})")
    if distributed.is_main_process:
        for warning in plan_warnings(run, time_budget):
            display.log(warning, "yellow")
        write_settings(run)
    return run


def _complete_recipe(
    recipe: Recipe, reader: CorpusReader, distributed: DistributedContext, display: ProgressDisplay
) -> Recipe:
    """Resolve each "auto", guess missing languages and split the updates into batches; print what was chosen."""
    training = replace(configure_hardware(recipe.training, distributed), steps_changed_at=())
    training, split = split_update(training, recipe.model, distributed.world_size)
    data, guess = guess_languages(recipe.data, recipe.model.task, reader)
    for remark in (*recipe.remarks, split, guess):
        if remark:
            display.log(remark)
    return replace(recipe, data=data, training=training)


def _prepare_run(
    resolve: Callable[[CorpusReader], Recipe],
    folder: Path,
    distributed: DistributedContext,
    display: ProgressDisplay,
    reader: CorpusReader,
) -> Run:
    """Create a run on all ranks: recipe, data, initial model, quick checks."""
    recipe = broadcast_recipe(distributed, lambda: resolve(reader))
    configure_hardware(recipe.training, distributed)
    run = create_run(folder, recipe, prepare_data(recipe, folder, distributed, reader))
    _print_summary(run, display)
    if distributed.is_main_process:
        doctor.warn_before_training(run, display)
    return _initialize(run, display)


def _initialize(run: Run, display: ProgressDisplay) -> Run:
    """Copy the weights of `training.init_from`, if it is set."""
    if not run.recipe.training.init_from:
        return run
    run, message = load_initial_weights(run)
    display.log(message)
    return run


def _prepare_run_folder(folder: Path) -> None:
    """Raise InputError if the folder holds a run; remove the files of one that stopped before its first step."""
    with storage.explain_os_errors(folder):
        if (folder / "run.toml").exists():
            raise InputError(
                f"{folder}: holds a run already. Resume it with: {format_command('train --resume {}', folder)}, "
                "or choose another folder."
            )
        if any((folder / "checkpoints").glob("*")):
            raise InputError(
                f"{folder}: holds checkpoints of a run, but no run.toml. Choose another folder, or remove this one."
            )
        for name in ("tokenizer", "data.json"):
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _print_summary(run: Run, display: ProgressDisplay) -> None:
    for remark in run.data.remarks:
        display.log(remark)
    parameters = sum(parameter.numel() for parameter in run.bundle.model.parameters())
    vocab_size = len(run.data.source_tokenizer)
    precision = run.recipe.training.precision
    display.log(f"{run.recipe.kind}: {parameters:,} parameters, vocabulary of {vocab_size:,} tokens, {precision}")


def resume(
    folder: Path,
    *,
    settings: Sequence[str] = (),
    budget: str | None = None,
    quiet: bool = False,
    display: ProgressDisplay | None = None,
) -> TrainingProgress:
    """Continue a run from its last complete checkpoint; the result has the same bytes as an uninterrupted run.

    Args:
        folder: Folder of the run.
        settings: Assignments as for `--set`: "training.steps=2000" trains longer.
        budget: Additional time such as "20m", instead of a number of steps.
        quiet: Print nothing.
        display: Display of a grid, instead of one for this run alone.

    """
    time_budget = parse_budget(budget, settings)
    with init_distributed() as distributed:
        display = display or ProgressDisplay(quiet=quiet or not distributed.is_main_process)
        return _resume(folder, distributed, display, settings=settings, time_budget=time_budget)


def _resume(
    folder: Path,
    distributed: DistributedContext,
    display: ProgressDisplay,
    *,
    settings: Sequence[str] = (),
    first_settings: Sequence[str] = (),
    time_budget: float = inf,
) -> TrainingProgress:
    """Resume a run with changed settings; `first_settings` are those of a command that would have started it."""
    started_at = perf_counter()
    is_locked = distributed.is_main_process and folder.is_dir()
    with storage.lock_folder(folder) if is_locked else nullcontext():
        changes = parse_changes(settings, folder)
        run = open_run(folder, distributed, CorpusReader(Preparation.beside_run(folder, display)))
        saved, _ = latest_checkpoint(folder / "checkpoints", run.bundle.model)
        step = saved.progress.step if saved else 0
        if saved is None:
            run = _initialize(run, display)
        if time_budget < inf:
            changes |= more_steps(run, step, time_budget, started_at, distributed)
        run = apply_changes(run, changes, step, distributed, display)
        for message in (describe_kept_settings(first_settings, run), describe_finished(run, step)):
            if message:
                display.log(message)
        return _train_and_test(run, distributed, display)


def _train_and_test(run: Run, distributed: DistributedContext, display: ProgressDisplay) -> TrainingProgress:
    """Train, then score the test set once, with the best model."""
    progress = run_training(run, distributed, display)
    if distributed.is_main_process and (comparison := describe_adaptation(run, progress)):
        display.log(comparison, "green")
    score_test_sets(run, display)
    distributed.barrier()  # the other ranks may load the model only now
    return progress
