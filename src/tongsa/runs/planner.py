"""Planner: resolve a recipe from a file, the command line and a preset for the size of the data."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

from tongsa import bundle, config
from tongsa.config import ConfigError, Table
from tongsa.data.ledger import Ledger
from tongsa.errors import InputError
from tongsa.interface import ModelConfig
from tongsa.runs.data import CorpusReader
from tongsa.runs.hardware import configure_hardware
from tongsa.runs.preset_choice import TimeBudget, choose_preset
from tongsa.runs.recipe import Recipe, check_sections, merge_tables, parse_recipe
from tongsa.runs.update_speed import estimate_update_seconds
from tongsa.training.config import TrainingConfig

PathOrPaths = Sequence[str | Path] | str | Path

SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86400}
ESTIMATE_BUDGET_FRACTION = 0.02
"""Fraction of the time budget after which no further update of a preset is measured."""
MAX_VALIDATIONS = 6
"""Validations in a run whose length is planned."""
MIN_TOKENS_PER_THREAD = 512
"""Batch size in tokens that keeps a CPU thread busy."""


def parse_duration(text: str) -> float:
    """Return the seconds of `90s`, `20m`, `1h30m` or `2d`; a plain number is minutes."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip().lower().replace(" ", ""):
        raise InputError(f"--budget {text}: not a time. Write for example 90s, 20m or 1h30m.")
    seconds = sum(float(number) * SECONDS_PER_UNIT[unit or "m"] for number, unit in parts)
    if seconds <= 0:
        raise InputError(f"--budget {text}: no time. Write for example 20m.")
    return seconds


def resolve_recipe(
    recipe: str | Path | None,
    *,
    data: PathOrPaths = (),
    dev: PathOrPaths = (),
    settings: Sequence[str] | str = (),
    overrides: Table | None = None,
    time_budget: float = inf,
    reader: CorpusReader | None = None,
) -> Recipe:
    """Return the recipe of a run. Later sources win: preset, initial model, recipe file, files, settings, overrides.

    Args:
        recipe: TOML file; without it a preset is chosen for the size of the data.
        data: Training files, instead of the recipe's; relative to the current directory, not to `data.folder`.
        dev: Development files, together with `data`.
        settings: Assignments as for `--set`.
        overrides: Tables of settings.
        time_budget: Seconds; a short budget selects a smaller preset.
        reader: Keeps the training pairs that a preset needs, so that the run need not read them again.

    """
    values = config.read_toml(Path(recipe)) if recipe is not None else {}
    requested: Table = {}
    for assignment in _as_strings(settings):
        config.override(requested, assignment)
    requested = merge_tables(requested, overrides or {})
    if data:
        values = merge_tables(values, {"data": {"train": _as_strings(data), "dev": _as_strings(dev), "folder": ""}})
        for key in ("test", "dataset"):  # of the recipe's own data
            values["data"].pop(key, None)
    elif dev:
        raise InputError("--dev: only together with --data. To change the dev set of a recipe: --set data.dev=FILE")
    elif recipe is None:
        raise InputError("no training data. Give a recipe (a .toml file) or your own files (--data FILE).")
    try:
        init_from = merge_tables(values, requested).get("training", {}).get("init_from")
        if init_from:
            values = merge_tables(_inherited_settings(Path(str(init_from)), with_model=recipe is None), values)
        if recipe is None:  # the sizes of an initial model are fixed: no smaller preset for a short budget
            budget = inf if init_from else time_budget
            preset = _preset_settings(merge_tables(values, requested), budget, reader or CorpusReader())
            values = merge_tables(preset, values)
        return parse_recipe(merge_tables(values, requested))
    except ConfigError as error:
        raise ConfigError(f"{_error_origin(values, str(error), recipe)}: {error}") from None


def _error_origin(values: Table, message: str, recipe: str | Path | None) -> str:
    """Return the origin of a wrong setting: the recipe if it gives the same error without `--set`, else "--set"."""
    try:
        parse_recipe(values)
    except ConfigError as error:
        if recipe is not None and str(error) == message:
            return str(recipe)
    return "--set"


def _preset_settings(requested: Table, time_budget: float, reader: CorpusReader) -> Table:
    """Return the preset for the training data, with intervals that fit the requested number of steps."""
    check_sections(requested)
    model = {key: value for key, value in requested.get("model", {}).items() if key in ("kind", "head")}
    partial = parse_recipe({"data": requested.get("data", {}), "model": model})  # the sizes are not known yet
    task = partial.model.task
    train = reader.read(partial.data, task, partial.data.train, Ledger(None))
    time = TimeBudget(time_budget, _update_timer(time_budget)) if time_budget < inf else None
    preset = choose_preset(train, partial.kind, partial.model, requested, time)
    training = parse_recipe(merge_tables(preset, requested)).training
    return merge_tables(preset, {"training": config.to_table(fit_intervals(training.steps, training))})


def _update_timer(time_budget: float) -> Callable[[Recipe, int], float]:
    """Return a function that measures the time of an update as one process of this machine would compute it."""

    def measure(recipe: Recipe, length: int) -> float:
        training = configure_hardware(recipe.training)
        training = fit_grad_accumulation(training, parallel_batches(training, recipe.model))
        recipe = replace(recipe, training=training)
        return estimate_update_seconds(recipe, length, ESTIMATE_BUDGET_FRACTION * time_budget)

    return measure


def _inherited_settings(init_from: Path, *, with_model: bool) -> Table:
    """Return the settings that a run takes from its initial model: the tokenizers and, without a recipe, the sizes."""
    initial = bundle.load_bundle(init_from)
    shared = initial.target_tokenizer is initial.source_tokenizer
    jamo = getattr(initial.source_tokenizer, "jamo", False)
    settings: Table = {"tokenizer": {"reuse_from": str(init_from), "shared": shared, "jamo": jamo}}
    if with_model:
        languages = {"source_language": initial.source_language, "target_language": initial.target_language}
        settings["data"] = {name: value for name, value in languages.items() if value}
        settings["model"] = {"kind": initial.kind} | config.to_table(initial.config)
        settings["decoding"] = config.to_table(initial.decoding)
    return settings


def _as_strings(values: PathOrPaths) -> list[str]:
    """Return a list; a single string or path is one item."""
    return [str(value) for value in ([values] if isinstance(values, str | Path) else values)]


def fit_intervals(steps: int, training: TrainingConfig) -> TrainingConfig:
    """Return settings with validations, checkpoints and a warm-up that fit the number of steps."""
    return replace(
        training,
        steps=steps,
        validate_every=-(-steps // MAX_VALIDATIONS),
        checkpoint_every=max(1, min(training.checkpoint_every, -(-steps // 10))),
        lr=replace(training.lr, warmup=max(1, min(training.lr.warmup, steps // 8))),
    )


def fit_grad_accumulation(training: TrainingConfig, parallelism: int) -> TrainingConfig:
    """Split an update into enough batches for all ranks or threads; with sharding, into as many for each rank."""
    batches = training.grad_accumulation
    if batches >= parallelism and not (training.shard and batches % parallelism):
        return training
    total_tokens, batches = training.batch_tokens * batches, -(-batches // parallelism) * parallelism
    return replace(training, grad_accumulation=batches, batch_tokens=max(1, total_tokens // batches))


def parallel_batches(training: TrainingConfig, model: ModelConfig) -> int:
    """Return the number of batches of an update that one process computes in parallel, one per CPU thread.

    It is 1 for batch normalization, which needs the whole batch, and with a memory limit.
    """
    is_supported = training.device == "cpu" and training.precision == "fp32" and not training.compile
    is_limited = training.memory_limit_mib or training.micro_batch_tokens
    if not is_supported or is_limited or getattr(model, "norm_kind", "") == "batch":
        return 1
    return max(1, min(training.threads, training.batch_tokens * training.grad_accumulation // MIN_TOKENS_PER_THREAD))
