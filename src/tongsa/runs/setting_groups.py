"""Settings of runs that are compared: those that differ, and groups of runs that differ only in their seed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tongsa import config
from tongsa.config import Table
from tongsa.errors import InputError
from tongsa.runs.data_checksums import read_data_checksums
from tongsa.runs.recipe import data_folder

SEED_KEY = "training.seed"
FILE_KEYS = ("data.train", "data.dev", "data.test", "data.glossary")
"""Settings that name files; the content of the files is compared, not their paths."""
IGNORED_KEYS = frozenset(
    {
        "data.folder",  # part of the paths
        "data.dataset",
        "data.license",
        "training.probe",
        "training.tensorboard",
        "training.keep_checkpoints",
        "training.checkpoint_every",
    }
)
"""Settings that do not change the trained model."""
BUDGET_KEYS = frozenset(
    {"training.steps", "training.validate_every", "training.validate_sentences", "training.lr.warmup"}
)
"""Settings that `--budget` fits to the measured speed: they differ a little between runs of one setting."""
MAX_STEPS_RATIO = 1.25
"""Runs of one setting may differ by this factor in their steps, if only settings of a budget differ."""
MISSING = "–"
_SEED_SUFFIX = re.compile(r"[\W_]*(seed|run)?[\W_]*\d*$", re.IGNORECASE)

Settings = Mapping[str, Any]
"""Full key → value; empty for a system without a recorded training."""


class SettingGroup(NamedTuple):
    """Runs of the same settings with different seeds, or a single system, by their indices."""

    name: str
    members: tuple[int, ...]


class SettingDifferences(NamedTuple):
    """Keys that differ, and for each group the values of its members as text."""

    keys: list[str]
    rows: list[list[str]]  # (group, key)


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a run by their full keys, files with checksums; {} without a run.toml."""
    path = folder / "run.toml"
    if not path.is_file():
        return {}
    settings = dict(flatten_table(config.read_folder_toml(path)))
    checksums = _read_checksums(folder)
    for key in FILE_KEYS:
        if key in settings:
            files = settings[key] if isinstance(settings[key], list) else [settings[key]]
            folder = data_folder(settings.get("data.folder", ""), settings.get("data.dataset", ""))
            paths = [str(folder / file) for file in files if file]
            settings[key] = [f"{Path(path).name} {checksums.get(path, path)[:8]}" for path in paths]
    return settings


def _read_checksums(folder: Path) -> dict[str, str]:
    """Return path → sha256 of the data files of a run."""
    try:
        return read_data_checksums(folder / "data.json")
    except InputError:
        return {}


def flatten_table(table: Table, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the full key and the value of each setting."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flatten_table(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def group_by_seed(names: Sequence[str], settings: Sequence[Settings]) -> list[SettingGroup]:
    """Group the runs whose settings are equal but for the seed, in the order of their first members."""
    groups: list[list[int]] = []
    for i, values in enumerate(settings):
        group = next((group for group in groups if values and _is_same_setting(values, settings, group)), None)
        if group is None:
            groups.append([i])
        else:
            group.append(i)
    group_names = [_group_name([names[i] for i in group]) for group in groups]
    unique = [
        name if group_names.count(name) == 1 else " + ".join(names[i] for i in group)
        for name, group in zip(group_names, groups, strict=True)
    ]
    return [SettingGroup(name, tuple(group)) for name, group in zip(unique, groups, strict=True)]


def _is_same_setting(values: Settings, settings: Sequence[Settings], group: Sequence[int]) -> bool:
    """Return whether a run belongs to a group: equal settings, a seed that the group does not have yet."""
    seeds = {settings[i].get(SEED_KEY) for i in group}
    return values.get(SEED_KEY) not in seeds and all(_differ_only_in_seed(values, settings[i]) for i in group)


def _differ_only_in_seed(a: Settings, b: Settings) -> bool:
    different = {key for key in a.keys() | b.keys() if a.get(key) != b.get(key)} - IGNORED_KEYS - {SEED_KEY}
    if not different:
        return bool(a) and bool(b)
    steps = sorted((a.get("training.steps", 0), b.get("training.steps", 0)))
    return different <= BUDGET_KEYS and 0 < steps[1] <= MAX_STEPS_RATIO * steps[0]


def _group_name(names: Sequence[str]) -> str:
    """Return what the names of a group have in common, without the seed: dot for dot-seed1 and dot-seed2."""
    if len(names) == 1:
        return names[0]
    length = next((i for i, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), None)
    return _SEED_SUFFIX.sub("", names[0][:length]) or names[0]


def setting_differences(groups: Sequence[SettingGroup], settings: Sequence[Settings]) -> SettingDifferences:
    """Return the settings that differ. A setting that only one kind of model has is no difference by itself."""
    known = [settings[i] for group in groups for i in group.members if settings[i]]
    keys = [key for key in dict.fromkeys(key for values in known for key in values) if key not in IGNORED_KEYS]
    differing = [key for key in keys if len({_text(values[key]) for values in known if key in values}) > 1]
    rows = [[_group_values(key, [settings[i] for i in group.members]) for key in differing] for group in groups]
    return SettingDifferences(differing, rows)


def _group_values(key: str, members: Sequence[Settings]) -> str:
    values = [values.get(key) for values in members]
    if len(values) > 2 and all(type(value) in (int, float) for value in values) and key != SEED_KEY:
        low, high = min(values), max(values)  # type: ignore[type-var]
        return _text(low) if low == high else f"{_text(low)} to {_text(high)}"
    return ", ".join(dict.fromkeys(map(_text, values)))


def _text(value: Any) -> str:
    if value is None or value == "" or value == []:
        return MISSING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
