"""What a layer adds to the loss while it is trained, beside the cross-entropy: Lin et al. 2017, section 2.2."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor

_collected: ContextVar[list[Tensor] | None] = ContextVar("collected", default=None)


@contextmanager
def collect_auxiliary_losses() -> Iterator[list[Tensor]]:
    """Collect every penalty that is charged inside this block, in this thread alone."""
    collected: list[Tensor] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def add_auxiliary_loss(loss: Tensor) -> None:  # one number, summed over the batch
    """Add this to the loss of whoever is training; nobody else notices."""
    collected = _collected.get()
    if collected is not None:
        collected.append(loss)
