"""TensorBoard events, for those who like them: the extra `board`."""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tongsa.errors import InputError


class Board:
    def __init__(self, folder: Path, wanted: bool) -> None:
        self.writer: Any = None
        if wanted:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                raise InputError(
                    "training.board needs TensorBoard: pip install 'tongsa[board]', or leave it off"
                ) from None
            self.writer = SummaryWriter(str(folder))

    def write(self, step: int, **figures: float) -> None:
        if self.writer is not None:
            for name, value in figures.items():
                self.writer.add_scalar(name, value, step)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.writer is not None:
            self.writer.close()
