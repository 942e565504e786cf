"""A run: its folder, and the `for` around the update."""

import json
import math
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tongsa import bundle, config, files
from tongsa.bundle import Bundle
from tongsa.errors import InputError, InterruptedRun
from tongsa.evaluation.metrics import tokenisation
from tongsa.evaluation.report import How, Report, evaluate
from tongsa.experiment.board import Board
from tongsa.experiment.card import card
from tongsa.experiment.data import Data, examples
from tongsa.experiment.progress import Display
from tongsa.experiment.recipe import Recipe
from tongsa.interface import put, weights
from tongsa.text import Pair
from tongsa.training import snapshot
from tongsa.training.journal import Journal
from tongsa.training.loop import DivergedError, Step, train
from tongsa.training.optimiser import Average, build
from tongsa.training.snapshot import Progress
from tongsa.training.stream import stream


@dataclass(frozen=True)
class Run:
    """All that a run stands on; nothing in it changes but the numbers of the model."""

    folder: Path
    recipe: Recipe
    data: Data
    bundle: Bundle

    @property
    def how(self) -> How:
        """How its translations are scored."""
        return How(scores=self.recipe.data.scores, tokenise=tokenisation(self.recipe.data.target_language))


def created(folder: Path, recipe: Recipe, data: Data) -> Run:
    """A run before its first step; the same recipe and data always give the same weights."""
    _check(recipe, data)
    torch.manual_seed(recipe.training.seed)
    try:
        model = recipe.model.build(len(data.source), len(data.target))
    except ValueError as error:
        raise InputError(f"model: {error}") from None
    if recipe.data.longest >= model.longest:
        raise InputError(
            f"data.longest {recipe.data.longest} does not fit into model.longest {model.longest}: lower it"
        )
    made = Bundle(
        kind=recipe.kind,
        config=recipe.model,
        model=model.to(torch.device(recipe.training.device)),
        source=data.source,
        target=data.target,
        decoding=recipe.decoding,
        source_language=recipe.data.source_language,
        target_language=recipe.data.target_language,
        scores=recipe.data.scores,
    )
    return Run(folder, recipe, data, made)


def _check(recipe: Recipe, data: Data) -> None:
    """What only shows when model, data and training meet."""
    if getattr(recipe.model, "share", "") == "all" and data.target is not data.source:
        raise InputError(
            'model.share = "all" needs one vocabulary: write model.share = "target" or pieces.shared = true'
        )
    measured = {"pairs": recipe.data.scores, "labels": ("accuracy", "macro_f1"), "text": ()}[data.task]
    known = ("auto", "loss", *measured)
    if recipe.training.criterion not in known:
        raise InputError(
            f"training.criterion {recipe.training.criterion!r} is not measured here; choose from {', '.join(known)}"
            + (", or name it in data.scores too" if data.task == "pairs" else "")
        )


def write_settings(run: Run) -> None:
    files.write_text(run.folder / "run.toml", config.dump(run.recipe.table()))


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
        return _finish(run, progress)
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
                    progress = _validate(run, progress, average, witness)
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
    return _finish(run, progress)


class Witness(NamedTuple):
    """Where a run is told about."""

    display: Display
    journal: Journal
    board: Board

    def step(self, step: Step) -> None:
        self.journal.write(_record(step))
        speed = step.tokens / step.seconds
        self.board.write(step.step, loss=step.loss, rate=step.rate, norm=step.norm, tokens_per_second=speed)
        self.display.step(step)


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


def _record(step: Step) -> dict[str, float]:
    return {
        "step": step.step,
        "loss": round(step.loss, 6),
        "rate": step.rate,
        "norm": round(step.norm, 4),
        "tokens": step.tokens,
        "padding": round(step.padding, 4),
        "epoch": step.position.epoch,
        "seconds": round(step.seconds, 4),
    }


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


def _validate(run: Run, progress: Progress, average: Average | None, witness: Witness) -> Progress:
    """Score what would be kept if training ended now; keep it if it is the best so far."""
    began = perf_counter()
    values = average.values if average else None
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
    witness.journal.write({"step": progress.step, "validation": record, "best": better, "seconds": seconds})
    witness.board.write(progress.step, **record)
    _show(run, progress, report, witness.display, better=better)
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


def _show(run: Run, progress: Progress, report: Report, display: Display, *, better: bool) -> None:
    mark = "  ← best so far" if better else ""
    display.say(f"step {progress.step:,}  dev {report.summary()}{mark}", "green" if better else "")
    if report.outputs:
        at = progress.step % len(report.outputs)
        pair = validated(run)[at]
        display.say(f"    {pair.source}\n  → {report.outputs[at]}\n  = {pair.target}", "dim")


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


def _finish(run: Run, progress: Progress) -> Progress:
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
