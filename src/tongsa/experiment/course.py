"""The `for` around the update."""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch

from tongsa.errors import InputError, InterruptedRun
from tongsa.experiment.board import Board
from tongsa.experiment.data import examples
from tongsa.experiment.progress import Display
from tongsa.experiment.run import Run
from tongsa.experiment.validation import Witness, finish, validate
from tongsa.training import snapshot
from tongsa.training.journal import Journal
from tongsa.training.loop import DivergedError, Step, train
from tongsa.training.optimiser import Average, build
from tongsa.training.snapshot import Progress
from tongsa.training.stream import stream


def go_on(run: Run, *, quiet: bool = False) -> Progress:
    """Train from the last whole snapshot, or from the beginning, to the end."""
    training, model = run.recipe.training, run.bundle.model
    optimisers = build(model, training)
    average = Average(model, training.ema) if training.ema else None
    found, remarks = snapshot.latest(run.folder / "snapshots")
    progress = found.progress if found else Progress()
    if found:
        found.restore(model, optimisers, average)
    if 0 < training.patience <= progress.since_best:
        return finish(run, progress)
    with (
        Display(training.steps, progress.step, quiet=quiet) as display,
        Journal(run.folder / "journal.jsonl", after=progress.step) as journal,
        Board(run.folder / "board", training.board) as board,
        _stop_signals() as stopping,
    ):
        for remark in remarks:
            display.say(remark, "yellow")
        witness = Witness(display, journal, board)
        try:
            for step in _updates(run, optimisers, progress):
                if average:
                    average.update(model, step.step)
                progress = _further(progress, step)
                witness.step(step)
                last = step.step == training.steps
                if step.step % training.validate_every == 0 or last:
                    progress = validate(run, progress, average, witness)
                enough = 0 < training.patience <= progress.since_best
                if step.step % training.snapshot_every == 0 or last or enough or stopping.is_set():
                    snapshot.save(
                        run.folder / "snapshots", progress, model, optimisers, average, training.keep_snapshots
                    )
                if enough:
                    display.say(f"no better for {training.patience} validations: stopping early at step {step.step:,}")
                    break
                if stopping.is_set() and not last:
                    raise InterruptedRun(
                        f"stopped and saved at step {step.step:,}; go on with: tongsa train --resume {run.folder}"
                    )
        except DivergedError as error:
            raise InputError(f"{error}; {_after_divergence(run)}") from None
    return finish(run, progress)


def _updates(run: Run, optimisers: Sequence[torch.optim.Optimizer], progress: Progress) -> Iterator[Step]:
    training = run.recipe.training
    batches = stream(
        examples(run.data, run.recipe.pieces, training.seed),
        budget=training.batch_tokens,
        seed=training.seed,
        start=progress.position,
    )
    schedule = training.rate.build(getattr(run.recipe.model, "width", 512), training.steps)
    return train(run.bundle.model, batches, optimisers, schedule, training, start=progress.step)


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
