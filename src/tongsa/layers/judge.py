"""What a last layer is asked for while a model is trained: not its logits, but what they say of the target.

Logits of all pieces at all places are the largest tensor of an update. Whoever wants only the loss says so here, and
need not have them all at once.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor

Judge = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""From what stands before a last layer (batch, length, width), and its weight and bias, to what is wanted of it."""

_judge: ContextVar[Judge | None] = ContextVar("judge", default=None)


@contextmanager
def judged_by(judge: Judge | None) -> Iterator[None]:
    """Last layers inside this block, in this thread alone, give what the judge says instead of logits."""
    token = _judge.set(judge)
    try:
        yield
    finally:
        _judge.reset(token)


def judging() -> Judge | None:
    return _judge.get()
