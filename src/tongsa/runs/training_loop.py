"""The loop around the updates of a run: reports, validation, checkpoints, early stopping and stop signals."""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

from tongsa.errors import InputError, InterruptedRun
from tongsa.interface import named_tensors
from tongsa.program import format_command
from tongsa.runs.epoch_examples import EpochExamples
from tongsa.runs.probes import ProbeRecorder, open_probes
from tongsa.runs.reporting import ProgressDisplay, RunReporter, open_reporter
from tongsa.runs.run import Run
from tongsa.runs.validation import finish_training, validate
from tongsa.training import checkpoint
from tongsa.training.checkpoint_files import TrainingProgress
from tongsa.training.data_loader import iterate_batches
from tongsa.training.distributed import DistributedContext, full_tensor, unwrap_model
from tongsa.training.loop import INITIAL_LOSS_SCALE, DivergedError, UpdateResult, train
from tongsa.training.loss import TrainingModel
from tongsa.training.memory import reset_peak_memory
from tongsa.training.optimizer import WeightEMA, build_optimizers

CHECKPOINTS_DURING_TRAINING = 2
"""Checkpoints kept by default until the run has finished: if the newest is damaged, the other one is used."""


class _Learner(NamedTuple):
    """The parts of a run that change with each update."""

    wrapped: nn.Module
    """The model as it is trained: parallel, sharded or compiled."""
    model: nn.Module
    """The module that owns the parameters."""
    optimizers: Sequence[torch.optim.Optimizer]
    ema: WeightEMA | None

    @classmethod
    def build(cls, run: Run, distributed: DistributedContext) -> Self:
        training = run.recipe.training
        device = torch.device(training.device)
        training_model = TrainingModel(run.bundle.model, training)
        wrapped = distributed.wrap_model(training_model, device, shard=training.shard, compiled=training.compile)
        model = unwrap_model(wrapped)
        ema = WeightEMA(model, training.ema) if training.ema else None
        return cls(wrapped, model, build_optimizers(model, training, distributed), ema)


def run_training(run: Run, distributed: DistributedContext, display: ProgressDisplay) -> TrainingProgress:
    """Train from the last complete checkpoint, or from step 0, to the end. Rank 0 writes all files."""
    reset_peak_memory()
    learner = _Learner.build(run, distributed)
    folder, training = run.folder / "checkpoints", run.recipe.training
    saved, remarks = checkpoint.latest_checkpoint(folder, learner.model, learner.optimizers, learner.ema)
    progress = TrainingProgress()
    if saved:
        saved.restore(learner.model, learner.optimizers, learner.ema)
        progress = saved.progress
        if distributed.is_main_process:
            checkpoint.delete_unusable(folder, progress.step)
    if progress.step in training.steps_changed_at[-1:]:  # also after early stopping, a longer run continues
        progress = replace(progress, validations_since_best=0)
    if not _is_out_of_patience(run, progress):
        last_step = progress.step if saved else -1
        with (
            open_reporter(run, last_step, distributed, display) as reporter,
            open_probes(run, last_step, distributed) as probes,
        ):
            for remark in remarks:
                reporter.log(remark, "yellow")
            if not saved and probes.is_due(0):  # before the checkpoint of an initial model
                probes.record(run, progress, _weights_to_keep(run, learner))
            if not saved and training.init_from:
                progress = _save_initial_model(run, learner, progress, reporter, distributed)
            try:
                progress = _train_to_end(run, learner, progress, reporter, probes, distributed)
            except DivergedError as error:
                raise InputError(f"{error}; {_divergence_advice(run)}") from None
    if not distributed.is_main_process:
        return progress
    progress = finish_training(run, progress, display.log)
    if not training.keep_checkpoints:
        checkpoint.keep_newest(folder)
    return progress


def _save_initial_model(
    run: Run, learner: _Learner, progress: TrainingProgress, reporter: RunReporter, distributed: DistributedContext
) -> TrainingProgress:
    """Validate the model of `training.init_from` and save a checkpoint: a resumed run does not read it again."""
    if run.is_adapted:
        progress = validate(run, progress, _weights_to_keep(run, learner), reporter, distributed)
    _save_checkpoint(run, learner, progress, distributed)
    return progress


def _train_to_end(
    run: Run,
    learner: _Learner,
    progress: TrainingProgress,
    reporter: RunReporter,
    probes: ProbeRecorder,
    distributed: DistributedContext,
) -> TrainingProgress:
    """Run the updates with reports, validations and checkpoints, until the last step, early stopping or a signal."""
    training = run.recipe.training
    with _catch_stop_signals() as stop_requested:
        for update in _train_updates(run, learner, progress, distributed):
            if learner.ema:
                learner.ema.update(learner.model, update.step)
            progress = _advance_progress(progress, update)
            reporter.log_update(update)
            is_last = update.step == training.steps
            is_stopping = distributed.any_rank(stop_requested.is_set())  # a signal to one rank stops all of them
            if update.step % training.validate_every == 0 or is_last:
                progress = validate(run, progress, _weights_to_keep(run, learner), reporter, distributed)
            is_early = _is_out_of_patience(run, progress)
            if probes.is_due(update.step, is_last=is_last or is_early):
                probes.record(run, progress, _weights_to_keep(run, learner))
            if update.step % training.checkpoint_every == 0 or is_last or is_early or is_stopping:
                _save_checkpoint(run, learner, progress, distributed)
            if is_early:
                reporter.log(
                    f"no improvement in {training.patience} validations: early stopping at step {update.step:,}"
                )
                break
            if is_stopping and not is_last:
                raise InterruptedRun(
                    f"stopped and saved at step {update.step:,}. "
                    f"Continue with: {format_command('train --resume {}', run.folder)}"
                )
    return progress


def _is_out_of_patience(run: Run, progress: TrainingProgress) -> bool:
    return 0 < run.recipe.training.patience <= progress.validations_since_best


def _save_checkpoint(run: Run, learner: _Learner, progress: TrainingProgress, distributed: DistributedContext) -> None:
    folder, keep = run.folder / "checkpoints", run.recipe.training.keep_checkpoints or CHECKPOINTS_DURING_TRAINING
    checkpoint.save_checkpoint(folder, progress, learner.model, learner.optimizers, learner.ema, keep, distributed)


def _weights_to_keep(run: Run, learner: _Learner) -> dict[str, Tensor] | None:
    """Return the weights to validate and save; None if they are already in the model of the run."""
    if learner.ema:
        tensors = learner.ema.tensors
    elif learner.model is not run.bundle.model:
        tensors = named_tensors(learner.model)
    else:
        return None
    return {name: full_tensor(value) for name, value in tensors.items()}


def _train_updates(
    run: Run, learner: _Learner, progress: TrainingProgress, distributed: DistributedContext
) -> Iterator[UpdateResult]:
    training = run.recipe.training
    examples = EpochExamples(run.data, run.recipe)
    batches = iterate_batches(
        examples,
        batch_tokens=training.batch_tokens,
        seed=training.seed,
        start=progress.position,
        stage_ends=examples.stage_ends(training.grad_accumulation),
        batches_before=training.grad_accumulation * progress.step,
    )
    return train(
        learner.wrapped,
        batches,
        learner.optimizers,
        training.lr.build(getattr(run.recipe.model, "width", 512), training.steps),
        training,
        start_step=progress.step,
        loss_scale=INITIAL_LOSS_SCALE if training.precision == "fp16" and not progress.step else progress.loss_scale,
        distributed=distributed,
    )


def _divergence_advice(run: Run) -> str:
    saved, _ = checkpoint.latest_checkpoint(run.folder / "checkpoints")
    step = saved.progress.step if saved else 0
    return (
        f"training stopped. The last checkpoint (step {step}) and the best model are kept. "
        "Try a lower training.lr.peak (or training.lr.scale), a longer training.lr.warmup, "
        "or training.clip_grad_norm=1.0."
    )


def _advance_progress(progress: TrainingProgress, result: UpdateResult) -> TrainingProgress:
    return replace(
        progress,
        step=result.step,
        epoch=result.position.epoch,
        batch=result.position.batch,
        tokens=progress.tokens + result.tokens,
        seconds=progress.seconds + result.seconds,
        loss_scale=result.loss_scale,
    )


@contextmanager
def _catch_stop_signals() -> Iterator[threading.Event]:
    """Set the event on Ctrl-C or SIGTERM, to stop after the current update. A second Ctrl-C stops at once."""
    stop_requested = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop_requested
        return

    def handle(number: int, _: object) -> None:
        if stop_requested.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop_requested.set()

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop_requested
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
