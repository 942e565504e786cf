"""Dynamic batching: a queue per model, from which its threads serve the sentences of all clients together.

A batch holds sentences with equal tasks, so a result never depends on the other clients. Sentences stream through two
stages, each with its own threads:

1. Search. One thread for each worker of the engine. When its turn comes, it takes what waits (at most a batch) and
   runs the model. Nothing is set aside before: a sentence that arrives in the last moment still joins.
2. Finish. One thread turns the outputs into texts, checks them and answers, while the workers search the next
   batches. A sentence whose output fails a check goes back into the queue with another task.

An idle worker waits for `BatchLimits.wait_seconds` after the arrival of a sentence, so that others can join. It does
not wait if this sentence is the only one, and the batch before was a single sentence, too.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from tongsa.errors import InputError
from tongsa.server.errors import APIError, bad_request_error, busy_error, failed_error, late_error
from tongsa.server.fair_queue import FairQueue
from tongsa.server.queued_sentence import BatchTask, QueuedSentence, SearchAgain, wake
from tongsa.server.room_line import RoomLine
from tongsa.server.turns import TicketLock

LOG = logging.getLogger("tongsa.server")
MAX_WAIT_FACTOR = 10
"""Longest wait for more sentences, relative to the setting, while they keep coming."""
MODEL_FAILED = "The model failed on this request. Send the request again."


class QueueMetrics(Protocol):
    """Counters that a queue updates."""

    def watch_queue(self, model: str, count: Callable[[], float]) -> None: ...

    def record_batch(self, model: str, sentences: int, tokens: int, seconds: float) -> None: ...


class BatchLimits(NamedTuple):
    """When a batch is closed."""

    tokens: int
    """Source tokens, times the beam factor."""
    wait_seconds: float
    """Time that an idle worker waits for more sentences."""
    sentences: int
    """Sentences that a worker searches at once."""
    workers: int
    """Batches that the engine searches at the same time, each in one worker."""
    torch_threads: int = 1
    """Threads of torch when it has the whole machine."""


class QueueRoom(NamedTuple):
    """Limits of what waits for a model."""

    sentences: int
    """Sentences in its queue."""
    waiting_requests: int
    """Requests that wait for room in the queue."""


class ModelQueue:
    """Queue of one model and the threads that empty it. They start with the first sentence."""

    def __init__(
        self,
        name: str,
        model: Any,
        *,
        limits: BatchLimits,
        room: QueueRoom,
        lock: TicketLock,
        metrics: QueueMetrics,
    ) -> None:
        self.name, self.model, self.limits = name, model, limits
        self._room_line = RoomLine(room.sentences)
        self.max_waiting_requests = room.waiting_requests
        self.lock, self.metrics = lock, metrics
        self._queue = FairQueue()
        self._condition = threading.Condition()
        self._gathering = threading.Lock()
        """Held by the thread that waits for the next batch."""
        self._is_closing = False
        self._unfinished_count = 0
        """Sentences without a result."""
        self._idle_workers = limits.workers
        self._last_arrival = 0.0
        self._last_search_seconds = 0.0
        self._last_batch_size = 0
        self._threads: list[threading.Thread] = []
        self._finisher = ThreadPoolExecutor(1, thread_name_prefix=f"tongsa {name} finish")
        metrics.watch_queue(name, lambda: self.queued_count)

    # Called by the event loop

    @property
    def has_room(self) -> bool:
        """True if one more request may be admitted."""
        return self._room_line.has_room(1, self._unfinished_count)

    async def wait_for_room(self, count: int) -> bool:
        """Wait until `count` more sentences fit; the caller queues them at once. Only new requests wait.

        Return False if the queue is closed, and accepts none.
        """
        with self._condition:
            if self._is_closing or self._room_line.has_room(count, self._unfinished_count):
                return not self._is_closing
            if len(self._room_line) >= self.max_waiting_requests:
                raise busy_error("Too many requests wait for this model. Send it again in a moment.", retry_after=2.0)
            request = self._room_line.append(count)
        granted: list[asyncio.Future[None]] = []
        try:
            await request.has_room
        except BaseException:  # cancelled: others may have room now
            with self._condition:
                self._room_line.leave(request)
                granted = self._room_line.grant(self._unfinished_count)
            raise
        else:
            with self._condition:
                self._room_line.leave(request)
                return not self._is_closing
        finally:
            wake(granted)

    @property
    def queued_count(self) -> int:
        return self._queue.sentence_count

    def submit(self, sentences: Sequence[QueuedSentence]) -> bool:
        """Queue all sentences and return True; a closed queue accepts none and returns False."""
        with self._condition:
            if self._is_closing:
                return False
            if sentences:
                self._unfinished_count += len(sentences)
                self._append(sentences)
                while len(self._threads) < self.limits.workers:
                    self._start_thread()
            return True

    def _append(self, sentences: Sequence[QueuedSentence]) -> None:
        was_empty, now = not self._queue, time.monotonic()
        self._last_arrival = now
        for sentence in sentences:
            sentence.queued_at = sentence.queued_at or now
            sentence.on_cancel, sentence.state = self._cancel, "queued"
            self._queue.append(sentence)
        # the thread that gathers a batch need not know of each sentence
        if was_empty or self._queue.total_cost >= self.limits.tokens:
            self._condition.notify_all()

    def _cancel(self, sentence: QueuedSentence) -> None:
        granted: list[asyncio.Future[None]] = []
        with self._condition:
            sentence.is_abandoned = True
            if sentence.state == "queued":  # it leaves the queue with the next batch
                sentence.state = "cancelled"
                granted = self._count_finished(1)
        wake(granted)

    def _count_finished(self, count: int) -> "list[asyncio.Future[None]]":
        """Count sentences as finished; return what the requests wait for that have room now."""
        self._unfinished_count -= count
        if self._is_closing and not self._unfinished_count:
            self._condition.notify_all()
        return self._room_line.grant(self._unfinished_count)

    def close(self) -> None:
        """Accept nothing more; finish what is queued. Requests that wait for room go on to the next queue."""
        with self._condition:
            self._is_closing = True
            self._condition.notify_all()
            waiting = self._room_line.grant(self._unfinished_count, is_closing=True)
        wake(waiting)

    def drain(self) -> None:
        """Close, and wait until every sentence has its result."""
        self.close()
        while threads := list(self._threads):  # a thread that died has started a new one
            threads[0].join()
        self._finisher.shutdown()

    # First stage: the threads of the workers

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._run, name=f"tongsa {self.name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self) -> None:
        try:
            while self._search_next():
                pass
        except BaseException as error:  # noqa: BLE001 - logged by type alone: a traceback may quote a user
            LOG.error("model thread died", extra={"model": self.name, "kind": type(error).__name__})
        finally:
            with self._condition:
                self._threads.remove(threading.current_thread())
                if self._unfinished_count:
                    self._start_thread()
                elif not self._threads and self._is_closing:
                    self._finisher.shutdown(wait=False)

    def _search_next(self) -> bool:
        """Wait for the next batch and search it. Return False when the queue is closed and nothing is left."""
        batch: list[QueuedSentence] = []
        with ExitStack() as turn:
            with self._gathering:
                task = self._wait_for_batch()
                if task is None:
                    return False
                share = Fraction(1) if task.uses_all_threads else Fraction(1, self.limits.workers)
                turn.enter_context(self.lock.acquire(share))
                turn.enter_context(self._torch_threads(share))
                batch = self._take_batch(all_threads=task.uses_all_threads)
            try:
                if batch:
                    self._search(batch)
            except BaseException:  # no client waits forever, even if this thread dies
                self._fail(batch)
                raise
            finally:
                with self._condition:
                    self._idle_workers += 1
        return True

    def _torch_threads(self, share: Fraction) -> AbstractContextManager[None]:
        """Give torch a share of its threads."""
        from tongsa.torch_threads import torch_threads  # imports torch, which is loaded after the port is open

        return torch_threads(max(1, int(share * self.limits.torch_threads)))

    def _wait_for_batch(self) -> BatchTask | None:
        """Wait until a batch should start, and return its task. None when the queue is closed and nothing is left."""
        with self._condition:
            while True:
                if not self._queue:
                    if self._is_closing and not self._unfinished_count:
                        return None
                    self._condition.wait()
                    continue
                seconds_left = self._seconds_to_wait()
                if self._queue.total_cost >= self.limits.tokens or seconds_left <= 0 or self._is_closing:
                    return self._queue.first.task
                self._condition.wait(seconds_left)

    def _seconds_to_wait(self) -> float:
        """Return how long to wait for more sentences: until none has come for a moment.

        Answers of a large batch bring its clients back one after the other, so the longer the last search took, the
        longer the first sentence may wait. A small batch would take nearly as long as a large one.
        """
        if self._last_batch_size == self._unfinished_count == 1:
            return 0.0  # one client sends one sentence after the other: nobody else is expected
        wait = self.limits.wait_seconds
        max_wait = min(max(wait, self._last_search_seconds / 4), MAX_WAIT_FACTOR * wait)
        return min(self._last_arrival + wait, self._queue.first.queued_at + max_wait) - time.monotonic()

    def _take_batch(self, *, all_threads: bool) -> list[QueuedSentence]:
        """Take the next batch. It is empty if nobody waits any more, or if the next task needs another turn."""
        with self._condition:
            now = time.monotonic()
            removed = self._queue.remove(lambda sentence: sentence.state == "cancelled" or sentence.deadline < now)
            batch: list[QueuedSentence] = []
            if self._queue and self._queue.first.task.uses_all_threads == all_threads:
                # idle workers share what waits
                share = -(-self._queue.sentence_count // max(1, self._idle_workers))
                max_sentences = self.limits.tokens if all_threads else min(share, self.limits.sentences)
                batch = self._queue.take(self.limits.tokens, max_sentences)
            for sentence in batch:
                sentence.state = "running"
            self._last_batch_size = len(batch) or self._last_batch_size
            self._idle_workers -= 1
        self._resolve([(sentence, late_error()) for sentence in removed if sentence.state != "cancelled"])
        return batch

    def _search(self, batch: list[QueuedSentence]) -> None:
        start = time.monotonic()
        try:
            outputs = batch[0].task.search(self.model, batch)
        except BaseException as error:  # noqa: BLE001 - the thread must survive any failure of a model
            self._search_separately(batch, error)
            return
        self._last_search_seconds = time.monotonic() - start
        self._finisher.submit(self._finish, batch, outputs, self._last_search_seconds)

    def _search_separately(self, batch: Sequence[QueuedSentence], error: BaseException) -> None:
        """Search the sentences of a failed batch one by one, so that only the faulty sentence gets an error."""
        if len(batch) > 1:
            for sentence in batch:
                self._search([sentence])
            return
        # the message of an unexpected error may quote a user: only its type is logged, and the client never sees it
        LOG.error("sentence failed", extra={"model": self.name, "kind": type(error).__name__})
        self._fail(batch, bad_request_error(str(error)) if isinstance(error, InputError) else None)

    def _fail(self, sentences: Sequence[QueuedSentence], error: APIError | None = None) -> None:
        """Answer with the result of the first search, if there was one, or with an error."""
        error = error or failed_error(MODEL_FAILED)
        self._resolve([(sentence, sentence.fallback or error) for sentence in sentences])

    # Second stage: the thread that finishes

    def _finish(self, batch: list[QueuedSentence], outputs: Any, search_seconds: float) -> None:
        try:
            with self._torch_threads(Fraction(1, self.limits.workers)):  # beside the workers, so with one thread
                results = batch[0].task.finish(self.model, batch, outputs)
            token_count = sum(sentence.token_count for sentence in batch)
            self.metrics.record_batch(self.name, len(batch), token_count, search_seconds)
            self._resolve(list(zip(batch, results, strict=True)))
        except BaseException as error:  # noqa: BLE001 - as in the first stage
            self._search_separately(batch, error)

    def _resolve(self, outcomes: Sequence[tuple[QueuedSentence, Any]]) -> None:
        """Set results and errors, wake the clients, and put back what is searched again."""
        waiters, again = [], []
        with self._condition:
            for sentence, outcome in outcomes:
                if sentence.is_done:
                    continue
                if isinstance(outcome, SearchAgain) and not sentence.is_abandoned:
                    sentence.task, sentence.fallback = outcome
                    again.append(sentence)
                else:
                    waiters.append(sentence.set_outcome(outcome))
            granted = self._count_finished(len(waiters))
            if again:
                self._append(again)
        wake([*waiters, *granted])
