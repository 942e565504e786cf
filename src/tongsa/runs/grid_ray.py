"""Runs of a training grid as tasks of a Ray cluster (Moritz et al. 2018). Needs the extra `cluster`.

Each task trains one run in the folder of the grid, which all hosts must share. If a worker dies, Ray starts the task
again, on another host if need be, and the run continues from its last checkpoint. Only paths and the journal's record
are sent between processes.
"""

import json
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tongsa import config
from tongsa.errors import InterruptedRun
from tongsa.runs.file_translation import sigterm_as_interrupt
from tongsa.runs.grid import GridRun, train_run
from tongsa.runs.grid_display import GridDisplay
from tongsa.runs.ray_backend import ray_cluster
from tongsa.runs.reporting import ProgressDisplay
from tongsa.training.journal import read_journal

POLL_SECONDS = 5.0
"""Time between two looks at the progress of the runs."""
SAVE_SECONDS = 60.0
"""Time for the tasks to save a checkpoint after Ctrl-C."""


def train_with_ray(runs: Sequence[GridRun], display: GridDisplay) -> Iterator[GridRun]:
    """Yield the runs as they end, in any order."""
    with ray_cluster(), sigterm_as_interrupt():
        import ray

        cpus = int(ray.cluster_resources().get("CPU", 1))
        tasks = {
            ray.remote(num_cpus=min(_threads(run), cpus), max_retries=3)(train_task).remote(
                _with_absolute_paths(run), str(Path.cwd())
            ): run
            for run in runs
        }
        try:
            while tasks:
                ended, _ = ray.wait(list(tasks), timeout=POLL_SECONDS)
                display.show_part(sum(map(_done_fraction, tasks.values())), f"{display.ended}/{display.runs} runs", "")
                for task in ended:
                    yield _result(task, tasks.pop(task))
        except KeyboardInterrupt:
            for task in tasks:
                ray.cancel(task)  # SIGINT: the run saves a checkpoint
            ray.wait(list(tasks), num_returns=len(tasks), timeout=SAVE_SECONDS)
            raise InterruptedRun from None


def train_task(run: GridRun, folder: str) -> str:
    """Train a run in a worker process, and return its record as JSON; relative paths start in `folder`."""
    try:
        os.chdir(folder)
        trained = train_run(run, ProgressDisplay(quiet=True))
    except InterruptedRun as stopped:
        trained = replace(run, state="failed", message=str(stopped))
    except OSError as error:
        message = f"{error} (on {platform.node()}: all hosts need the same files under the same paths.)"
        trained = replace(run, state="failed", message=message)
    return json.dumps(trained.record())


def _result(task: object, run: GridRun) -> GridRun:
    """Return a run with the record of its task; a task whose workers died again and again has failed."""
    import ray

    try:
        return run.with_record(json.loads(ray.get(task)))
    except ray.exceptions.RayError as error:
        return replace(run, state="failed", message=f"the worker ended: {str(error).splitlines()[0]}")


def _threads(run: GridRun) -> int:
    return max(1, int(config.read_folder_toml(run.plan_folder / "run.toml")["training"]["threads"]))


def _with_absolute_paths(run: GridRun) -> GridRun:
    return replace(run, folder=run.folder.resolve(), plan_folder=run.plan_folder.resolve())


def _done_fraction(run: GridRun) -> float:
    """Return the part of a run that its journal shows as done."""
    steps = int(config.read_folder_toml(run.plan_folder / "run.toml")["training"]["steps"])
    return max((record.get("step", 0) for record in read_journal(run.folder / "journal.jsonl")), default=0) / steps
