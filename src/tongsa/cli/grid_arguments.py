"""Arguments of a training grid: the settings that vary, the seeds, the length of a run, where the runs are trained."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tongsa.cli.model_arguments import add_set_argument
from tongsa.errors import InputError
from tongsa.program import format_command

if TYPE_CHECKING:
    from tongsa.runs.grid_plan import DataFiles, GridPlan

MAX_SEEDS = 1000
"""More seeds are a mistyped number."""


def add_grid_arguments(parser: argparse.ArgumentParser, budget: str | None = None) -> None:
    """Add --vary, --seeds, --budget, --set and --executor, which `grid_plan` reads."""
    group = parser.add_argument_group("grid of runs")
    group.add_argument(
        "--vary", action="append", default=[], metavar="KEY=V1,V2", help="train with each of these values of a setting"
    )
    add_run_arguments(parser, group, budget)


def add_run_arguments(
    parser: argparse.ArgumentParser, group: argparse._ActionsContainer, budget: str | None = None
) -> None:
    """Add --seeds, --budget, --set and --executor."""
    group.add_argument("--seeds", type=int, default=1, metavar="N", help="train each setting with seeds 1 to N")
    default = f" (default: {budget})" if budget else ""
    group.add_argument(
        "--budget", default=budget, metavar="TIME", help=f"choose the steps for this time per run: 90s, 20m{default}"
    )
    group.add_argument("--executor", choices=["local", "ray"], default="local", help="where the runs are trained")
    add_set_argument(parser, "training.steps=5000")


def grid_plan(
    options: argparse.Namespace, folder: Path, *, recipe: Path | None = None, data: "DataFiles | None" = None
) -> "GridPlan":
    """Return the plan of the grid that the arguments describe, in this folder."""
    from tongsa.runs.grid_plan import DataFiles, GridPlan, parse_vary

    return GridPlan(
        folder=folder,
        recipe=recipe,
        data=data or DataFiles(),
        settings=tuple(options.set),
        vary=tuple(map(parse_vary, options.vary)),
        seeds=parse_seeds(options.seeds),
        budget=options.budget,
        executor=options.executor,
        command=repeat_command(options.argv),
    )


def parse_seeds(count: int) -> tuple[int, ...]:
    if not 1 <= count <= MAX_SEEDS:
        raise InputError(f"--seeds {count}: out of range. Give 1 to {MAX_SEEDS}.")
    return tuple(range(1, count + 1))


def repeat_command(argv: Sequence[str]) -> str:
    """Return the command that was typed, to print it."""
    return format_command(" ".join(["{}"] * len(argv)), *argv)
