"""Validation: score the model on the dev set, keep the best one, and average the last ones at the end."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from operator import attrgetter
from time import perf_counter

import torch
from torch import Tensor

from tongsa import bundle
from tongsa.bundle import Bundle
from tongsa.data.ledger import Pair
from tongsa.data.model_summary import ModelSummary, choose_examples, find_control_tags
from tongsa.data.training_profile import low_score_threshold
from tongsa.evaluation.evaluate import EvaluationReport, evaluate
from tongsa.interface import load_tensors, named_tensors
from tongsa.runs import hardware
from tongsa.runs.card import model_card
from tongsa.runs.plan_warnings import overfitting_warning
from tongsa.runs.recent_weights import average_weights, list_recent, save_recent_weights
from tongsa.runs.reporting import RunReporter
from tongsa.runs.run import Run
from tongsa.training import checkpoint
from tongsa.training.checkpoint_files import TrainingProgress
from tongsa.training.distributed import DistributedContext
from tongsa.training.journal import read_journal
from tongsa.training.memory import peak_memory

MAX_TAGGED_SOURCES = 100_000
"""Training sources, evenly spaced, in which control tags are counted."""
MAX_SAMPLE_CHARACTERS = 200
"""Length at which a sentence printed during training is cut."""


@contextmanager
def temporary_weights(run: Run, tensors: dict[str, Tensor] | None) -> Iterator[None]:
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
    with temporary_weights(run, tensors):
        report = evaluate_dev(run)
    scores = {name: score.value for name, score in report.scores.items()}
    score = report.metric_value(run.recipe.training.best_metric)
    is_best = progress.best_score is None or score >= progress.best_score  # at equal scores the later model is kept
    if run.recipe.training.average_last > 1 and progress.step:
        weights = tensors or named_tensors(run.bundle.model)
        save_recent_weights(run.folder / "recent", progress.step, weights, run.recipe.training.average_last)
    if is_best:
        progress = replace(progress, best_score=score, best_step=progress.step, validations_since_best=0)
        save_best_model(run, progress, report, tensors)
    else:
        progress = replace(progress, validations_since_best=progress.validations_since_best + 1)
    record = {name: round(value, 4) for name, value in scores.items()}
    record |= {"dev_loss": round(math.log(scores["perplexity"]), 6)}
    seconds = round(perf_counter() - started_at, 2)
    memory = peak_memory(torch.device(run.recipe.training.device))
    reporter.log_validation(progress.step, record, is_best=is_best, seconds=seconds, peak_memory=memory)
    _log_validation(run, progress, report, reporter, is_best=is_best)
    if warning := overfitting_warning(read_journal(run.folder / "journal.jsonl")):
        reporter.log(warning, "yellow")
    return progress


def evaluate_dev(run: Run) -> EvaluationReport:
    """Evaluate the model on the validation pairs."""
    pairs = [(pair.source, pair.target) for pair in validation_pairs(run)]
    return evaluate(run.bundle.text_model(), pairs, run.evaluation_config)


def validation_pairs(run: Run) -> Sequence[Pair]:
    """Return the dev pairs of a validation, evenly spaced: a file may be sorted by label, length or topic."""
    count, dev = run.recipe.training.validate_sentences, run.data.dev
    if not 0 < count < len(dev) or run.data.task != "seq2seq":
        return dev
    return [dev[i * len(dev) // count] for i in range(count)]


def _log_validation(
    run: Run, progress: TrainingProgress, report: EvaluationReport, reporter: RunReporter, *, is_best: bool
) -> None:
    suffix = "  ← best so far" if is_best else ""
    suffix = suffix if progress.step else "  ← the initial model"
    reporter.log(f"step {progress.step:,}  dev {report.summary()}{suffix}", "green" if is_best else "")
    if report.outputs:
        i = progress.step % len(report.outputs)
        pair = validation_pairs(run)[i]
        source, output, target = map(_shorten, (pair.source, report.outputs[i], pair.target))
        reporter.log(f"    {source}\n  → {output}\n  = {target}", "dim")


def _shorten(text: str) -> str:
    """Return a text on one line, cut after MAX_SAMPLE_CHARACTERS: an untrained model may repeat a word for pages."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_SAMPLE_CHARACTERS else f"{line[:MAX_SAMPLE_CHARACTERS]}…"


def save_best_model(
    run: Run, progress: TrainingProgress, report: EvaluationReport, tensors: dict[str, Tensor] | None = None
) -> None:
    card = model_card(run, progress, report)
    described = replace(_with_score_threshold(run, report), summary=_summary(run, report))
    bundle.save_bundle(run.folder / "model", described, card, tensors)


def _summary(run: Run, report: EvaluationReport) -> ModelSummary:
    side = attrgetter("target" if run.data.task == "language_model" else "source")
    metric, score = next(iter(report.scores.items()))
    return ModelSummary(
        training_pairs=len(run.data.train),
        metric=metric if math.isfinite(score.value) else "",
        score=round(score.value, 2) if math.isfinite(score.value) else 0.0,
        examples=choose_examples(map(side, run.data.dev)),
        control_tags=tuple(dict.fromkeys([*run.recipe.data.tags, *_found_tags(run)])),
    )


def _found_tags(run: Run) -> tuple[str, ...]:
    return find_control_tags(run.data.train.sources[:: -(-len(run.data.train) // MAX_TAGGED_SOURCES)])


def _with_score_threshold(run: Run, report: EvaluationReport) -> Bundle:
    """Return the bundle with the threshold for low scores; scores on the training pairs would be too high for it."""
    profile = run.bundle.profile
    if profile is None or run.data.dev is run.data.train:
        return run.bundle
    sentences = [sentence for translation in report.translations for sentence in translation.sentences]
    threshold = low_score_threshold([sentence.mean_log_prob for sentence in sentences])
    return replace(run.bundle, profile=replace(profile, min_log_prob=threshold))


def finish_training(run: Run, progress: TrainingProgress, log: Callable[[str], None]) -> TrainingProgress:
    """Save the average of the last validated weights as the best model, if it scores better."""
    count = run.recipe.training.average_last
    recent = list_recent(run.folder / "recent", progress.step)[-count:] if count > 1 else []
    average = average_weights(recent, run.bundle.model, log)
    if average is not None:
        with temporary_weights(run, average):
            report = evaluate_dev(run)
        score = report.metric_value(run.recipe.training.best_metric)
        if progress.best_score is None or score > progress.best_score:
            progress = replace(progress, best_score=score, best_step=progress.step)
            save_best_model(run, progress, report, average)
            saved, _ = checkpoint.latest_checkpoint(run.folder / "checkpoints")
            if saved:  # for a longer run: its model must be better than this one
                checkpoint.write_progress(saved.path, progress)
    return progress


def describe_adaptation(run: Run, progress: TrainingProgress) -> str:
    """Return the dev scores before and after the training of an initial model; "" if it was not scored."""
    records = read_journal(run.folder / "journal.jsonl")
    initial = next((record["validation"] for record in records if record["step"] == 0), None)
    if initial is None or progress.best_score is None:
        return ""
    metric = run.recipe.training.best_metric
    name = {"loss": "perplexity", "auto": next(iter(initial))}.get(metric, metric)
    scores = f"dev {name} {initial[name]:.2f} before the training → {abs(progress.best_score):.2f}"
    if progress.best_step == 0:
        return f"{scores}: no validation was better than {run.recipe.training.init_from}, so its weights are kept"
    return f"{scores} at step {progress.best_step:,}"
