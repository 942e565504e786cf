"""Reports of a run: progress display, journal and TensorBoard. Messages go to stderr, results go to stdout."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from tongsa.errors import InputError
from tongsa.runs.run import Run
from tongsa.training.distributed import DistributedContext
from tongsa.training.journal import Journal
from tongsa.training.loop import UpdateResult

LOG_INTERVAL_SECONDS = 20.0
"""Time between two progress lines if stderr is not a terminal."""
MOVING_AVERAGE_DECAY = 0.95
MAX_REMARKS = 10
"""Number of remarks about lines of an input that are printed."""
NARROW_BAR, WIDE_BAR, WIDE_TERMINAL = 10, 30, 110
"""Widths in characters: of the bar on a narrow and on a wide terminal, and of a wide terminal."""


class ProgressDisplay:
    """Progress on stderr: a bar on a terminal, a line every 20 seconds otherwise.

    Args:
        total: Amount of work in any unit (steps, bytes); None if it is not known, then there is no bar.
        completed: Part of it that was done before.
        enabled: False shows no progress; `log` still prints.
        quiet: True prints nothing at all.

    """

    def __init__(
        self, total: int | None = None, completed: int = 0, *, enabled: bool = True, quiet: bool = False
    ) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True, quiet=quiet)
        self.enabled = enabled and not quiet
        self.total, self.start = total, completed
        self.started_at = self.last_logged = monotonic()
        self.remarks = 0
        self.bar: Progress | None = None
        if total and self.enabled and self.console.is_terminal:
            self.bar = _progress_bar(self.console)
            self.task = self.bar.add_task("", total=total, completed=completed, label="", figures="")

    def __enter__(self) -> Self:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.bar:
            self.bar.stop()

    def for_steps(self, total: int | None, completed: int) -> "ProgressDisplay":
        """Return the display of the steps of a run or of other work, as quiet as this one."""
        return ProgressDisplay(total, completed, quiet=self.console.quiet)

    def show(self, completed: int, label: str, figures: str) -> None:
        """Update the bar, or print a line if the last one is old enough."""
        if self.bar:
            self.bar.update(self.task, completed=completed, label=label, figures=figures)
        elif self.enabled and monotonic() - self.last_logged > LOG_INTERVAL_SECONDS:
            self.last_logged = monotonic()
            self.log(f"{label}  {figures}{self._eta(completed)}")

    def _eta(self, completed: int) -> str:
        if not self.total or not self.start < completed <= self.total:  # the size of a compressed file is a guess
            return ""
        seconds_per_unit = (monotonic() - self.started_at) / (completed - self.start)
        remaining = format_duration((self.total - completed) * seconds_per_unit)
        return f"  {completed / self.total:.0%}  eta {remaining}"

    def log(self, message: str, style: str = "") -> None:
        self.console.print(escape(message), style=style or None)

    def log_remark(self, remark: str) -> None:
        """Print a remark about a line of the input; after MAX_REMARKS they are only counted."""
        self.remarks += 1
        if self.remarks <= MAX_REMARKS:
            self.log(remark)

    def log_remark_count(self) -> None:
        """Print how many remarks were not printed."""
        if self.remarks > MAX_REMARKS:
            self.log(f"… and {self.remarks - MAX_REMARKS:,} more lines like these")


class TranslationDisplay(ProgressDisplay):
    """Progress of a file translation, measured in bytes and shown in lines."""

    def __init__(
        self, total_bytes: int | None, bytes_read: int, lines: int, *, enabled: bool = True, quiet: bool = False
    ) -> None:
        super().__init__(total_bytes, bytes_read, enabled=enabled, quiet=quiet)
        self.start_line = lines

    def update(self, bytes_read: int, lines: int) -> None:
        seconds = max(monotonic() - self.started_at, 1e-3)
        self.show(bytes_read, f"{lines:,} lines", f"{(lines - self.start_line) / seconds:,.0f} lines/s")


def _progress_bar(console: Console) -> Progress:
    """Return a bar whose last column, the figures, is cut first: the remaining time is visible at 80 columns."""
    return Progress(
        TextColumn("[bold]{task.fields[label]}"),
        BarColumn(bar_width=NARROW_BAR if console.width < WIDE_TERMINAL else WIDE_BAR),
        TextColumn("eta"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[figures]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
        console=console,
        expand=True,
    )


def format_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class TensorBoardWriter:
    """TensorBoard events; does nothing unless enabled. Needs the extra `board`."""

    def __init__(self, folder: Path, enabled: bool) -> None:
        self.writer: Any = None
        if enabled:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                raise InputError(
                    "training.tensorboard: TensorBoard is not installed. "
                    "Run: pip install -e '.[board]' -c constraints.txt"
                ) from None
            self.writer = SummaryWriter(str(folder))

    def write_scalars(self, step: int, **scalars: float) -> None:
        if self.writer is not None:
            for name, value in scalars.items():
                self.writer.add_scalar(name, value, step)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.writer is not None:
            self.writer.close()


class RunReporter:
    """Reports of the updates and validations of a run. Ranks other than 0 have no journal and a quiet display."""

    def __init__(
        self, total_steps: int, display: ProgressDisplay, tensorboard: TensorBoardWriter, journal: Journal | None
    ) -> None:
        self.total_steps, self.display, self.tensorboard, self.journal = total_steps, display, tensorboard, journal
        self.loss = self.tokens_per_second = math.nan  # moving averages

    def log(self, message: str, style: str = "") -> None:
        self.display.log(message, style)

    def log_update(self, result: UpdateResult) -> None:
        speed = result.tokens / result.seconds
        if self.journal:
            self.journal.write(_journal_record(result))
        self.tensorboard.write_scalars(
            result.step, loss=result.loss, lr=result.lr, grad_norm=result.grad_norm, tokens_per_second=speed
        )
        self.loss = _moving_average(self.loss, result.loss)
        self.tokens_per_second = _moving_average(self.tokens_per_second, speed)
        perplexity = math.exp(min(self.loss, 30))
        digits = 1 if perplexity < 1000 else 0
        figures = f"loss {self.loss:.3f}  ppl {perplexity:,.{digits}f}  {self.tokens_per_second:,.0f} tokens/s"
        self.display.show(result.step, f"step {result.step:,}/{self.total_steps:,}", figures)

    def log_validation(
        self, step: int, scores: Mapping[str, float], *, is_best: bool, seconds: float, peak_memory: float | None = None
    ) -> None:
        """Record the scores of a validation, and the peak memory of the training so far in bytes, if it is known."""
        if self.journal:
            record = {"step": step, "validation": scores, "best": is_best, "seconds": seconds}
            self.journal.write(record | ({"peak_memory": int(peak_memory)} if peak_memory else {}))
        self.tensorboard.write_scalars(step, **scores)


@contextmanager
def open_reporter(
    run: Run, last_step: int, distributed: DistributedContext, parent: ProgressDisplay
) -> Iterator[RunReporter]:
    """Yield the reporter of a run that continues after `last_step`; -1 for a run without a checkpoint."""
    training, is_main = run.recipe.training, distributed.is_main_process
    with (
        parent.for_steps(training.steps, max(0, last_step)) as display,
        TensorBoardWriter(run.folder / "tensorboard", training.tensorboard and is_main) as tensorboard,
        Journal(run.folder / "journal.jsonl", last_step=last_step) if is_main else nullcontext() as journal,
    ):
        yield RunReporter(training.steps, display, tensorboard, journal)


def _moving_average(mean: float, value: float) -> float:
    return value if math.isnan(mean) else MOVING_AVERAGE_DECAY * mean + (1 - MOVING_AVERAGE_DECAY) * value


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
