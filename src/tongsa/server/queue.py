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
from tongsa.server.errors import APIError, bad_request_error, busy_error, failed_error

LOG = logging.getLogger("tongsa.server")


class BatchTask(Protocol):
    """What is asked for: equal orders may share a batch."""

    def __hash__(self) -> int: ...

    def run(self, model: Any, sentences: "Sequence[QueuedSentence]") -> list[Any]:
        """One for each job, in order; called in the model's worker thread."""
        ...


@dataclass(eq=False)
class QueuedSentence:
    """A sentence that waits for its answer."""

    task: BatchTask
    text: str
    token_count: int
    """In source pieces."""
    beam_factor: int = 1
    """How many times wider than the model's own its search is: it takes so many times the room of a batch."""
    prefix: str = ""
    details: frozenset[str] = frozenset()
    """What is told about the answer beside the answer itself."""
    future: "Future[Any]" = field(default_factory=Future)
    queued_at: float = 0.0
    """When it was queued."""

    async def result(self) -> Any:
        """Its answer; whoever stops waiting takes it out of the queue."""
        return await asyncio.wrap_future(self.future)


class TicketLock:
    """First come, first served: models share the machine's threads, and each batch has them to itself."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._next_ticket, self._now_serving = 0, 0

    @contextmanager
    def acquire(self) -> Iterator[None]:
        with self._condition:
            number, self._next_ticket = self._next_ticket, self._next_ticket + 1
            self._condition.wait_for(lambda: self._now_serving == number)
        try:
            yield
        finally:
            with self._condition:
                self._now_serving += 1
                self._condition.notify_all()


class QueueMetrics(Protocol):
    """Who counts what a worker does."""

    def set_queued(self, model: str, count: int) -> None: ...

    def record_batch(self, model: str, sentences: int, tokens: int, seconds: float) -> None: ...


class ModelQueue:
    """The queue of one model, and the thread that empties it."""

    def __init__(
        self,
        name: str,
        model: Any,
        *,
        batch_tokens: int,
        batch_wait_seconds: float,
        max_queued_sentences: int,
        lock: TicketLock,
        metrics: QueueMetrics,
    ) -> None:
        self.name, self.model = name, model
        self.batch_tokens, self.batch_wait_seconds, self.max_queued_sentences = (
            batch_tokens,
            batch_wait_seconds,
            max_queued_sentences,
        )
        self.lock, self.metrics = lock, metrics
        self._queue: deque[QueuedSentence] = deque()
        self._condition = threading.Condition()
        self._is_closing = False
        self._unfinished_count = 0
        self._thread: threading.Thread | None = None

    def check_capacity(self, count: int) -> None:
        """Refuse who would have so many waiting at a time; who has begun goes on, whatever comes behind."""
        if self._unfinished_count and self._unfinished_count + count > self.max_queued_sentences:
            raise busy_error("too many sentences are waiting; ask again in a moment", retry_after=2.0)

    def _on_done(self, _: "Future[Any]") -> None:
        with self._condition:
            self._unfinished_count -= 1

    def submit(self, sentences: Sequence[QueuedSentence]) -> bool:
        """Whether they were taken: all of them or, by a worker that is closed, none."""
        with self._condition:
            if self._is_closing:
                return False
            self._unfinished_count += len(sentences)
            for job in sentences:
                job.queued_at = time.monotonic()
                job.future.add_done_callback(self._on_done)
            self._queue.extend(sentences)
            self._report_queued()
            if self._thread is None:
                self._start_thread()
            self._condition.notify_all()
            return True

    def _start_thread(self) -> None:
        self._thread = threading.Thread(target=self._run, name=f"tongsa {self.name}", daemon=True)
        self._thread.start()

    @property
    def queued_count(self) -> int:
        return len(self._queue)

    def close(self) -> None:
        """Take nothing more; what was accepted is answered."""
        with self._condition:
            self._is_closing = True
            self._condition.notify_all()

    def drain(self) -> None:
        """Close, and wait until all is answered."""
        self.close()
        while thread := self._thread:  # one that died left its place to another
            thread.join()

    def _report_queued(self) -> None:
        self.metrics.set_queued(self.name, len(self._queue))

    def _run(self) -> None:
        try:
            while batch := self._next_batch():
                try:
                    with self.lock.acquire():
                        self._run_batch(batch)
                finally:  # even when the thread dies nobody waits for ever
                    for job in batch:
                        _fail(job, failed_error("the model failed at this request; ask again"))
        except BaseException as error:  # noqa: BLE001 - a traceback may hold what a user wrote
            LOG.error("worker died", extra={"model": self.name, "kind": type(error).__name__})
        finally:
            with self._condition:
                self._thread = None
                if self._queue:  # not for this thread any more
                    self._start_thread()

    def _next_batch(self) -> list[QueuedSentence]:
        """The next batch; an empty one when all is done and the worker is closed."""
        with self._condition:
            while True:
                self._drop_cancelled()
                if not self._queue:
                    if self._is_closing:
                        return []
                    self._condition.wait()
                    continue
                chosen, full = self._select_batch()
                left = self._queue[0].queued_at + self.batch_wait_seconds - time.monotonic()
                if full or left <= 0 or self._is_closing:
                    return self._take_batch(chosen)
                self._condition.wait(left)

    def _drop_cancelled(self) -> None:
        if any(job.future.cancelled() for job in self._queue):
            self._queue = deque(job for job in self._queue if not job.future.cancelled())
            self._report_queued()

    def _select_batch(self) -> tuple[list[QueuedSentence], bool]:
        """Those that can go with the one that has waited longest, and whether there is no room for more."""
        order, chosen, total = self._queue[0].task, list[QueuedSentence](), 0
        for job in self._queue:
            if job.task != order:
                continue
            total += job.token_count * job.beam_factor
            if chosen and total > self.batch_tokens:
                return chosen, True
            chosen.append(job)
        return chosen, total >= self.batch_tokens

    def _take_batch(self, selected: list[QueuedSentence]) -> list[QueuedSentence]:
        gone = set(map(id, selected))
        self._queue = deque(job for job in self._queue if id(job) not in gone)
        self._report_queued()
        return [job for job in selected if job.future.set_running_or_notify_cancel()] or self._next_batch()

    def _run_batch(self, batch: Sequence[QueuedSentence]) -> None:
        start = time.monotonic()
        try:
            answers = batch[0].task.run(self.model, batch)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the next request is answered
            self._retry_separately(batch, error)
            return
        self.metrics.record_batch(
            self.name, len(batch), sum(job.token_count for job in batch), time.monotonic() - start
        )
        for job, answer in zip(batch, answers, strict=True):
            job.future.set_result(answer)

    def _retry_separately(self, batch: Sequence[QueuedSentence], error: BaseException) -> None:
        """A batch that failed: each by itself, so that only the one at fault is refused."""
        if len(batch) > 1:
            for job in batch:
                self._run_batch([job])
            return
        # never the sentence of an error of ours: it may hold what a user wrote
        LOG.error("failed", extra={"model": self.name, "kind": type(error).__name__})
        expected = isinstance(error, InputError)
        _fail(
            batch[0],
            bad_request_error(str(error)) if expected else failed_error("the model failed at this request; ask again"),
        )


def _fail(sentence: QueuedSentence, error: APIError) -> None:
    if not sentence.future.done():
        sentence.future.set_exception(error)
