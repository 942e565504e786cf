"""The functions of `import tongsa` that train several models to compare them. Each imports what it needs."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tongsa.api import PathLike, Paths
    from tongsa.runs.grid import GridRun
    from tongsa.runs.ladder_report import LadderReport


def train_grid(
    recipe: "PathLike | None" = None,
    *,
    folder: "PathLike",
    vary: "Mapping[str, Sequence[object]] | None" = None,
    seeds: int = 1,
    data: "Paths" = (),
    dev: "Paths" = (),
    test: "Paths" = (),
    settings: "Sequence[str]" = (),
    budget: str | None = None,
    executor: Literal["local", "ray"] = "local",
    quiet: bool = False,
) -> "list[GridRun]":
    """Train all combinations of some settings, each with several seeds, as `tongsa compare RECIPE --vary` does.

    recipe, data, dev, test, settings: As for `train`, for all runs.
    folder: Folder of the grid; each run is a folder in it. A second call continues what is unfinished.
    vary: Settings with their values, for example {"model.norm": ["pre", "post"]}.
    seeds: Number of runs of each setting, with seeds from 1.
    budget: Time limit of each run, such as "2m".
    executor: "ray" trains the runs on a Ray cluster.

    A run that fails has the state "failed" and a message; the others go on.
    """
    from tongsa.runs import grid, grid_plan
    from tongsa.runs.planner import as_strings

    plan = grid_plan.GridPlan(
        folder=Path(folder),
        recipe=Path(recipe) if recipe is not None else None,
        data=grid_plan.DataFiles(train=(*as_strings(data),), dev=(*as_strings(dev),), test=(*as_strings(test),)),
        settings=(*as_strings(settings),),
        vary=tuple(grid_plan.Vary.from_values(key, values) for key, values in (vary or {}).items()),
        seeds=tuple(range(1, seeds + 1)),
        budget=budget,
        executor=executor,
    )
    return grid.train_grid(plan, quiet=quiet)


def ladder(
    data: "Paths" = (),
    *,
    folder: "PathLike",
    dev: "Paths" = (),
    test: "Paths" = (),
    settings: "Sequence[str]" = (),
    seeds: int = 1,
    budget: str | None = None,
    quick: bool = False,
    models: "Sequence[str]" = (),
    quiet: bool = False,
) -> "LadderReport":
    """Train the models of the papers on one data set, as `tongsa ladder` does, and return their scores.

    data: Pairs, or texts with labels; without them, the phrasebook of the demo.
    dev, test: Files of these sets; by default they are split off from the data.
    folder: Folder of the runs and the report. A second call continues what is unfinished.
    settings: Settings of all models, as for `--set`.
    budget: Time of each run; by default two minutes.
    quick: A few pairs and steps, to see that it works.
    models: Names of some models; by default all.
    """
    from tongsa.demo.phrasebook import write_phrasebook
    from tongsa.runs.grid_plan import DataFiles
    from tongsa.runs.ladder import LadderPlan, train_ladder
    from tongsa.runs.planner import as_strings

    files = DataFiles(train=(*as_strings(data),), dev=(*as_strings(dev),), test=(*as_strings(test),))
    plan = LadderPlan(
        folder=Path(folder),
        data=files if files.train else write_phrasebook(Path(folder) / "phrasebook"),
        settings=(*as_strings(settings),),
        seeds=tuple(range(1, seeds + 1)),
        budget=budget,
        quick=quick,
        models=tuple(models),
    )
    return train_ladder(plan, quiet=quiet)
