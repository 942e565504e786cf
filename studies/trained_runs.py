"""Training of settings × seeds for a study: one thread per run, a fixed number of steps, finished runs used again.

    plan.settings × seeds ─► folder of a run ─► tongsa.train (resumed if it was interrupted)
                                     └─► plan.evaluate(folder) ─► evaluation.json ─► values of the study

A run whose settings or recipe have changed is trained again. The same settings, seed and CPU type give the same
numbers, also with several processes: each training is a process of its own with one thread.
"""

import hashlib
import json
import multiprocessing
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studies.intervals import Scale
from studies.study import MeasureOptions

Evaluation = dict[str, Any]
"""JSON that `evaluate` returns for one run, or {"diverged": message}; and `seconds` of training and evaluation."""
FIXED_SETTINGS = ("training.threads=1", "training.precision=fp32", "training.device=cpu")
DEMO_SPLITS, PREPARED = "demo-pairs", "prepared"
"""Folders beside the runs of all studies: the demo's pairs, and what is prepared from training data, once for all."""
SCALES: dict[str, Scale] = {"bleu": "percent", "exact_match": "percent", "perplexity": "log"}
"""Scales of the intervals of `evaluate_demo`'s scores."""


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """Trainings of a study."""

    settings: Mapping[str, Sequence[str]]
    """The settings to compare, by name: assignments as for `tongsa train --set`."""
    evaluate: Callable[[Path], Evaluation]
    """Function of the run's folder; defined in a module, because other processes import it."""
    shared: Sequence[str] = ()
    """Settings of all runs; those of `settings` come after them."""
    recipe: Path | None = None
    """Recipe with its own data; None is the recipe and the pairs of the demo."""
    files: Sequence[Path] = field(default_factory=tuple)
    """Data files, part of the run's identity: if one of them changes, the runs are trained again."""


@dataclass(frozen=True, kw_only=True)
class TrainingTask:
    """One training: a setting and a seed."""

    folder: Path
    recipe: Path
    settings: tuple[str, ...]
    fingerprint: str
    evaluate: Callable[[Path], Evaluation]


def train_all(plan: TrainingPlan, options: MeasureOptions) -> dict[str, list[Evaluation]]:
    """Train what is not there yet; return the evaluations of each setting, in the order of the seeds."""
    tasks = {
        name: [_training_task(plan, name, changes, seed, options) for seed in options.seeds]
        for name, changes in plan.settings.items()
    }
    # seed by seed: after an interruption there is something of every setting
    ordered = [tasks[name][i] for i in range(len(options.seeds)) for name in plan.settings]
    if options.processes == 1:
        for task in ordered:
            run_task(task)
    else:
        context = multiprocessing.get_context("spawn")  # a forked process would inherit torch's thread pool
        with ProcessPoolExecutor(options.processes, mp_context=context) as pool:
            for future in [pool.submit(run_task, task) for task in ordered]:
                future.result()
    return {name: [run_task(task) for task in group] for name, group in tasks.items()}


def _training_task(
    plan: TrainingPlan, name: str, changes: Sequence[str], seed: int, options: MeasureOptions
) -> TrainingTask:
    recipe, settings = plan.recipe, [*plan.shared, *changes, f"training.seed={seed}", *FIXED_SETTINGS]
    settings.append(f"data.cache={json.dumps(str(options.runs.parent / PREPARED))}")
    if recipe is None:
        from tongsa.demo.demo import demo_recipe_path

        recipe = demo_recipe_path()
        settings.insert(0, f"data.folder={json.dumps(str(write_demo_pairs(options.runs.parent)))}")
    content = [recipe.read_bytes(), json.dumps(settings).encode(), *(path.read_bytes() for path in plan.files)]
    fingerprint = hashlib.sha256(b"\0".join(content)).hexdigest()
    folder = options.runs / ("quick" if options.quick else "full") / f"{name}-seed{seed}"
    return TrainingTask(
        folder=folder, recipe=recipe, settings=tuple(settings), fingerprint=fingerprint, evaluate=plan.evaluate
    )


def write_demo_pairs(runs: Path) -> Path:
    """Write the demo's pairs once, beside the runs of all studies; return the folder."""
    from tongsa.demo import write_splits

    folder = runs / DEMO_SPLITS
    if not (folder / "complete").exists():
        write_splits(folder)
        (folder / "complete").touch()
    return folder


def run_task(task: TrainingTask) -> Evaluation:
    """Train one run unless it is finished, and return its evaluation."""
    import torch

    import tongsa
    from tongsa.training.loop import DivergedError

    torch.set_num_threads(1)
    evaluation_file, fingerprint_file = task.folder / "evaluation.json", task.folder / "fingerprint"
    if not fingerprint_file.exists() or fingerprint_file.read_text("utf-8") != task.fingerprint:
        shutil.rmtree(task.folder, ignore_errors=True)
        task.folder.mkdir(parents=True)
        fingerprint_file.write_text(task.fingerprint, "utf-8")
    if evaluation_file.exists():
        evaluation: Evaluation = json.loads(evaluation_file.read_text("utf-8"))
        return evaluation
    run, start = task.folder / "run", time.perf_counter()
    try:
        tongsa.train(task.recipe, run=run, settings=task.settings, resume_if_exists=True, quiet=True)
        evaluation = task.evaluate(run)
    except DivergedError as error:
        evaluation = {"diverged": str(error)}
    evaluation["seconds"] = round(time.perf_counter() - start, 1)
    shutil.rmtree(run / "checkpoints", ignore_errors=True)  # the bundle is enough to evaluate again
    part = evaluation_file.with_suffix(".part")
    part.write_text(json.dumps(evaluation, ensure_ascii=False, indent=1), "utf-8")
    part.replace(evaluation_file)  # complete or absent, also after a crash
    return evaluation


def evaluate_demo(run: Path, splits: Sequence[str] = ("test",), sentences: int = 0, beam: int = 1) -> Evaluation:
    """Return exact match, BLEU and perplexity on the demo's splits; `sentences` takes the first ones, 0 all."""
    import tongsa
    from tongsa.demo import read_split

    evaluation: Evaluation = {}
    translator = tongsa.load(run, task="seq2seq", engine="torch")
    for split in splits:
        pairs = read_split(split)
        report = tongsa.evaluate(translator, pairs=pairs[:sentences] if sentences else pairs, beam=beam)
        evaluation[split] = {name: score.value for name, score in report.scores.items()}
    return evaluation


def seed_values(evaluations: Sequence[Evaluation], *path: str, diverged: float | None = None) -> list[float]:
    """Return one number of each run, such as ("test", "bleu"); diverged runs have this value, or are left out."""
    values = []
    for evaluation in evaluations:
        if "diverged" in evaluation:
            values += [] if diverged is None else [diverged]
            continue
        value: Any = evaluation
        for name in path:
            value = value[name]
        values.append(float(value))
    return values
