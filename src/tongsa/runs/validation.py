"""Validation: score the model on the dev set, keep the best one, and average the last ones at the end."""

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
from tongsa.data.ledger import Pair
from tongsa.evaluation.evaluate import EvaluationReport, evaluate
from tongsa.interface import load_tensors, named_tensors
from tongsa.runs import hardware
from tongsa.runs.card import model_card
from tongsa.runs.reporting import RunReporter
from tongsa.runs.run import Run
from tongsa.training.checkpoint import TrainingProgress
from tongsa.training.distributed import DistributedContext


@contextmanager
def _temporary_weights(run: Run, tensors: dict[str, Tensor] | None) -> Iterator[None]:
    """Load other weights into the model (None: keep its own) and restore its weights at the end."""
    model = run.bundle.model
    original = {name: value.detach().clone() for name, value in named_tensors(model).items()} if tensors else {}
    if tensors:
        load_tensors(model, tensors)
    model.eval()
    try:
        yield
    finally:
        if tensors:
            load_tensors(model, original)


def validate(
    run: Run,
    progress: TrainingProgress,
    tensors: dict[str, Tensor] | None,
    reporter: RunReporter,
    distributed: DistributedContext,
) -> TrainingProgress:
    """Validate on rank 0 with all CPU threads; the other ranks wait and get its progress."""

    def validate_with_all_threads() -> TrainingProgress:
        with hardware.use_threads(run.recipe.training.threads):
            return _validate_on_main(run, progress, tensors, reporter)

    if distributed.world_size == 1:
        return validate_with_all_threads()
    text = distributed.broadcast_text(lambda: json.dumps(asdict(validate_with_all_threads())))
    return TrainingProgress(**json.loads(text))


def _validate_on_main(
    run: Run, progress: TrainingProgress, tensors: dict[str, Tensor] | None, reporter: RunReporter
) -> TrainingProgress:
    """Score the weights that would be saved now; save them if they are the best."""
    started_at = perf_counter()
    with _temporary_weights(run, tensors):
        report = evaluate_dev(run)
    scores = {name: score.value for name, score in report.scores.items()}
    score = report.metric_value(run.recipe.training.best_metric)
    is_best = progress.best_score is None or score >= progress.best_score  # at equal scores the later model is kept
    if run.recipe.training.average_last > 1:
        _save_recent_weights(run, progress.step, tensors)
    if is_best:
        progress = replace(progress, best_score=score, best_step=progress.step, validations_since_best=0)
        save_best_model(run, progress, report, tensors)
    else:
        progress = replace(progress, validations_since_best=progress.validations_since_best + 1)
    record = {name: round(value, 4) for name, value in scores.items()}
    record |= {"dev_loss": round(math.log(scores["perplexity"]), 6)}
    seconds = round(perf_counter() - started_at, 2)
    reporter.log_validation(progress.step, record, is_best=is_best, seconds=seconds)
    _log_validation(run, progress, report, reporter, is_best=is_best)
    return progress


def evaluate_dev(run: Run) -> EvaluationReport:
    """Evaluate the model on the validation pairs."""
    pairs = [(pair.source, pair.target) for pair in validation_pairs(run)]
    return evaluate(run.bundle.text_model(), pairs, run.evaluation_config)


def validation_pairs(run: Run) -> list[Pair]:
    """Return the dev pairs of a validation, evenly spaced: a file may be sorted by label, length or topic."""
    count, dev = run.recipe.training.validate_sentences, run.data.dev
    if not 0 < count < len(dev) or run.data.task != "seq2seq":
        return dev
    return [dev[i * len(dev) // count] for i in range(count)]


def _log_validation(
    run: Run, progress: TrainingProgress, report: EvaluationReport, reporter: RunReporter, *, is_best: bool
) -> None:
    suffix = "  ← best so far" if is_best else ""
    reporter.log(f"step {progress.step:,}  dev {report.summary()}{suffix}", "green" if is_best else "")
    if report.outputs:
        i = progress.step % len(report.outputs)
        pair = validation_pairs(run)[i]
        reporter.log(f"    {pair.source}\n  → {report.outputs[i]}\n  = {pair.target}", "dim")


def save_best_model(
    run: Run, progress: TrainingProgress, report: EvaluationReport, tensors: dict[str, Tensor] | None = None
) -> None:
    bundle.save_bundle(run.folder / "model", run.bundle, model_card(run, progress, report), tensors)


def _save_recent_weights(run: Run, step: int, tensors: dict[str, Tensor] | None) -> None:
    """Keep the weights of the last `training.average_last` validations, for their average at the end."""
    folder = run.folder / "recent"
    weights = tensors or named_tensors(run.bundle.model)
    with storage.explain_os_errors(folder):
        folder.mkdir(exist_ok=True)
        temporary = folder / "new.part"
        save_file({name: value.detach().contiguous().cpu() for name, value in weights.items()}, temporary)
        temporary.replace(folder / f"{step:09d}.safetensors")
        for old in sorted(folder.glob("*.safetensors"))[: -run.recipe.training.average_last]:
            old.unlink()


def finish_training(run: Run, progress: TrainingProgress) -> TrainingProgress:
    """Save the average of the last validated weights as the best model, if it scores better."""
    recent = [path for path in sorted((run.folder / "recent").glob("*.safetensors")) if int(path.stem) <= progress.step]
    if run.recipe.training.average_last > 1 and len(recent) > 1:
        loaded = [load_file(path) for path in recent[-run.recipe.training.average_last :]]
        average = {
            name: torch.stack([weights[name].double() for weights in loaded]).mean(0).to(loaded[0][name].dtype)
            for name in loaded[0]
        }
        with _temporary_weights(run, average):
            report = evaluate_dev(run)
        score = report.metric_value(run.recipe.training.best_metric)
        if progress.best_score is None or score > progress.best_score:
            progress = replace(progress, best_score=score, best_step=progress.step)
            save_best_model(run, progress, report, average)
    return progress
