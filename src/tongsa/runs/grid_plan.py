"""Plan of a training grid: a recipe or data files, the settings that vary, and the seeds."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Literal, NamedTuple

from tongsa import config
from tongsa.config import Table
from tongsa.errors import InputError
from tongsa.interface import PresetName
from tongsa.runs.planner import parse_budget

PLAN_FOLDER = "plan"
MAX_NAME_BYTES = 200
"""Longest name of a setting; file systems allow 255 bytes for a folder, and the seed follows."""


class Vary(NamedTuple):
    """A setting with the values that it takes in a grid, written as for `--set`."""

    key: str
    values: tuple[str, ...]

    @classmethod
    def from_values(cls, key: str, values: Sequence[object]) -> "Vary":
        """Return a setting with Python values."""
        return cls(key, tuple(value if isinstance(value, str) else json.dumps(value) for value in values))


@dataclass(frozen=True, kw_only=True)
class DataFiles:
    """Files of a grid; none for those of its recipe."""

    train: tuple[str, ...] = ()
    dev: tuple[str, ...] = ()
    test: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A setting of a grid: the runs of a variant differ in their seed only."""

    name: str
    """Name of its folder; empty for a grid of seeds alone."""
    settings: tuple[str, ...] = ()
    """Assignments as for `--set`, after those of the grid."""
    data: DataFiles | None = None
    """Other files than those of the grid."""
    tokenizer_of: str = ""
    """Name of the variant whose tokenizer it uses; for a variant with other files."""


@dataclass(frozen=True, kw_only=True)
class GridPlan:
    """Arguments of a grid. Each setting is trained with each seed."""

    folder: Path
    recipe: Path | None = None
    data: DataFiles = DataFiles()
    settings: tuple[str, ...] = ()
    """Assignments as for `--set`, of all runs."""
    vary: tuple[Vary, ...] = ()
    """The grid has all combinations of these values."""
    variants: tuple[Variant, ...] = ()
    """Named settings instead of `vary`."""
    seeds: tuple[int, ...] = (1,)
    budget: str | None = None
    """Time limit of each run, such as "2m"; the steps are chosen once for each setting."""
    preset: PresetName | None = None
    """Preset of all runs; by default it is chosen by the amount of text and the budget."""
    executor: Literal["local", "ray"] = "local"
    command: str = field(default="", compare=False)
    """The command that makes this grid, for messages."""

    def __post_init__(self) -> None:
        self._check_seeds()
        self._check_vary()
        assignments = [*self.settings, *(assignment for item in self.all_variants for assignment in item.settings)]
        parse_budget(self.budget, assignments)

    def _check_seeds(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise InputError(f"seeds {list(self.seeds)}: give at least one seed, and each once.")
        if any(assignment.partition("=")[0].strip() == "training.seed" for assignment in self.settings):
            raise InputError("--set training.seed: a grid has seeds of its own. Leave it out, and give --seeds N.")

    def _check_vary(self) -> None:
        assigned = [assignment.partition("=")[0].strip() for assignment in self.settings]
        keys = [item.key for item in self.vary]
        for key, values in self.vary:
            option = f"--vary {key}={','.join(values)}"
            if key == "training.seed":
                raise InputError(f"{option}: seeds have an option of their own. Give --seeds N instead.")
            if keys.count(key) > 1 or key in assigned:
                other = "--set" if key in assigned else "another --vary"
                raise InputError(f"{option}: {other} has the same key. Give it once.")
            if not values or len(set(values)) < len(values):
                raise InputError(f"{option}: no value, or the same value twice. Write --vary {key}=VALUE,VALUE.")

    @property
    def all_variants(self) -> tuple[Variant, ...]:
        """The named settings, or all combinations of the varied values."""
        if self.variants:
            return self.variants
        settings = [
            tuple(f"{item.key}={value}" for item, value in zip(self.vary, values, strict=True))
            for values in product(*(item.values for item in self.vary))
        ]
        names = [",".join(map(_short_assignment, assignments)) for assignments in settings]
        if len(set(names)) < len(names) or any(len(name.encode()) > MAX_NAME_BYTES for name in names):
            names = [f"setting={number}" for number in range(1, len(names) + 1)]
        return tuple(
            Variant(name=name, settings=assignments) for name, assignments in zip(names, settings, strict=True)
        )

    def plan_folder(self, variant: Variant) -> Path:
        return self.folder / PLAN_FOLDER / (variant.name or "all")

    def run_folder(self, variant: Variant, seed: int) -> Path:
        return self.folder / ",".join(filter(None, [variant.name, f"seed={seed}"]))

    def record(self) -> Table:
        """Return the arguments that decide a run, for JSON. More seeds may be added later, by any executor."""
        values = {
            "recipe": config.read_toml(self.recipe) if self.recipe else None,
            "data": vars(self.data),
            "settings": self.settings,
            "vary": self.vary,
            "variants": [vars(item) | {"data": item.data and vars(item.data)} for item in self.variants],
            "budget": self.budget,
            "preset": self.preset,
        }
        table: Table = json.loads(json.dumps(values, default=str))
        return table


def parse_vary(text: str) -> Vary:
    """Parse `KEY=V1,V2`. Commas inside brackets and quotes belong to a value."""
    key, equals, rest = text.partition("=")
    values = tuple(value.strip() for value in re.findall(r"""((?:\[.*?\]|"[^"]*"|'[^']*'|[^,])+)""", rest))
    if not equals or not key.strip() or not all(values) or not values:
        raise InputError(f"--vary {text}: no key or no value. Write KEY=VALUE,VALUE, for example model.norm=pre,post.")
    return Vary(key.strip(), values)


def _short_assignment(assignment: str) -> str:
    """Return the part of a folder's name: `attention=dot` for model.attention=dot."""
    key, _, value = assignment.partition("=")
    return key.rpartition(".")[2] + "=" + re.sub(r"[^\w.+-]+", "-", value).strip("-")
