"""Preparation of training data: the folder that keeps prepared data for all runs, and its progress on the display."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from tongsa.data.array_files import ArrayFiles
from tongsa.data.prepared_folder import prepare_folder
from tongsa.data.text_store import PairStore

PREPARED_FOLDER = ".prepared"
"""Folder beside a run, shared by the runs in the same folder."""


class PreparationDisplay(Protocol):
    """The part of a progress display that a preparation needs."""

    def log(self, message: str, style: str = "") -> None: ...

    def for_steps(self, total: int | None, completed: int) -> AbstractContextManager["PreparationDisplay"]: ...

    def show(self, completed: int, label: str, figures: str) -> None: ...


class _SilentDisplay:
    def log(self, message: str, style: str = "") -> None: ...

    def for_steps(self, total: int | None, completed: int) -> AbstractContextManager[PreparationDisplay]:  # noqa: ARG002
        return nullcontext(self)

    def show(self, completed: int, label: str, figures: str) -> None: ...


class Preparation:
    """A folder of prepared data and a display; without a folder everything stays in memory."""

    def __init__(self, folder: Path | None = None, display: PreparationDisplay | None = None) -> None:
        self.folder, self.display = folder, display or _SilentDisplay()

    @classmethod
    def beside_run(cls, run: Path, display: PreparationDisplay | None = None) -> "Preparation":
        return cls(run.parent / PREPARED_FOLDER, display)

    def with_cache(self, cache: str) -> "Preparation":
        """Return the preparation in the folder of `data.cache`, if it is set."""
        return Preparation(Path(cache), self.display) if cache else self

    def for_pairs(self, pairs: PairStore) -> "Preparation":
        """Return this preparation, or one in memory for pairs that are in memory."""
        return self if pairs.key else Preparation()

    def prepare(self, name: str, fill: Callable[[ArrayFiles], None]) -> ArrayFiles:
        """Return the arrays that `fill` appends; those in the folder are used if they are there."""
        if self.folder is not None:
            return prepare_folder(self.folder / name, fill, self.display.log)
        arrays = ArrayFiles()
        fill(arrays)
        return arrays
