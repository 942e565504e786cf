"""The `for` around the update."""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn

from tongsa.errors import InputError, InterruptedRun
from tongsa.experiment.data import examples
from tongsa.experiment.run import Run
from tongsa.experiment.validation import finish, validate
from tongsa.experiment.witness import Witness
from tongsa.interface import weights
from tongsa.training import snapshot
from tongsa.training.loop import FIRST_SCALE, DivergedError, Step, train
from tongsa.training.optimiser import Average, build
from tongsa.training.parallel import ALONE, Workers, trained, whole
from tongsa.training.snapshot import Progress
from tongsa.training.stream import stream


def go_on(run: Run, workers: Workers = ALONE, *, quiet: bool = False) -> Progress:
    """Train from the last whole snapshot, or from the beginning, to the end. The first worker keeps the records."""
    training = run.recipe.training
    device = torch.device(training.device)
    learner = workers.learner(run.bundle.model, device, shard=training.shard, compiled=training.compile)
    model = trained(learner)
    optimisers = build(model, training, workers)
    average = Average(model, training.ema) if training.ema else None
    found, remarks = snapshot.latest(run.folder / "snapshots")
    progress = found.progress if found else Progress()
    if found:
        found.restore(model, optimisers, average)
    if 0 < training.patience <= progress.since_best:
        return finish(run, progress) if workers.first else progress
    with (
        Witness.of(run, progress, workers, quiet=quiet) as witness,
        _stop_signals() as asked,
    ):
        for remark in remarks:
            witness.say(remark, "yellow")
        try:
            for step in _updates(run, learner, optimisers, progress, workers):
                if average:
                    average.update(model, step.step)
                progress = _further(progress, step)
                witness.step(step)
                last, stopping = step.step == training.steps, workers.any(asked.is_set())
                if step.step % training.validate_every == 0 or last:
                    progress = validate(run, progress, _kept(model, average, run), witness, workers)
                enough = 0 < training.patience <= progress.since_best
                if step.step % training.snapshot_every == 0 or last or enough or stopping:
                    snapshot.save(
                        run.folder / "snapshots", progress, model, optimisers, average, training.keep_snapshots, workers
                    )
                if enough:
                    witness.say(f"no better for {training.patience} validations: stopping early at step {step.step:,}")
                    break
                if stopping and not last:
                    raise InterruptedRun(
                        f"stopped and saved at step {step.step:,}; go on with: tongsa train --resume {run.folder}"
                    )
        except DivergedError as error:
            raise InputError(f"{error}; {_after_divergence(run)}") from None
    return finish(run, progress) if workers.first else progress


def _kept(model: nn.Module, average: Average | None, run: Run) -> dict[str, Tensor] | None:
    """The numbers to validate and keep; None where they are in the run's own model already."""
    values = average.values if average else weights(model) if model is not run.bundle.model else None
    return values and {name: whole(value) for name, value in values.items()}


def _updates(
    run: Run,
    learner: nn.Module,
    optimisers: Sequence[torch.optim.Optimizer],
    progress: Progress,
    workers: Workers,
) -> Iterator[Step]:
    training = run.recipe.training
    batches = stream(
        examples(run.data, run.recipe.pieces, training.seed),
        budget=training.batch_tokens,
        seed=training.seed,
        start=progress.position,
    )
    schedule = training.rate.build(getattr(run.recipe.model, "width", 512), training.steps)
    scale = FIRST_SCALE if training.precision == "fp16" and not progress.step else progress.scale
    return train(learner, batches, optimisers, schedule, training, start=progress.step, scale=scale, workers=workers)


def _after_divergence(run: Run) -> str:
    found, _ = snapshot.latest(run.folder / "snapshots")
    step = found.progress.step if found else 0
    return (
        f"stopped. The last good snapshot (step {step}) and the best model are kept. "
        "Try a lower training.rate.peak or .scale, a longer training.rate.warmup, or training.clip=1.0"
    )


def _further(progress: Progress, step: Step) -> Progress:
    return replace(
        progress,
        step=step.step,
        epoch=step.position.epoch,
        batch=step.position.batch,
        tokens=progress.tokens + step.tokens,
        seconds=progress.seconds + step.seconds,
        scale=step.scale,
    )


@contextmanager
def _stop_signals() -> Iterator[threading.Event]:
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
