"""Arguments of a training grid: the settings that vary, the seeds, the length of a run, where the runs are trained."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tongsa.errors import InputError
from tongsa.program import format_command

if TYPE_CHECKING:
    from tongsa.runs.grid_plan import GridPlan

MAX_SEEDS = 1000
"""More seeds are a mistyped number."""


def add_grid_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --vary, --seeds, --budget, --executor and --run, which `grid_plan` reads, together with --set."""
    group = parser.add_argument_group("grid of runs, trained from a recipe")
    group.add_argument(
        "--vary", action="append", default=[], metavar="KEY=V1,V2", help="train with each of these values of a setting"
    )
    add_run_arguments(group)
    group.add_argument("--run", type=Path, metavar="FOLDER", help="folder of the runs (default: runs/RECIPE-grid)")


def add_run_arguments(group: argparse._ActionsContainer) -> None:
    """Add --seeds, --budget and --executor."""
    group.add_argument("--seeds", type=int, metavar="N", help="train each setting with seeds 1 to N (default: 1)")
    group.add_argument("--budget", metavar="TIME", help="choose the steps for this time per run: 90s, 20m")
    group.add_argument("--executor", choices=["local", "ray"], default="local", help="where the runs are trained")


def grid_plan(options: argparse.Namespace, recipe: Path) -> "GridPlan":
    """Return the plan of the grid that the arguments describe."""
    from tongsa.runs.grid_plan import GridPlan, parse_vary

    return GridPlan(
        folder=options.run or Path("runs") / f"{recipe.stem}-grid",
        recipe=recipe,
        settings=tuple(options.set),
        vary=tuple(map(parse_vary, options.vary)),
        seeds=parse_seeds(options.seeds),
        budget=options.budget,
        executor=options.executor,
        command=repeat_command(options.argv),
    )


def parse_seeds(count: int | None) -> tuple[int, ...]:
    count = 1 if count is None else count
    if not 1 <= count <= MAX_SEEDS:
        raise InputError(f"--seeds {count}: out of range. Give 1 to {MAX_SEEDS}.")
    return tuple(range(1, count + 1))


def repeat_command(argv: Sequence[str]) -> str:
    """Return the command that was typed, to print it."""
    return format_command(" ".join(["{}"] * len(argv)), *argv)
