"""Train the runs of a recipe with several settings and seeds, and compare them on the test set of the recipe."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tongsa.errors import InputError
from tongsa.runs.compared_systems import ComparisonOptions
from tongsa.runs.comparison import Comparison, compare_systems
from tongsa.runs.evaluation import EvaluationSet
from tongsa.runs.grid import GridRun, describe_failures, train_grid
from tongsa.runs.grid_plan import GridPlan
from tongsa.runs.planner import resolve_recipe
from tongsa.runs.systems import Log


@dataclass(frozen=True)
class GridComparison:
    """The runs of a grid, those that failed too, and the comparison of the others."""

    runs: Sequence[GridRun]
    comparison: Comparison
    failures: str
    """Message about the runs that failed; empty if none did."""


def compare_grid(
    plan: GridPlan,
    test_set: EvaluationSet | None = None,
    options: ComparisonOptions | None = None,
    log: Log = lambda _: None,
) -> GridComparison:
    """Train what has not finished, then compare all runs that have; without a test set, on that of the recipe."""
    if len(plan.all_variants) * len(plan.seeds) < 2:
        raise InputError("compare: a grid of one run. Add --vary KEY=VALUE,VALUE, or --seeds N with at least 2.")
    chosen = test_set or recipe_test_set(plan, log)
    runs = train_grid(plan)
    finished = [run.folder for run in runs if run.state == "finished"]
    failures = describe_failures(runs, plan.command)
    if len(finished) < 2:
        raise InputError(f"compare: fewer than two runs have finished.\n{failures}")
    return GridComparison(runs, compare_systems(finished, chosen, options, log), failures)


def recipe_test_set(plan: GridPlan, log: Log = lambda _: None) -> EvaluationSet:
    """Return the test set of a plan's recipe, or its dev set; raise InputError if it has no files of either."""
    data = resolve_recipe(plan.recipe, settings=plan.settings).data
    files: list[str | Path] = list(data.paths(data.test or data.dev))
    if not files:
        raise InputError(f"{plan.recipe}: neither data.test nor data.dev. Add --data FILE, a test set.")
    if not data.test:
        log("compared on the dev set, on which the best model of each run was chosen; for a test set: --data FILE")
    return EvaluationSet(
        files=files,
        columns=data.columns,
        header=data.header,
        source_language=data.source_language,
        target_language=data.target_language,
    )
