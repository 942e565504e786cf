"""Dynamic batching: a queue and a thread per model, which serve the sentences of all clients together.

A batch holds sentences with equal tasks, so a result never depends on the other clients. A batch is closed when its
token budget is full, or when its first sentence has waited `batch_wait_seconds`.
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
MODEL_FAILED = "The model failed on this request. Send the request again."


class BatchTask(Protocol):
    """Work on a batch. Sentences with equal tasks may share a batch."""

    def __hash__(self) -> int: ...

    def run(self, model: Any, sentences: "Sequence[QueuedSentence]") -> list[Any]:
        """Return one result per sentence, in order. Called in the model's thread."""
        ...


@dataclass(eq=False)
class QueuedSentence:
    """A sentence in the queue, and the future of its result."""

    task: BatchTask
    text: str
    token_count: int
    """Source tokens."""
    beam_factor: int = 1
    """Beam width relative to the model's default: the sentence takes this many times its tokens of a batch."""
    prefix: str = ""
    details: frozenset[str] = frozenset()
    """Optional fields of the response."""
    future: "Future[Any]" = field(default_factory=Future)
    queued_at: float = 0.0
    """Time of queuing, on the monotonic clock."""

    async def result(self) -> Any:
        """Wait for the result. Cancelling the wait removes the sentence from the queue."""
        return await asyncio.wrap_future(self.future)


class TicketLock:
    """First-come, first-served lock: models share the machine's threads, and each batch gets all of them."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._next_ticket, self._now_serving = 0, 0

    @contextmanager
    def acquire(self) -> Iterator[None]:
        with self._condition:
            ticket, self._next_ticket = self._next_ticket, self._next_ticket + 1
            self._condition.wait_for(lambda: self._now_serving == ticket)
        try:
            yield
        finally:
            with self._condition:
                self._now_serving += 1
                self._condition.notify_all()


class QueueMetrics(Protocol):
    """Counters that a queue updates."""

    def set_queued(self, model: str, count: int) -> None: ...

    def record_batch(self, model: str, sentences: int, tokens: int, seconds: float) -> None: ...


class ModelQueue:
    """Queue of one model and the thread that empties it. The thread starts with the first sentence."""

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
        self.batch_tokens, self.batch_wait_seconds = batch_tokens, batch_wait_seconds
        self.max_queued_sentences = max_queued_sentences
        self.lock, self.metrics = lock, metrics
        self._queue: deque[QueuedSentence] = deque()
        self._condition = threading.Condition()
        self._is_closing = False
        self._unfinished_count = 0
        self._thread: threading.Thread | None = None

    def check_capacity(self, count: int) -> None:
        """Raise 503 if `count` more sentences would exceed the queue. Only new requests are checked."""
        if self._unfinished_count and self._unfinished_count + count > self.max_queued_sentences:
            raise busy_error("Too many sentences are waiting. Send the request again in a moment.", retry_after=2.0)

    def _on_done(self, _: "Future[Any]") -> None:
        with self._condition:
            self._unfinished_count -= 1

    def submit(self, sentences: Sequence[QueuedSentence]) -> bool:
        """Queue all sentences and return True; a closed queue accepts none and returns False."""
        with self._condition:
            if self._is_closing:
                return False
            self._unfinished_count += len(sentences)
            for sentence in sentences:
                sentence.queued_at = time.monotonic()
                sentence.future.add_done_callback(self._on_done)
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
        """Accept nothing more; finish what is queued."""
        with self._condition:
            self._is_closing = True
            self._condition.notify_all()

    def drain(self) -> None:
        """Close, and wait until the queue is empty."""
        self.close()
        while thread := self._thread:  # a thread that died has started a new one
            thread.join()

    def _report_queued(self) -> None:
        self.metrics.set_queued(self.name, len(self._queue))

    def _run(self) -> None:
        try:
            while batch := self._next_batch():
                try:
                    with self.lock.acquire():
                        self._run_batch(batch)
                finally:  # no client waits forever, even if this thread dies
                    for sentence in batch:
                        _fail(sentence, failed_error(MODEL_FAILED))
        except BaseException as error:  # noqa: BLE001 - logged by type alone: a traceback may quote a user
            LOG.error("model thread died", extra={"model": self.name, "kind": type(error).__name__})
        finally:
            with self._condition:
                self._thread = None
                if self._queue:
                    self._start_thread()

    def _next_batch(self) -> list[QueuedSentence]:
        """Wait for the next batch. Return an empty list when the queue is closed and empty."""
        with self._condition:
            while True:
                self._drop_cancelled()
                if not self._queue:
                    if self._is_closing:
                        return []
                    self._condition.wait()
                    continue
                selected, is_full = self._select_batch()
                seconds_left = self._queue[0].queued_at + self.batch_wait_seconds - time.monotonic()
                if is_full or seconds_left <= 0 or self._is_closing:
                    return self._take_batch(selected)
                self._condition.wait(seconds_left)

    def _drop_cancelled(self) -> None:
        if any(sentence.future.cancelled() for sentence in self._queue):
            self._queue = deque(sentence for sentence in self._queue if not sentence.future.cancelled())
            self._report_queued()

    def _select_batch(self) -> tuple[list[QueuedSentence], bool]:
        """Select the sentences that share the task of the oldest; return them and whether the batch is full."""
        task, selected, tokens = self._queue[0].task, list[QueuedSentence](), 0
        for sentence in self._queue:
            if sentence.task != task:
                continue
            tokens += sentence.token_count * sentence.beam_factor
            if selected and tokens > self.batch_tokens:
                return selected, True
            selected.append(sentence)
        return selected, tokens >= self.batch_tokens

    def _take_batch(self, selected: list[QueuedSentence]) -> list[QueuedSentence]:
        selected_ids = set(map(id, selected))
        self._queue = deque(sentence for sentence in self._queue if id(sentence) not in selected_ids)
        self._report_queued()
        batch = [sentence for sentence in selected if sentence.future.set_running_or_notify_cancel()]
        return batch or self._next_batch()  # all were cancelled in the meantime

    def _run_batch(self, batch: Sequence[QueuedSentence]) -> None:
        start = time.monotonic()
        try:
            results = batch[0].task.run(self.model, batch)
        except BaseException as error:  # noqa: BLE001 - the thread must survive any failure of a model
            self._retry_separately(batch, error)
            return
        token_count = sum(sentence.token_count for sentence in batch)
        self.metrics.record_batch(self.name, len(batch), token_count, time.monotonic() - start)
        for sentence, result in zip(batch, results, strict=True):
            sentence.future.set_result(result)

    def _retry_separately(self, batch: Sequence[QueuedSentence], error: BaseException) -> None:
        """Run the sentences of a failed batch one by one, so that only the faulty sentence gets an error."""
        if len(batch) > 1:
            for sentence in batch:
                self._run_batch([sentence])
            return
        # the message of an unexpected error may quote a user: only its type is logged, and the client never sees it
        LOG.error("sentence failed", extra={"model": self.name, "kind": type(error).__name__})
        is_bad_input = isinstance(error, InputError)
        _fail(batch[0], bad_request_error(str(error)) if is_bad_input else failed_error(MODEL_FAILED))


def _fail(sentence: QueuedSentence, error: APIError) -> None:
    if not sentence.future.done():
        sentence.future.set_exception(error)
