"""Changes to a run that is resumed: more steps, and settings that do not change an update."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tongsa import config
from tongsa.config import Table
from tongsa.errors import InputError
from tongsa.program import format_command
from tongsa.runs.budget import fit_time_budget
from tongsa.runs.reporting import ProgressDisplay
from tongsa.runs.run import Run, check_probes, write_settings
from tongsa.training.config import TrainingConfig
from tongsa.training.distributed import DistributedContext

CHANGEABLE = (
    "steps",
    "validate_every",
    "checkpoint_every",
    "keep_checkpoints",
    "patience",
    "threads",
    "probe",
    "tensorboard",
)
"""Settings of [training] that a resumed run may change: no update depends on them, except on `steps` by the decay."""

RESOLVED = ("batch_tokens", "grad_accumulation", "device", "precision", "threads")
"""Settings that a new run replaces by values for this machine."""


def parse_changes(settings: Sequence[str], folder: Path) -> Table:
    """Return the changes to [training]; raise InputError for a setting that would change the updates."""
    requested: Table = {}
    for assignment in [settings] if isinstance(settings, str) else settings:
        config.override(requested, assignment)
    for section, table in requested.items():
        for key in table if isinstance(table, dict) else [""]:
            if section != "training" or key not in CHANGEABLE:
                raise InputError(
                    f"--resume: {section}.{key} cannot change during a run. Leave it out, or start a new run "
                    f"from this model with --set training.init_from={folder}. "
                    f"--resume may change training.{', '.join(CHANGEABLE)}."
                )
    return dict(requested.get("training", {}))


def more_steps(run: Run, step: int, time_budget: float, started_at: float, distributed: DistributedContext) -> Table:
    """Return the changes that let a run continue after this step for the time budget, in seconds."""
    plan = fit_time_budget(run, time_budget, started_at, distributed).training
    return {"steps": step + plan.steps, "validate_every": plan.validate_every}


def apply_changes(
    run: Run, changes: Table, step: int, distributed: DistributedContext, display: ProgressDisplay
) -> Run:
    """Return the run with these settings after a step, and write them to run.toml. All ranks must call this."""
    training = run.recipe.training
    changed = config.build_config(TrainingConfig, config.to_table(training) | changes, "training")
    if changed == training:
        return run
    check_probes(changed, run.bundle)
    if changed.steps != training.steps:
        if changed.steps <= step:
            raise InputError(
                f"training.steps {changed.steps}: the run is at step {step:,} already. "
                f"Write more, for example --set training.steps={2 * step}"
            )
        changed = replace(changed, steps_changed_at=(*training.steps_changed_at, step))
        display.log(_describe_extension(run, training, changed, step))
    distributed.barrier()  # all ranks have read the old settings
    run = replace(run, recipe=replace(run.recipe, training=changed))
    if distributed.is_main_process:
        write_settings(run)
    return run


def _describe_extension(run: Run, old: TrainingConfig, new: TrainingConfig, step: int) -> str:
    """Return a message with the new number of steps and the effect on the learning rate."""
    width = getattr(run.recipe.model, "width", 512)
    before, after = (training.lr.build(width, training.steps) for training in (old, new))
    message = f"training continues from step {step:,} to {new.steps:,} (before: {old.steps:,})"
    if after(step + 1) == before(step + 1) and new.lr.schedule not in ("linear", "cosine"):
        return f"{message}; the learning rate continues its schedule, {new.lr.schedule}"
    return (
        f"{message}; schedule {new.lr.schedule}: the learning rate is that of a run of {new.steps:,} steps, "
        f"{before(max(1, step)):.3g} at step {step:,} and {after(step + 1):.3g} after it"
    )


def describe_kept_settings(settings: Sequence[str], run: Run) -> str:
    """Return a message with the settings of `--resume-if-exists` that differ from those of the run; "" if none does."""
    requested: Table = {}
    for assignment in [settings] if isinstance(settings, str) else settings:
        config.override(requested, assignment)
    kept = [
        f"{section}.{key} = {value!r}"
        for section, values in run.recipe.to_table().items()
        for key, value in values.items()
        if key not in RESOLVED and key in requested.get(section, {}) and not _agrees(value, requested[section][key])
    ]
    return f"the run exists and keeps its settings: {', '.join(kept)}" if kept else ""


def _agrees(value: object, requested: object) -> bool:
    """Return whether a requested value is the value in force; of a table, only the requested keys count."""
    if isinstance(value, dict) and isinstance(requested, dict):
        return all(_agrees(value.get(key), item) for key, item in requested.items())
    if isinstance(value, list | tuple) and not isinstance(requested, list | tuple):
        return [*value] == [requested]
    return value == requested or (isinstance(value, list | tuple) and [*value] == [*requested])  # type: ignore[misc]


def describe_finished(run: Run, step: int) -> str:
    """Return a message for a run without steps left; "" for a run that will continue."""
    steps = run.recipe.training.steps
    if step < steps:
        return ""
    command = format_command("train --resume {} --set training.steps={}", run.folder, 2 * steps)
    return f"the run has all its {steps:,} steps. To train longer: {command}"
