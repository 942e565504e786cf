"""`tongsa compare RECIPE --vary … --seeds N`: train the grid first, then compare its runs."""

import argparse
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tongsa.cli.grid_arguments import grid_plan
from tongsa.errors import InputError

if TYPE_CHECKING:
    from tongsa.runs.compared_systems import ComparisonOptions
    from tongsa.runs.evaluation import EvaluationSet

GRID_OPTIONS = ("vary", "budget")


@dataclass(frozen=True)
class TrainedGrid:
    """Finished runs of a grid, the other systems, and what to say about failed runs."""

    systems: list[Path]
    failures: str


def is_grid(options: argparse.Namespace) -> bool:
    """Return whether the first argument is a recipe whose runs are to be trained."""
    has_recipe = options.systems[0].suffix == ".toml"
    is_asked = bool(options.vary) or options.seeds > 1
    if not has_recipe and (is_asked or options.budget):
        name = next((name for name in GRID_OPTIONS if getattr(options, name)), "seeds")
        raise InputError(f"--{name}: trains the runs of a recipe. Give a recipe (*.toml) first, or leave out --{name}.")
    return has_recipe and is_asked


def train_grid_runs(options: argparse.Namespace, comparison: "ComparisonOptions") -> TrainedGrid:
    """Train the runs that are not finished, in the folder named like the page: runs/norm for -o runs/norm.html."""
    from tongsa.runs.comparison_power import PowerRemark
    from tongsa.runs.grid import describe_failures, train_grid

    recipe, *others = options.systems
    check_test_files(options, recipe)
    plan = grid_plan(options, grid_folder(options.output), recipe=recipe)
    planned = plan.plan_folder(plan.all_variants[0])
    power = PowerRemark(
        plan=planned,
        read=partial(grid_test_set, options, planned),
        options=comparison,
        seeds=options.seeds,
        others=others,
    )
    runs = train_grid(plan, remark=power)
    finished = [run.folder for run in runs if run.state == "finished"]
    failures = describe_failures(runs, plan.command)
    if len(finished) + len(others) < 2:
        raise InputError(f"{recipe}: fewer than two runs are finished. {failures or 'Add --seeds 3.'}")
    return TrainedGrid([*finished, *others], failures)


def grid_folder(page: Path) -> Path:
    return page.with_suffix("")


def check_test_files(options: argparse.Namespace, recipe: Path) -> None:
    """Raise InputError before the training if neither the command nor the recipe names a test set."""
    from tongsa import config

    table = config.read_toml(recipe)
    for assignment in options.set:
        config.override(table, assignment)
    data = table.get("data")
    if not options.data and not (isinstance(data, dict) and data.get("test")):
        raise InputError(f"{recipe}: no test set (data.test). Add --data FILE.")


def grid_test_set(options: argparse.Namespace, run: Path) -> "EvaluationSet":
    """Return the test set of the command, or that of the recipe, in the format of the recipe."""
    from tongsa import config
    from tongsa.runs.evaluation import EvaluationSet
    from tongsa.runs.recipe import parse_recipe

    settings = run / "run.toml"
    data = parse_recipe(config.read_folder_toml(settings), str(settings)).data
    return EvaluationSet(
        files=options.data or data.paths(data.test),
        columns=tuple(options.columns or data.columns),
        header=options.header or data.header,
        encoding=data.encoding,
        source_language=data.source_language,
        target_language=data.target_language,
    )
