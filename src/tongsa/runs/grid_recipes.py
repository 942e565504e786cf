"""Recipes of a training grid, resolved once and written down before the first run is trained.

    FOLDER/grid.json         the arguments, and the preset of all runs
    FOLDER/plan/SETTING/     run.toml, tokenizers and data checksums of a setting: a run before its first step
    FOLDER/SETTING,seed=N/   the runs; each begins as a copy of its plan with its own seed

What is measured (the preset, and the steps that fit a time budget) is measured here, once for each setting. So the runs
of a setting differ in their seed only, and a run that is started again after a crash is the same run.
"""

import json
import shutil
from collections.abc import Iterable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import get_args

from tongsa import config, storage
from tongsa.bounded_files import MAX_TOKENIZER_BYTES, UnreadableFileError, read_bytes, read_json
from tongsa.config import ConfigError
from tongsa.errors import InputError
from tongsa.interface import PresetName
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.data import check_data_files, check_data_unchanged
from tongsa.runs.grid_display import GridDisplay
from tongsa.runs.grid_plan import GridPlan, Variant
from tongsa.runs.planner import SIZE_FAMILY_KEYS, parse_budget, resolve_recipe
from tongsa.runs.preparation import PREPARED_FOLDER, Preparation
from tongsa.runs.recipe import Recipe, parse_recipe
from tongsa.runs.tokenizers import has_checksum, write_checksum
from tongsa.runs.train import plan_run

PLAN_FILE = "grid.json"
OPTION_NAMES = {"recipe": "the recipe", "data": "the data files", "settings": "--set", "variants": "the models"}
"""Names of the parts of a plan in messages; the others are `--NAME`."""


def prepare_grid(plan: GridPlan, display: GridDisplay) -> dict[Variant, Recipe]:
    """Write the plan of each setting, or check that the folder holds the same plan; return the recipes."""
    path = plan.folder / PLAN_FILE
    reader = CorpusReader(Preparation(plan.folder / PREPARED_FOLDER))
    if path.exists():
        preset = _check_same_plan(plan, path)
    else:
        preset = _choose_preset(plan, reader)
        storage.write_text(path, json.dumps({"plan": plan.record(), "preset": preset}, indent=1, ensure_ascii=False))
    recipes = {variant: _read_plan(plan, variant) for variant in plan.all_variants if _is_planned(plan, variant)}
    if len(recipes) < len(plan.all_variants):
        _plan_variants(plan, preset, reader, display)
        recipes = {variant: recipes.get(variant) or _read_plan(plan, variant) for variant in plan.all_variants}
    display.log(_describe_tokenizers(map(plan.plan_folder, recipes)))
    return recipes


def _check_same_plan(plan: GridPlan, path: Path) -> PresetName | None:
    """Return the preset of the plan in a folder; raise InputError if that plan is another one."""
    try:
        record = read_json(path)
        known, preset = dict(record["plan"]), record["preset"]
    except (UnreadableFileError, ValueError, TypeError, KeyError):
        raise InputError(f"{path}: damaged. Choose another folder.") from None
    changed = [name for name, value in plan.record().items() if known.get(name) != value]
    if changed:
        name = OPTION_NAMES.get(changed[0], f"--{changed[0]}")
        raise InputError(
            f"{plan.folder}: holds runs of another grid ({name} changed). "
            "Give the same arguments, or choose another folder."
        )
    return preset if preset in get_args(PresetName) else None


def _is_planned(plan: GridPlan, variant: Variant) -> bool:
    return (plan.plan_folder(variant) / "run.toml").exists()


def _read_plan(plan: GridPlan, variant: Variant) -> Recipe:
    """Return the planned recipe of a setting; its tokenizers and its data files must be unchanged."""
    folder = plan.plan_folder(variant)
    settings, tokenizers = folder / "run.toml", folder / "tokenizer"
    for path in [settings, *sorted({tokenizers / "source.model", *tokenizers.glob("*")})]:
        read_planned_file(path, folder)
    recipe = parse_recipe(config.read_folder_toml(settings, plan_again(folder)), str(settings))
    check_data_unchanged(recipe, folder)
    return recipe


def read_planned_file(path: Path, folder: Path) -> bytes:
    """Return a file of a plan; raise InputError if it is damaged."""
    try:
        content = read_bytes(path, MAX_TOKENIZER_BYTES)
        if not has_checksum(path, content):
            raise UnreadableFileError(path, "damaged (its checksum is wrong)")
    except UnreadableFileError as error:
        raise InputError(f"{path}: {error.reason}. {plan_again(folder)}") from None
    return content


def plan_again(folder: Path) -> str:
    """Return the remedy for a damaged plan of a setting."""
    return f"Remove {folder}; the same command plans this setting again."


def _choose_preset(plan: GridPlan, reader: CorpusReader) -> PresetName | None:
    """Return the preset of all runs: the smallest that is chosen for a kind; None if the recipe has the sizes.

    Wrong settings and missing files of any run are found here.
    """
    recipes = {variant: _resolve(plan, variant, reader) for variant in plan.all_variants}
    for recipe in recipes.values():
        check_data_files(recipe.data, str(plan.recipe))
    time_budget, names = parse_budget(plan.budget, ()), {recipe.preset for recipe in recipes.values() if recipe.preset}
    if plan.preset:
        return plan.preset
    if names and time_budget < inf:
        first_of_kind: dict[object, Variant] = {}
        for variant, recipe in recipes.items():
            sizes_of = recipe.kind, *(getattr(recipe.model, key, "") for key in SIZE_FAMILY_KEYS)
            first_of_kind.setdefault(sizes_of, variant)
        measured = [_resolve(plan, variant, reader, time_budget=time_budget) for variant in first_of_kind.values()]
        names = {recipe.preset for recipe in measured if recipe.preset}
    return min(names, key=get_args(PresetName).index) if names else None


def _resolve(
    plan: GridPlan,
    variant: Variant,
    reader: CorpusReader,
    *,
    time_budget: float = inf,
    preset: PresetName | None = None,
) -> Recipe:
    """Return the recipe of a setting; a wrong key or value in `vary` is an error that names it."""
    files = variant.data or plan.data
    threads = ["training.threads=1"] if plan.executor == "ray" else []  # many runs at once, one CPU each
    try:
        return resolve_recipe(
            plan.recipe,
            data=files.train,
            dev=files.dev,
            test=files.test,
            settings=[*threads, *plan.settings, *variant.settings, f"training.seed={plan.seeds[0]}"],
            time_budget=time_budget,
            preset=preset,
            reader=reader,
        )
    except ConfigError as error:
        if not plan.vary or not variant.settings or str(error) == _base_error(plan, reader):
            raise
        values = " ".join(f"--vary {assignment}" for assignment in variant.settings)
        raise ConfigError(f"{values}: {str(error).removeprefix('--set: ')}") from None


def _base_error(plan: GridPlan, reader: CorpusReader) -> str:
    """Return the error of the recipe and of `--set` without the settings that vary; "" if they are right."""
    try:
        _resolve(plan, Variant(name=""), reader)
    except ConfigError as error:
        return str(error)
    return ""


def _plan_variants(plan: GridPlan, preset: PresetName | None, reader: CorpusReader, display: GridDisplay) -> None:
    """Plan the settings that are not planned yet. Those with the same text and tokenizer settings share a tokenizer."""
    time_budget, with_tokenizer = parse_budget(plan.budget, ()), dict[object, Path]()
    for variant in sorted(plan.all_variants, key=lambda variant: bool(variant.tokenizer_of)):
        recipe, folder = _resolve(plan, variant, reader, preset=preset), plan.plan_folder(variant)
        if variant.tokenizer_of:
            other = next(other for other in plan.all_variants if other.name == variant.tokenizer_of)
            reuse_from = str(plan.plan_folder(other).resolve())
            recipe = replace(recipe, tokenizer=replace(recipe.tokenizer, reuse_from=reuse_from))
        same_tokenizer = with_tokenizer.setdefault((recipe.data, recipe.tokenizer, recipe.model.task), folder)
        if _is_planned(plan, variant):
            continue
        storage.remove(folder)  # a plan that was not finished
        if same_tokenizer != folder:
            shutil.copytree(same_tokenizer / "tokenizer", folder / "tokenizer")
        run = plan_run(recipe, folder, display.for_run(variant.name), reader=reader, time_budget=time_budget)
        write_checksum(folder / "run.toml")  # a file that is cut off at a line end is TOML, too
        parameters = sum(parameter.numel() for parameter in run.bundle.model.parameters())
        steps = run.recipe.training.steps
        display.log(f"{variant.name or 'each run'}: {recipe.kind}, {parameters:,} parameters, {steps:,} steps")


def _describe_tokenizers(folders: Iterable[Path]) -> str:
    """Return a sentence about the tokenizers of a grid: perplexities per token compare only if they are the same."""
    paths = [folder / "tokenizer" / "target.model" for folder in folders]
    existing = (path if path.exists() else path.with_name("source.model") for path in paths)
    if len({read_bytes(path, MAX_TOKENIZER_BYTES) for path in existing}) == 1:
        return "all runs have the same tokenizer: scores and perplexities can be compared"
    return "the settings have different tokenizers: perplexities per token cannot be compared, scores can"
