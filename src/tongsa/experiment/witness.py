"""Where a run is told about: journal, board and the person who waits. Of several workers the first one speaks."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from tongsa.experiment.board import Board
from tongsa.experiment.progress import Display
from tongsa.experiment.run import Run
from tongsa.training.journal import Journal
from tongsa.training.loop import Step
from tongsa.training.parallel import Workers
from tongsa.training.snapshot import Progress


@dataclass(frozen=True)
class Witness:
    display: Display | None = None
    journal: Journal | None = None
    board: Board | None = None

    @classmethod
    @contextmanager
    def of(cls, run: Run, progress: Progress, workers: Workers, *, quiet: bool) -> Iterator[Self]:
        if not workers.first:
            yield cls()
            return
        training = run.recipe.training
        with (
            Display(training.steps, progress.step, quiet=quiet) as display,
            Journal(run.folder / "journal.jsonl", after=progress.step) as journal,
            Board(run.folder / "board", training.board) as board,
        ):
            yield cls(display, journal, board)

    def say(self, sentence: str, style: str = "") -> None:
        if self.display:
            self.display.say(sentence, style)

    def step(self, step: Step) -> None:
        if self.journal and self.board and self.display:
            self.journal.write(_record(step))
            speed = step.tokens / step.seconds
            self.board.write(step.step, loss=step.loss, rate=step.rate, norm=step.norm, tokens_per_second=speed)
            self.display.step(step)

    def validation(self, step: int, scores: Mapping[str, float], *, better: bool, seconds: float) -> None:
        if self.journal and self.board:
            self.journal.write({"step": step, "validation": scores, "best": better, "seconds": seconds})
            self.board.write(step, **scores)


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
