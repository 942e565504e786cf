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

from tongsa import bundle, storage
from tongsa.evaluation.evaluate import EvaluationReport, evaluate
from tongsa.runs import hardware
from tongsa.runs.card import model_card
from tongsa.runs.run import Run
from tongsa.runs.reporting import RunReporter
from tongsa.interface import load_tensors, named_tensors
from tongsa.data.ledger import Pair
from tongsa.training.distributed import DistributedContext
from tongsa.training.checkpoint import TrainingProgress


@contextmanager
def _temporary_weights(run: Run, tensors: dict[str, Tensor] | None) -> Iterator[None]:
    """The model with other numbers for a while."""
    model = run.bundle.model
    own = {name: value.detach().clone() for name, value in named_tensors(model).items()} if tensors else {}
    if tensors:
        load_tensors(model, tensors)
    model.eval()
    try:
        yield
    finally:
        if tensors:
            load_tensors(model, own)


def validate(
    run: Run, progress: TrainingProgress, tensors: dict[str, Tensor] | None, reporter: RunReporter, distributed: DistributedContext
) -> TrainingProgress:
    """What the first worker finds and keeps, the others being told of it when it is done."""

    def found() -> str:
        with hardware.use_threads(run.recipe.training.threads):
            return json.dumps(asdict(_validate_on_main(run, progress, tensors, reporter)))

    return TrainingProgress(**json.loads(distributed.broadcast_text(found)))


def _validate_on_main(run: Run, progress: TrainingProgress, tensors: dict[str, Tensor] | None, reporter: RunReporter) -> TrainingProgress:
    """Score what would be kept if training ended now; keep it if it is the best so far."""
    began = perf_counter()
    with _temporary_weights(run, tensors):
        report = evaluate_dev(run)
    figures = {name: value.value for name, value in report.scores.items()}
    merit = report.metric_value(run.recipe.training.best_metric)
    better = progress.best_score is None or merit >= progress.best_score  # of equals the later, which has seen more
    if run.recipe.training.average_last > 1:
        _save_recent_weights(run, progress.step, tensors)
    if better:
        progress = replace(progress, best_score=merit, best_step=progress.step, validations_since_best=0)
        save_best_model(run, progress, report, tensors)
    else:
        progress = replace(progress, validations_since_best=progress.validations_since_best + 1)
    record = {name: round(value, 4) for name, value in figures.items()}
    record |= {"dev_loss": round(math.log(figures["perplexity"]), 6)}
    seconds = round(perf_counter() - began, 2)
    reporter.log_validation(progress.step, record, is_best=better, seconds=seconds)
    _log_validation(run, progress, report, reporter, is_best=better)
    return progress


def evaluate_dev(run: Run) -> EvaluationReport:
    """On the development set, through the same reader as everything else."""
    return evaluate(run.bundle.text_model(), [(pair.source, pair.target) for pair in validation_pairs(run)], run.evaluation_config)


def validation_pairs(run: Run) -> list[Pair]:
    """The pairs that a validation takes, evenly spread: a file may be sorted by label, length or topic."""
    count, dev = run.recipe.training.validate_sentences, run.data.dev
    if not 0 < count < len(dev) or run.data.task != "seq2seq":
        return dev
    return [dev[at * len(dev) // count] for at in range(count)]


def _log_validation(run: Run, progress: TrainingProgress, report: EvaluationReport, reporter: RunReporter, *, is_best: bool) -> None:
    mark = "  ← best so far" if is_best else ""
    reporter.log(f"step {progress.step:,}  dev {report.summary()}{mark}", "green" if is_best else "")
    if report.outputs:
        at = progress.step % len(report.outputs)
        pair = validation_pairs(run)[at]
        reporter.log(f"    {pair.source}\n  → {report.outputs[at]}\n  = {pair.target}", "dim")


def save_best_model(run: Run, progress: TrainingProgress, report: EvaluationReport, tensors: dict[str, Tensor] | None = None) -> None:
    text = model_card(run.recipe, run.bundle, progress, report, json.loads((run.folder / "data.json").read_text("utf-8")))
    bundle.save_bundle(run.folder / "model", run.bundle, text, tensors)


def _save_recent_weights(run: Run, step: int, tensors: dict[str, Tensor] | None) -> None:
    """The weights of the last N validations, for their mean at the end."""
    folder = run.folder / "recent"
    with storage.explain_os_errors(folder):
        folder.mkdir(exist_ok=True)
        part = folder / "new.part"
        save_file(
            {name: value.detach().contiguous().cpu() for name, value in (tensors or named_tensors(run.bundle.model)).items()},
            part,
        )
        part.replace(folder / f"{step:09d}.safetensors")
        for old in sorted(folder.glob("*.safetensors"))[: -run.recipe.training.average_last]:
            old.unlink()


def finish_training(run: Run, progress: TrainingProgress) -> TrainingProgress:
    """Leave the best model in the bundle: the best validated one, or the mean of the last ones if that is better."""
    recent = [path for path in sorted((run.folder / "recent").glob("*.safetensors")) if int(path.stem) <= progress.step]
    if run.recipe.training.average_last > 1 and len(recent) > 1:
        loaded = [load_file(path) for path in recent[-run.recipe.training.average_last :]]
        mean = {
            name: torch.stack([one[name].double() for one in loaded]).mean(0).to(loaded[0][name].dtype)
            for name in loaded[0]
        }
        with _temporary_weights(run, mean):
            report = evaluate_dev(run)
        merit = report.metric_value(run.recipe.training.best_metric)
        if progress.best_score is None or merit > progress.best_score:
            progress = replace(progress, best_score=merit, best_step=progress.step)
            save_best_model(run, progress, report, mean)
    return progress
