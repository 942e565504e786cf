"""Planner: resolve a recipe from a file, the command line and a preset for the size of the data."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from math import inf
from pathlib import Path

from tongsa import bundle, config
from tongsa.config import ConfigError, Table
from tongsa.data.file_patterns import expand_patterns, has_pattern
from tongsa.data.ledger import Ledger
from tongsa.data.text_store import PairStore
from tongsa.errors import InputError
from tongsa.interface import PresetName
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.data import check_data_files
from tongsa.runs.hardware import configure_hardware
from tongsa.runs.preset_choice import Preset, TimeBudget, choose_preset
from tongsa.runs.recipe import DataConfig, Recipe, check_sections, data_folder, merge_tables, parse_recipe
from tongsa.runs.update_batches import split_update
from tongsa.runs.update_speed import estimate_update_seconds
from tongsa.training.config import TrainingConfig

PathOrPaths = Sequence[str | Path] | str | Path

SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86400}
ESTIMATE_BUDGET_FRACTION = 0.02
"""Fraction of the time budget after which no further update of a preset is measured."""
SIZE_FAMILY_KEYS = ("kind", "head", "context_input")
"""Settings of [model] that decide which sizes a preset has."""
CORPUS_KEYS = ("dataset", "corpora", "stages", "tag")
"""Settings of [data] that belong to the files of a recipe."""
MAX_VALIDATIONS = 6
"""Validations in a run whose length is planned."""


def parse_budget(budget: str | None, settings: Sequence[str] | str) -> float:
    """Return the seconds of a time budget, infinity without one; it excludes `training.steps` among the settings."""
    if budget is None:
        return inf
    if not isinstance(budget, str):
        raise InputError(f"budget {budget!r}: no unit. Write for example budget='20m'.")
    if any(assignment.partition("=")[0].strip() == "training.steps" for assignment in as_strings(settings)):
        raise InputError(
            f"--budget {budget}: chooses training.steps, which is also set with --set. "
            "Leave out --budget, or --set training.steps."
        )
    return parse_duration(budget)


def parse_duration(text: str) -> float:
    """Return the seconds of `90s`, `20m`, `1h30m` or `2d`."""
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip().lower().replace(" ", ""):
        raise InputError(f"--budget {text}: not a time. Write for example 90s, 20m or 1h30m.")
    if any(not unit for _, unit in parts):
        raise InputError(
            f"--budget {text}: no unit. Write for example {text.strip()}m for minutes or {text.strip()}s for seconds."
        )
    duration = sum(float(number) * SECONDS_PER_UNIT[unit] for number, unit in parts)
    if duration <= 0:
        raise InputError(f"--budget {text}: no time. Write for example 20m.")
    return duration


def resolve_recipe(
    recipe: str | Path | None,
    *,
    data: PathOrPaths = (),
    dev: PathOrPaths = (),
    test: PathOrPaths = (),
    settings: Sequence[str] | str = (),
    overrides: Table | None = None,
    time_budget: float = inf,
    preset: PresetName | None = None,
    reader: CorpusReader | None = None,
) -> Recipe:
    """Return the recipe of a run. Later sources win: preset, initial model, recipe file, files, settings, overrides.

    Args:
        recipe: TOML file; without it a preset is chosen for the size of the data.
        data: Training files, instead of the recipe's; relative to the current directory, not to `data.folder`.
        dev: Development files, together with `data`.
        test: Test files, together with `data`.
        settings: Assignments as for `--set`.
        overrides: Tables of settings.
        time_budget: Seconds; a short budget selects a smaller preset.
        preset: This preset instead of a choice by size and time.
        reader: Keeps the training pairs that a preset needs, so that the run need not read them again.

    """
    values = config.read_toml(Path(recipe)) if recipe is not None else {}
    values = _replace_data_files(values, as_strings(data), as_strings(dev), as_strings(test))
    if recipe is None and not data:
        raise InputError("no training data. Give a recipe (a .toml file) or your own files (--data FILE).")
    requested: Table = {}
    for assignment in as_strings(settings):
        config.override(requested, assignment)
    requested = merge_tables(requested, overrides or {})
    try:
        requested = merge_tables(requested, _expand_file_patterns(merge_tables(values, requested)))
        init_from = merge_tables(values, requested).get("training", {}).get("init_from")
        if init_from:
            values = merge_tables(_inherited_settings(Path(str(init_from)), with_model=recipe is None), values)
        reader, name = reader or CorpusReader(), None
        if recipe is None:  # the sizes of an initial model are fixed: no smaller preset for a short budget
            choose = _preset_chooser(reader, inf if init_from else time_budget, preset)
            name, sizes = choose(merge_tables(values, requested))
            values = merge_tables(sizes, values)
        choose = _preset_chooser(reader, time_budget, preset)
        values, remarks, other_name = _replace_other_kind(values, requested, choose, str(recipe))
        return replace(parse_recipe(merge_tables(values, requested)), remarks=remarks, preset=other_name or name)
    except ConfigError as error:
        raise ConfigError(f"{_error_origin(values, str(error), recipe)}: {error}") from None


def _replace_data_files(values: Table, data: list[str], dev: list[str], test: list[str]) -> Table:
    """Return the settings of a recipe with other data files, if there are any."""
    if data:
        values = merge_tables(values, {"data": {"train": data, "dev": dev, "test": test, "folder": ""}})
        for key in (*CORPUS_KEYS, "source_language", "target_language"):  # of the recipe's own data
            values["data"].pop(key, None)
    elif dev or test:
        name = "dev" if dev else "test"
        raise InputError(
            f"{name} (--{name}): only together with data (--data). "
            f"To change the {name} set of a recipe: --set data.{name}=FILE"
        )
    return values


def _expand_file_patterns(values: Table) -> Table:
    """Return the settings of data files with patterns replaced by the files that match."""
    data, model = values.get("data", {}), values.get("model", {})
    if not isinstance(data, dict) or not isinstance(model, dict):
        return {}  # an error that the config reader explains
    corpora = data.get("corpora", [])
    tables = [data, *(corpora if isinstance(corpora, list) else [])]
    files = [_named_files(table) for table in tables if isinstance(table, dict)]
    folder = str(data_folder(str(data.get("folder", "")), str(data.get("dataset", ""))))
    names = chain(*(chain(*named.values()) for named in files))
    if len(files) < len(tables) or not any(has_pattern(name, folder) for name in names):
        return {}
    family = {key: value for key, value in model.items() if key in SIZE_FAMILY_KEYS}
    is_parallel = parse_recipe({"model": family}).model.task != "language_model"
    of_run, *of_corpora = (
        {name: expand_patterns(names, folder, parallel=is_parallel) for name, names in named.items()} for named in files
    )
    merged = [table | expanded for table, expanded in zip(corpora, of_corpora, strict=True)]
    return {"data": of_run | ({"corpora": merged} if merged else {})}


def _named_files(table: Table) -> dict[str, list[str]]:
    """Return the files of [data] or of a corpus."""
    named = {name: table[name] for name in ("train", "dev", "test") if isinstance(table.get(name), list | str)}
    return {name: as_strings(value) for name, value in named.items()}


def _replace_other_kind(
    values: Table, requested: Table, choose: Callable[[Table], Preset], origin: str
) -> tuple[Table, tuple[str, ...], PresetName | None]:
    """Replace the model settings of a recipe if `--set model.kind` names another kind: sizes are those of a preset."""
    check_sections(merge_tables(values, requested))
    recipe_kind, kind = (table.get("model", {}).get("kind", "transformer") for table in (values, requested))
    if "kind" not in requested.get("model", {}) or kind == recipe_kind or not values.get("model"):
        return values, (), None
    values = values | {"model": {}}
    data = merge_tables(values, requested).get("data", {})
    check_data_files(config.build_config(DataConfig, data, "data"), origin)
    preset = choose(merge_tables(values, requested))
    sizes = preset.settings["model"]
    shared = merge_tables(values, requested).get("tokenizer", {}).get("shared", True)
    if not shared and getattr(parse_recipe({"model": sizes}).model, "tie_embeddings", "") == "all":
        sizes["tie_embeddings"] = "target"  # "all" needs one vocabulary
    remark = f"model.kind: {kind} instead of the recipe's {recipe_kind}; the sizes in [model] are those of a preset"
    return values | {"model": sizes}, (remark,), preset.name


def _error_origin(values: Table, message: str, recipe: str | Path | None) -> str:
    """Return the origin of a wrong setting: the recipe if it gives the same error without `--set`, else "--set"."""
    try:
        parse_recipe(values)
    except ConfigError as error:
        if recipe is not None and str(error) == message:
            return str(recipe)
    return "--set"


def _preset_chooser(reader: CorpusReader, time_budget: float, name: PresetName | None) -> Callable[[Table], Preset]:
    """Return a function from the user's settings to the preset for the training data, or to the preset `name`."""
    time = TimeBudget(time_budget, _update_timer(time_budget)) if time_budget < inf else None

    def choose(requested: Table) -> Preset:
        check_sections(requested)
        model = {key: value for key, value in requested.get("model", {}).items() if key in SIZE_FAMILY_KEYS}
        partial = parse_recipe({"data": requested.get("data", {}), "model": model})  # the sizes are not known yet
        corpora = partial.data.per_corpus
        stores = [reader.read(corpus, partial.model.task, corpus.train, Ledger(None)) for corpus in corpora]
        train = PairStore.concatenate(stores)
        preset = choose_preset(train, partial.kind, partial.model, requested, time, name)
        training = parse_recipe(merge_tables(preset.settings, requested)).training
        intervals = {"training": config.to_table(fit_intervals(training.steps, training))}
        return Preset(preset.name, merge_tables(preset.settings, intervals))

    return choose


def _update_timer(time_budget: float) -> Callable[[Recipe, int], float]:
    """Return a function that measures the time of an update as one process of this machine would compute it."""

    def measure(recipe: Recipe, length: int) -> float:
        training, _ = split_update(configure_hardware(recipe.training), recipe.model)
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


def as_strings(values: PathOrPaths) -> list[str]:
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
