"""Auxiliary losses: terms that a layer adds to the training loss, as in Lin et al. 2017, section 2.2."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor

_collected: ContextVar[list[Tensor] | None] = ContextVar("collected", default=None)


@contextmanager
def collect_auxiliary_losses() -> Iterator[list[Tensor]]:
    """Collect the auxiliary losses of all layers that run inside this block, in this thread only."""
    collected: list[Tensor] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def add_auxiliary_loss(loss: Tensor) -> None:  # a scalar, summed over the batch
    """Add a term to the training loss; outside training this does nothing."""
    collected = _collected.get()
    if collected is not None:
        collected.append(loss)
