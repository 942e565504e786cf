"""TensorBoard events, for those who like them: the extra `board`."""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tongsa.errors import InputError


class TensorBoardWriter:
    def __init__(self, folder: Path, enabled: bool) -> None:
        self.writer: Any = None
        if enabled:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                raise InputError(
                    "training.tensorboard needs TensorBoard: pip install -e '.[board]' -c constraints.txt, or leave it off"
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
