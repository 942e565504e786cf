"""The `for` around the update."""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn

from tongsa.errors import InputError, InterruptedRun
from tongsa.runs.data import epoch_examples
from tongsa.runs.run import Run
from tongsa.runs.validation import finish_training, validate
from tongsa.runs.reporting import RunReporter
from tongsa.interface import named_tensors
from tongsa.training import checkpoint
from tongsa.training.loop import INITIAL_LOSS_SCALE, DivergedError, UpdateResult, train
from tongsa.training.loss import TrainingModel
from tongsa.training.optimizer import WeightEMA, build_optimizers
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext, unwrap_model, full_tensor
from tongsa.training.checkpoint import TrainingProgress
from tongsa.training.data_loader import iterate_batches


def run_training(run: Run, distributed: DistributedContext = SINGLE_PROCESS, *, quiet: bool = False) -> TrainingProgress:
    """Train from the last whole snapshot, or from the beginning, to the end. The first worker keeps the records."""
    training = run.recipe.training
    device = torch.device(training.device)
    learner = distributed.wrap_model(TrainingModel(run.bundle.model, training), device, shard=training.shard, compiled=training.compile)
    model = unwrap_model(learner)
    optimisers = build_optimizers(model, training, distributed)
    average = WeightEMA(model, training.ema) if training.ema else None
    found, remarks = checkpoint.latest_checkpoint(run.folder / "checkpoints")
    progress = found.progress if found else TrainingProgress()
    if found:
        found.restore(model, optimisers, average)
    if 0 < training.patience <= progress.validations_since_best:
        return finish_training(run, progress) if distributed.is_main_process else progress
    with (
        RunReporter.for_run(run, progress, distributed, quiet=quiet) as witness,
        _catch_stop_signals() as asked,
    ):
        for remark in remarks:
            witness.log(remark, "yellow")
        try:
            for step in _train_updates(run, learner, optimisers, progress, distributed):
                if average:
                    average.update(model, step.step)
                progress = _advance_progress(progress, step)
                witness.log_update(step)
                last, stopping = step.step == training.steps, distributed.any_rank(asked.is_set())
                if step.step % training.validate_every == 0 or last:
                    progress = validate(run, progress, _weights_to_keep(model, average, run), witness, distributed)
                enough = 0 < training.patience <= progress.validations_since_best
                if step.step % training.checkpoint_every == 0 or last or enough or stopping:
                    checkpoint.save_checkpoint(
                        run.folder / "checkpoints", progress, model, optimisers, average, training.keep_checkpoints, distributed
                    )
                if enough:
                    witness.log(f"no better for {training.patience} validations: stopping early at step {step.step:,}")
                    break
                if stopping and not last:
                    raise InterruptedRun(
                        f"stopped and saved at step {step.step:,}; go on with: tongsa train --resume {run.folder}"
                    )
        except DivergedError as error:
            raise InputError(f"{error}; {_divergence_advice(run)}") from None
    return finish_training(run, progress) if distributed.is_main_process else progress


def _weights_to_keep(model: nn.Module, ema: WeightEMA | None, run: Run) -> dict[str, Tensor] | None:
    """The numbers to validate and keep; None where they are in the run's own model already."""
    values = ema.tensors if ema else named_tensors(model) if model is not run.bundle.model else None
    return values and {name: full_tensor(value) for name, value in values.items()}


def _train_updates(
    run: Run,
    model: nn.Module,
    optimizers: Sequence[torch.optim.Optimizer],
    progress: TrainingProgress,
    distributed: DistributedContext,
) -> Iterator[UpdateResult]:
    training = run.recipe.training
    batches = iterate_batches(
        epoch_examples(run.data, run.recipe.tokenizer, training.seed),
        batch_tokens=training.batch_tokens,
        seed=training.seed,
        start=progress.position,
    )
    schedule = training.lr.build(getattr(run.recipe.model, "width", 512), training.steps)
    scale = INITIAL_LOSS_SCALE if training.precision == "fp16" and not progress.step else progress.loss_scale
    return train(model, batches, optimizers, schedule, training, start_step=progress.step, loss_scale=scale, distributed=distributed)


def _divergence_advice(run: Run) -> str:
    found, _ = checkpoint.latest_checkpoint(run.folder / "checkpoints")
    step = found.progress.step if found else 0
    return (
        f"stopped. The last good snapshot (step {step}) and the best model are kept. "
        "Try a lower training.lr.peak or .scale, a longer training.lr.warmup, or training.clip_grad_norm=1.0"
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
    """The first Ctrl-C or SIGTERM asks to save and stop after the step; a second Ctrl-C does not wait."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def ask(number: int, _: object) -> None:
        if asked.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
