"""What a person sees while a model learns or a file is translated. Everything goes to stderr; results go to stdout."""

import math
from time import monotonic
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tongsa.training.loop import Step

EVERY = 20.0
"""Seconds between two lines where there is no terminal to draw a bar on."""


class Display:
    """A bar on a terminal, a line now and then in a log."""

    def __init__(self, steps: int, done: int, *, quiet: bool = False) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True, quiet=quiet)
        self.steps = steps
        self.rate = self.pace = self.loss = math.nan
        self.bar: Progress | None = None
        self.said = monotonic()
        if self.console.is_terminal and not quiet:
            self.bar = _bar(self.console)
            self.task = self.bar.add_task("", total=steps, completed=done, step=f"step {done:,}", figures="")

    def __enter__(self) -> Self:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar:
            self.bar.stop()

    def step(self, step: Step) -> None:
        self.rate = smoothed(self.rate, step.tokens / step.seconds)
        self.pace = smoothed(self.pace, step.seconds)
        self.loss = smoothed(self.loss, step.loss)
        figures = f"loss {self.loss:.3f}  perplexity {math.exp(min(self.loss, 30)):,.1f}  {self.rate:,.0f} tokens/s"
        if self.bar:
            self.bar.update(self.task, completed=step.step, step=f"step {step.step:,}/{self.steps:,}", figures=figures)
        elif monotonic() - self.said > EVERY:
            self.said = monotonic()
            left = duration((self.steps - step.step) * self.pace)
            self.say(f"step {step.step:,}/{self.steps:,}  {figures}  eta {left}")

    def say(self, sentence: str, style: str = "") -> None:
        self.console.print(escape(sentence), style=style or None)


class Passage:
    """How far an input is translated: a bar on a terminal, where its size is known; else a line now and then."""

    def __init__(self, size: int | None, reached: int, lines: int, *, shown: bool = True) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self.shown = shown
        self.size, self.start, self.first = size, reached, lines
        self.began = self.said = monotonic()
        self.bar: Progress | None = None
        if size and self.console.is_terminal and shown:
            self.bar = _bar(self.console)
            self.task = self.bar.add_task("", total=size, completed=reached, step=f"{lines:,} lines", figures="")

    def __enter__(self) -> Self:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar:
            self.bar.stop()

    def reach(self, reached: int, lines: int) -> None:
        now = monotonic()
        pace = f"{(lines - self.first) / max(now - self.began, 1e-3):,.0f} lines/s"
        if self.bar:
            self.bar.update(self.task, completed=reached, step=f"{lines:,} lines", figures=pace)
        elif self.shown and now - self.said > EVERY:
            self.said = now
            self.say(f"{lines:,} lines  {pace}{self._left(reached, now - self.began)}")

    def _left(self, reached: int, seconds: float) -> str:
        if not self.size or reached <= self.start:
            return ""
        left = duration((self.size - reached) * seconds / (reached - self.start))
        return f"  {reached / self.size:.0%}  eta {left}"

    def say(self, sentence: str) -> None:
        self.console.print(escape(sentence))


def _bar(console: Console) -> Progress:
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


def smoothed(mean: float, value: float) -> float:
    return value if math.isnan(mean) else 0.95 * mean + 0.05 * value


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
