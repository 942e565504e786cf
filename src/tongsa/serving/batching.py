"""Sentences of many users, translated together: a queue and a worker thread for each model.

A batch holds what asks for the same thing in the same way, so that nobody's answer depends on who else is asking. It
closes when its token budget is full, or when the first of it has waited long enough.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from tongsa.errors import InputError
from tongsa.serving.refusal import Refusal, bad, busy, failed

LOG = logging.getLogger("tongsa.serving")


class Order(Protocol):
    """What is asked for: equal orders may share a batch."""

    def __hash__(self) -> int: ...

    def answers(self, model: Any, jobs: "Sequence[Job]") -> list[Any]:
        """One for each job, in order; called in the model's worker thread."""
        ...


@dataclass(eq=False)
class Job:
    """A sentence that waits for its answer."""

    order: Order
    text: str
    size: int
    """In source pieces."""
    width: int = 1
    """How many times wider than the model's own its search is: it takes so many times the room of a batch."""
    prefix: str = ""
    details: frozenset[str] = frozenset()
    """What is told about the answer beside the answer itself."""
    answer: "Future[Any]" = field(default_factory=Future)
    arrived: float = 0.0
    """When it was queued."""

    async def answered(self) -> Any:
        """Its answer; whoever stops waiting takes it out of the queue."""
        return await asyncio.wrap_future(self.answer)


class Turns:
    """First come, first served: models share the machine's threads, and each batch has them to itself."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._next, self._now = 0, 0

    @contextmanager
    def mine(self) -> Iterator[None]:
        with self._condition:
            number, self._next = self._next, self._next + 1
            self._condition.wait_for(lambda: self._now == number)
        try:
            yield
        finally:
            with self._condition:
                self._now += 1
                self._condition.notify_all()


class Meter(Protocol):
    """Who counts what a worker does."""

    def waiting(self, model: str, count: int) -> None: ...

    def batch(self, model: str, sentences: int, pieces: int, seconds: float) -> None: ...


class Worker:
    """The queue of one model, and the thread that empties it."""

    def __init__(
        self, name: str, model: Any, *, tokens: int, wait: float, bound: int, turns: Turns, meter: Meter
    ) -> None:
        self.name, self.model = name, model
        self.tokens, self.wait, self.bound = tokens, wait, bound
        self.turns, self.meter = turns, meter
        self._waiting: deque[Job] = deque()
        self._condition = threading.Condition()
        self._closing = False
        self._unanswered = 0
        self._thread: threading.Thread | None = None

    def check_room(self, count: int) -> None:
        """Refuse who would have so many waiting at a time; who has begun goes on, whatever comes behind."""
        if self._unanswered and self._unanswered + count > self.bound:
            raise busy("too many sentences are waiting; ask again in a moment", again=2.0)

    def _answered(self, _: "Future[Any]") -> None:
        with self._condition:
            self._unanswered -= 1

    def submit(self, jobs: Sequence[Job]) -> bool:
        """Whether they were taken: all of them or, by a worker that is closed, none."""
        with self._condition:
            if self._closing:
                return False
            self._unanswered += len(jobs)
            for job in jobs:
                job.arrived = time.monotonic()
                job.answer.add_done_callback(self._answered)
            self._waiting.extend(jobs)
            self._count()
            if self._thread is None:
                self._begin()
            self._condition.notify_all()
            return True

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._run, name=f"tongsa {self.name}", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def close(self) -> None:
        """Take nothing more; what was accepted is answered."""
        with self._condition:
            self._closing = True
            self._condition.notify_all()

    def finish(self) -> None:
        """Close, and wait until all is answered."""
        self.close()
        while thread := self._thread:  # one that died left its place to another
            thread.join()

    def _count(self) -> None:
        self.meter.waiting(self.name, len(self._waiting))

    def _run(self) -> None:
        try:
            while batch := self._batch():
                try:
                    with self.turns.mine():
                        self._carry_out(batch)
                finally:  # even when the thread dies nobody waits for ever
                    for job in batch:
                        _refuse(job, failed("the model failed at this request; ask again"))
        except BaseException as error:  # noqa: BLE001 - a traceback may hold what a user wrote
            LOG.error("worker died", extra={"model": self.name, "kind": type(error).__name__})
        finally:
            with self._condition:
                self._thread = None
                if self._waiting:  # not for this thread any more
                    self._begin()

    def _batch(self) -> list[Job]:
        """The next batch; an empty one when all is done and the worker is closed."""
        with self._condition:
            while True:
                self._drop_cancelled()
                if not self._waiting:
                    if self._closing:
                        return []
                    self._condition.wait()
                    continue
                chosen, full = self._chosen()
                left = self._waiting[0].arrived + self.wait - time.monotonic()
                if full or left <= 0 or self._closing:
                    return self._taken(chosen)
                self._condition.wait(left)

    def _drop_cancelled(self) -> None:
        if any(job.answer.cancelled() for job in self._waiting):
            self._waiting = deque(job for job in self._waiting if not job.answer.cancelled())
            self._count()

    def _chosen(self) -> tuple[list[Job], bool]:
        """Those that can go with the one that has waited longest, and whether there is no room for more."""
        order, chosen, total = self._waiting[0].order, list[Job](), 0
        for job in self._waiting:
            if job.order != order:
                continue
            total += job.size * job.width
            if chosen and total > self.tokens:
                return chosen, True
            chosen.append(job)
        return chosen, total >= self.tokens

    def _taken(self, chosen: list[Job]) -> list[Job]:
        gone = set(map(id, chosen))
        self._waiting = deque(job for job in self._waiting if id(job) not in gone)
        self._count()
        return [job for job in chosen if job.answer.set_running_or_notify_cancel()] or self._batch()

    def _carry_out(self, batch: Sequence[Job]) -> None:
        start = time.monotonic()
        try:
            answers = batch[0].order.answers(self.model, batch)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the next request is answered
            self._apart(batch, error)
            return
        self.meter.batch(self.name, len(batch), sum(job.size for job in batch), time.monotonic() - start)
        for job, answer in zip(batch, answers, strict=True):
            job.answer.set_result(answer)

    def _apart(self, batch: Sequence[Job], error: BaseException) -> None:
        """A batch that failed: each by itself, so that only the one at fault is refused."""
        if len(batch) > 1:
            for job in batch:
                self._carry_out([job])
            return
        # never the sentence of an error of ours: it may hold what a user wrote
        LOG.error("failed", extra={"model": self.name, "kind": type(error).__name__})
        expected = isinstance(error, InputError)
        _refuse(batch[0], bad(str(error)) if expected else failed("the model failed at this request; ask again"))


def _refuse(job: Job, refusal: Refusal) -> None:
    if not job.answer.done():
        job.answer.set_exception(refusal)
