"""Validations: what would be kept if training ended now, and what is kept in the end."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from time import perf_counter

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tongsa import bundle, files
from tongsa.evaluation.report import Report, evaluate
from tongsa.experiment import machine
from tongsa.experiment.card import card
from tongsa.experiment.run import Run
from tongsa.experiment.witness import Witness
from tongsa.interface import put, weights
from tongsa.text import Pair
from tongsa.training.parallel import Workers
from tongsa.training.snapshot import Progress


@contextmanager
def _using(run: Run, values: dict[str, Tensor] | None) -> Iterator[None]:
    """The model with other numbers for a while."""
    model = run.bundle.model
    own = {name: value.detach().clone() for name, value in weights(model).items()} if values else {}
    if values:
        put(model, values)
    model.eval()
    try:
        yield
    finally:
        if values:
            put(model, own)


def validate(
    run: Run, progress: Progress, values: dict[str, Tensor] | None, witness: Witness, workers: Workers
) -> Progress:
    """What the first worker finds and keeps, the others being told of it when it is done."""

    def found() -> str:
        with machine.all_threads(run.recipe.training.threads):
            return json.dumps(asdict(_validated(run, progress, values, witness)))

    return Progress(**json.loads(workers.told(found)))


def _validated(run: Run, progress: Progress, values: dict[str, Tensor] | None, witness: Witness) -> Progress:
    """Score what would be kept if training ended now; keep it if it is the best so far."""
    began = perf_counter()
    with _using(run, values):
        report = score(run)
    figures = {name: value.value for name, value in report.scores.items()}
    merit = report.merit(run.recipe.training.criterion)
    better = progress.best is None or merit >= progress.best  # of equals the later, which has seen more
    if run.recipe.training.average > 1:
        _keep_recent(run, progress.step, values)
    if better:
        progress = replace(progress, best=merit, best_step=progress.step, since_best=0)
        save(run, progress, report, values)
    else:
        progress = replace(progress, since_best=progress.since_best + 1)
    record = {name: round(value, 4) for name, value in figures.items()}
    record |= {"dev_loss": round(math.log(figures["perplexity"]), 6)}
    seconds = round(perf_counter() - began, 2)
    witness.validation(progress.step, record, better=better, seconds=seconds)
    _show(run, progress, report, witness, better=better)
    return progress


def score(run: Run) -> Report:
    """On the development set, through the same reader as everything else."""
    return evaluate(run.bundle.reader(), [(pair.source, pair.target) for pair in validated(run)], run.how)


def validated(run: Run) -> list[Pair]:
    """The pairs that a validation takes, evenly spread: a file may be sorted by label, length or topic."""
    count, dev = run.recipe.training.validate_sentences, run.data.dev
    if not 0 < count < len(dev) or run.data.task != "pairs":
        return dev
    return [dev[at * len(dev) // count] for at in range(count)]


def _show(run: Run, progress: Progress, report: Report, witness: Witness, *, better: bool) -> None:
    mark = "  ← best so far" if better else ""
    witness.say(f"step {progress.step:,}  dev {report.summary()}{mark}", "green" if better else "")
    if report.outputs:
        at = progress.step % len(report.outputs)
        pair = validated(run)[at]
        witness.say(f"    {pair.source}\n  → {report.outputs[at]}\n  = {pair.target}", "dim")


def save(run: Run, progress: Progress, report: Report, values: dict[str, Tensor] | None = None) -> None:
    text = card(run.recipe, run.bundle, progress, report, json.loads((run.folder / "data.json").read_text("utf-8")))
    bundle.save(run.folder / "model", run.bundle, text, values)


def _keep_recent(run: Run, step: int, values: dict[str, Tensor] | None) -> None:
    """The weights of the last N validations, for their mean at the end."""
    folder = run.folder / "recent"
    with files.explained(folder):
        folder.mkdir(exist_ok=True)
        part = folder / "new.part"
        save_file(
            {name: value.detach().contiguous().cpu() for name, value in (values or weights(run.bundle.model)).items()},
            part,
        )
        part.replace(folder / f"{step:09d}.safetensors")
        for old in sorted(folder.glob("*.safetensors"))[: -run.recipe.training.average]:
            old.unlink()


def finish(run: Run, progress: Progress) -> Progress:
    """Leave the best model in the bundle: the best validated one, or the mean of the last ones if that is better."""
    recent = [path for path in sorted((run.folder / "recent").glob("*.safetensors")) if int(path.stem) <= progress.step]
    if run.recipe.training.average > 1 and len(recent) > 1:
        loaded = [load_file(path) for path in recent[-run.recipe.training.average :]]
        mean = {
            name: torch.stack([one[name].double() for one in loaded]).mean(0).to(loaded[0][name].dtype)
            for name in loaded[0]
        }
        with _using(run, mean):
            report = score(run)
        merit = report.merit(run.recipe.training.criterion)
        if progress.best is None or merit > progress.best:
            progress = replace(progress, best=merit, best_step=progress.step)
            save(run, progress, report, mean)
    return progress
