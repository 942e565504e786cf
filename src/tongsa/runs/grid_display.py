"""Progress of a training grid on stderr: one bar, or one line every 20 seconds, for all runs."""

from tongsa.runs.reporting import ProgressDisplay

UNITS_PER_RUN = 1000
"""Units of progress of a run: all runs count the same, because no other length is known before."""


class GridDisplay(ProgressDisplay):
    """Progress of all runs, with the time that is left for all of them.

    Messages of a run are left out, except for warnings: each is printed once.
    """

    def __init__(self, runs: int, ended: int, *, quiet: bool = False) -> None:
        super().__init__(runs * UNITS_PER_RUN, ended * UNITS_PER_RUN, quiet=quiet)
        self.runs, self.ended = runs, ended
        self.warnings: set[str] = set()

    def for_run(self, name: str) -> ProgressDisplay:
        return _RunDisplay(self, name)

    def end_run(self, message: str, style: str) -> None:
        self.ended += 1
        self.log(f"{message} ({self.ended} of {self.runs} runs)", style)
        self.show_part(0.0, f"{self.ended}/{self.runs} runs", "")

    def show_part(self, done: float, label: str, figures: str) -> None:
        """Show the progress with a fraction of a further run, or of several: 0.5 is half a run."""
        self.show(round((self.ended + done) * UNITS_PER_RUN), label, figures)

    def warn(self, message: str) -> None:
        if message not in self.warnings:
            self.warnings.add(message)
            self.log(message, "yellow")


class _RunDisplay(ProgressDisplay):
    """Display of a run in a grid."""

    def __init__(self, grid: GridDisplay, name: str) -> None:
        super().__init__(enabled=False, quiet=grid.console.quiet)
        self.grid, self.name, self.steps = grid, name, 1

    def for_steps(self, total: int | None, completed: int) -> ProgressDisplay:  # noqa: ARG002 - `show` gets the steps
        self.steps = total or 1
        return self

    def show(self, completed: int, label: str, figures: str) -> None:
        label = f"{self.grid.ended + 1}/{self.grid.runs} {self.name} {label}"
        self.grid.show_part(completed / self.steps, label, figures)

    def log(self, message: str, style: str = "") -> None:
        if style == "yellow":
            self.grid.warn(f"{self.name}: {message}" if self.name else message)
