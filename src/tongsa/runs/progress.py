"""What a person sees while a model learns or a file is translated. Everything goes to stderr; results go to stdout."""

import math
from time import monotonic
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tongsa.training.loop import UpdateResult

LOG_INTERVAL_SECONDS = 20.0
"""Seconds between two lines where there is no terminal to draw a bar on."""


class TrainingDisplay:
    """A bar on a terminal, a line now and then in a log."""

    def __init__(self, total_steps: int, completed_steps: int, *, quiet: bool = False) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True, quiet=quiet)
        self.total_steps = total_steps
        self.tokens_per_second = self.seconds_per_step = self.loss = math.nan
        self.bar: Progress | None = None
        self.last_logged = monotonic()
        if self.console.is_terminal and not quiet:
            self.bar = _progress_bar(self.console)
            self.task = self.bar.add_task("", total=total_steps, completed=completed_steps, step=f"step {completed_steps:,}", figures="")

    def __enter__(self) -> Self:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.bar:
            self.bar.stop()

    def update(self, result: UpdateResult) -> None:
        self.tokens_per_second = moving_average(self.tokens_per_second, result.tokens / result.seconds)
        self.seconds_per_step = moving_average(self.seconds_per_step, result.seconds)
        self.loss = moving_average(self.loss, result.loss)
        figures = f"loss {self.loss:.3f}  perplexity {math.exp(min(self.loss, 30)):,.1f}  {self.tokens_per_second:,.0f} tokens/s"
        if self.bar:
            self.bar.update(self.task, completed=result.step, step=f"step {result.step:,}/{self.total_steps:,}", figures=figures)
        elif monotonic() - self.last_logged > LOG_INTERVAL_SECONDS:
            self.last_logged = monotonic()
            left = format_duration((self.total_steps - result.step) * self.seconds_per_step)
            self.log(f"step {result.step:,}/{self.total_steps:,}  {figures}  eta {left}")

    def log(self, message: str, style: str = "") -> None:
        self.console.print(escape(message), style=style or None)


class TranslationDisplay:
    """How far an input is translated: a bar on a terminal, where its size is known; else a line now and then."""

    def __init__(self, total_bytes: int | None, bytes_read: int, lines: int, *, enabled: bool = True) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self.enabled = enabled
        self.total_bytes, self.start_byte, self.start_line = total_bytes, bytes_read, lines
        self.started_at = self.last_logged = monotonic()
        self.bar: Progress | None = None
        if total_bytes and self.console.is_terminal and enabled:
            self.bar = _progress_bar(self.console)
            self.task = self.bar.add_task("", total=total_bytes, completed=bytes_read, step=f"{lines:,} lines", figures="")

    def __enter__(self) -> Self:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.bar:
            self.bar.stop()

    def update(self, bytes_read: int, lines: int) -> None:
        now = monotonic()
        pace = f"{(lines - self.start_line) / max(now - self.started_at, 1e-3):,.0f} lines/s"
        if self.bar:
            self.bar.update(self.task, completed=bytes_read, step=f"{lines:,} lines", figures=pace)
        elif self.enabled and now - self.last_logged > LOG_INTERVAL_SECONDS:
            self.last_logged = now
            self.log(f"{lines:,} lines  {pace}{self._eta(bytes_read, now - self.started_at)}")

    def _eta(self, bytes_read: int, seconds: float) -> str:
        if not self.total_bytes or bytes_read <= self.start_byte:
            return ""
        left = format_duration((self.total_bytes - bytes_read) * seconds / (bytes_read - self.start_byte))
        return f"  {bytes_read / self.total_bytes:.0%}  eta {left}"

    def log(self, message: str) -> None:
        self.console.print(escape(message))


def _progress_bar(console: Console) -> Progress:
    return Progress(
        TextColumn("[bold]{task.fields[step]}"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
        TextColumn("eta"),
        TimeRemainingColumn(elapsed_when_finished=False),
        console=console,
        expand=True,
    )


def moving_average(mean: float, value: float) -> float:
    return value if math.isnan(mean) else 0.95 * mean + 0.05 * value


def format_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
