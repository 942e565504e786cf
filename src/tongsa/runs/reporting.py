"""Where a run is told about: journal, board and the person who waits. Of several workers the first one speaks."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from tongsa.runs.tensorboard import TensorBoardWriter
from tongsa.runs.progress import TrainingDisplay
from tongsa.runs.run import Run
from tongsa.training.journal import Journal
from tongsa.training.loop import UpdateResult
from tongsa.training.distributed import DistributedContext
from tongsa.training.checkpoint import TrainingProgress


@dataclass(frozen=True)
class RunReporter:
    display: TrainingDisplay | None = None
    journal: Journal | None = None
    tensorboard: TensorBoardWriter | None = None

    @classmethod
    @contextmanager
    def for_run(cls, run: Run, progress: TrainingProgress, distributed: DistributedContext, *, quiet: bool) -> Iterator[Self]:
        if not distributed.is_main_process:
            yield cls()
            return
        training = run.recipe.training
        with (
            TrainingDisplay(training.steps, progress.step, quiet=quiet) as display,
            Journal(run.folder / "journal.jsonl", last_step=progress.step) as journal,
            TensorBoardWriter(run.folder / "tensorboard", training.tensorboard) as board,
        ):
            yield cls(display, journal, board)

    def log(self, message: str, style: str = "") -> None:
        if self.display:
            self.display.log(message, style)

    def log_update(self, result: UpdateResult) -> None:
        if self.journal and self.tensorboard and self.display:
            self.journal.write(_journal_record(result))
            speed = result.tokens / result.seconds
            self.tensorboard.write_scalars(result.step, loss=result.loss, lr=result.lr, grad_norm=result.grad_norm, tokens_per_second=speed)
            self.display.update(result)

    def log_validation(self, step: int, scores: Mapping[str, float], *, is_best: bool, seconds: float) -> None:
        if self.journal and self.tensorboard:
            self.journal.write({"step": step, "validation": scores, "best": is_best, "seconds": seconds})
            self.tensorboard.write_scalars(step, **scores)


def _journal_record(result: UpdateResult) -> dict[str, float]:
    return {
        "step": result.step,
        "loss": round(result.loss, 6),
        "lr": result.lr,
        "grad_norm": round(result.grad_norm, 4),
        "tokens": result.tokens,
        "padding": round(result.padding_fraction, 4),
        "epoch": result.position.epoch,
        "seconds": round(result.seconds, 4),
    }
