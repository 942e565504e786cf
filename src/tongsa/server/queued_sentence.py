"""A sentence in the queue of a model: its task, its result, and how the result reaches the event loop."""

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from tongsa.server.errors import APIError


class BatchTask(Protocol):
    """Work on a batch, in two stages. Sentences with equal tasks may share a batch."""

    @property
    def uses_all_threads(self) -> bool:
        """Torch divides the batch between all threads. Otherwise one worker searches it, with one thread."""
        ...

    def __hash__(self) -> int: ...

    def search(self, model: Any, sentences: "Sequence[QueuedSentence]") -> Any:
        """Return the outputs of the model. Called in a thread of the model, while it has its turn."""
        ...

    def finish(self, model: Any, sentences: "Sequence[QueuedSentence]", outputs: Any) -> list[Any]:
        """Return a result or `SearchAgain` for each sentence, in order. Called while the next batch is searched."""
        ...


class SearchAgain(NamedTuple):
    """A sentence that goes back into the queue, with another task."""

    task: BatchTask
    fallback: Any
    """Result of the sentence if the second search fails."""


@dataclass(eq=False)
class QueuedSentence:
    task: BatchTask
    text: str
    token_count: int
    """Source tokens."""
    beam_factor: int = 1
    """Beam width relative to the model's default: the sentence takes this many times its tokens of a batch."""
    prefix: str = ""
    details: frozenset[str] = frozenset()
    """Optional fields of the response."""
    source_tokens: Sequence[int] = ()
    """Token ids of the text, without </s>; empty if they are not known."""
    request: object = None
    """Identity of the request: the queue serves requests in turn."""
    deadline: float = math.inf
    """Time on the monotonic clock after which nobody waits for the result."""
    fallback: Any = None
    """Result of the first search, while the sentence is searched again."""
    queued_at: float = 0.0
    """Time of queuing, on the monotonic clock."""
    state: Literal["new", "queued", "running", "cancelled", "done"] = "new"
    """Changed under the lock of the queue."""
    is_abandoned: bool = False
    """Cancelled while it ran: its result is not used, and it is not searched again."""
    on_cancel: Callable[["QueuedSentence"], None] | None = None
    """Called when the sentence is cancelled; set by the queue."""
    _outcome: Any = None
    """Result or error."""
    _waiter: "asyncio.Future[None] | None" = field(default=None, repr=False)

    @property
    def cost(self) -> int:
        """Tokens of the batch that the sentence takes."""
        return self.token_count * self.beam_factor

    @property
    def is_done(self) -> bool:
        return self.state == "done"

    async def result(self) -> Any:
        """Wait for the result. Raise APIError if there is none."""
        if not self.is_done:
            self._waiter = asyncio.get_running_loop().create_future()
            if not self.is_done:  # not resolved between these lines, by the thread of the model
                await self._waiter
        if isinstance(self._outcome, APIError):
            raise self._outcome
        return self._outcome

    def cancel(self) -> None:
        """Remove the sentence from its queue; while it runs, only its result is dropped."""
        if self.on_cancel and not self.is_done:
            self.on_cancel(self)

    def set_outcome(self, outcome: Any) -> "asyncio.Future[None] | None":
        """Set the result or error; return what a client waits for. The state is changed last: `result` reads it."""
        self._outcome = outcome
        self.state = "done"
        return self._waiter


def wake(waiters: "Iterable[asyncio.Future[None] | None]") -> None:
    """Tell the event loops that results are there: one call for all sentences of a batch, from any thread."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for waiter in waiters:
        if waiter is not None:
            by_loop.setdefault(waiter.get_loop(), []).append(waiter)
    for loop, loop_waiters in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_set_done, loop_waiters)


def _set_done(waiters: "Sequence[asyncio.Future[None]]") -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
