"""Admission: whether a request may be handled now, decided in microseconds and before its body is read.

A request for a model is admitted if fewer than `max_concurrent_requests` are handled and the queue has room. Otherwise
it waits in line, unread, for `admission_timeout` seconds, and is admitted when a request before it has finished. Then
it gets 503. Clients that ignore Retry-After and send again at once would keep the machine busy with refusing. So only
REFUSALS_PER_SECOND requests leave the line with 503 each second; the others wait a little longer, with another chance.
The line needs no limit of its own: a connection has one request at a time, and connections are limited (main.py).

Everything here runs in the event loop, without locks.
"""

import asyncio
import logging
import math
from collections import deque
from dataclasses import dataclass

from tongsa.server.config import ServerConfig
from tongsa.server.metrics import ServerMetrics
from tongsa.server.model_pool import ModelPool

LOG = logging.getLogger("tongsa.server")
QUEUED_PATHS = frozenset(
    {
        "/v1/translate",
        "/v1/documents",
        "/v1/alternatives",
        "/v1/score",
        "/v1/continue",
        "/v1/attention",
        "/v1/tree",
        "/v1/trace",
        "/v1/classify",
        "/translate",
        "/translate_file",
    }
)
"""Paths whose requests wait in the queue of a model."""
REFUSALS_PER_SECOND = 200
"""Refusals of requests that have waited in line: one takes about 0.2 ms, so together at most 4 % of a core."""
CHECK_SECONDS = 0.05
"""Interval at which the line is looked at; requests that finish move it at once."""
LOG_SECONDS = 1.0
"""Interval of the log lines about refused requests."""


@dataclass(frozen=True)
class WaitingRequest:
    """A request in line."""

    refused_at: float
    """Time on the clock of the event loop after which it is refused."""
    is_admitted: "asyncio.Future[bool]"


class Admission:
    """Requests in progress, and those that wait in line."""

    def __init__(self, config: ServerConfig, models: ModelPool, metrics: ServerMetrics) -> None:
        self.config, self.models, self.metrics = config, models, metrics
        self._in_progress = 0
        self._for_models = 0
        """Requests in progress for a model; each has a sentence in its queue, or will soon."""
        self._line: deque[WaitingRequest] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._refused_since_log, self._logged_at = 0, 0.0

    async def admit(self, path: str, deadline: float = math.inf) -> bool:
        """Return True if the request may be handled; then `release` must follow. False means 503.

        `deadline` is the time on the monotonic clock, that of the event loop, at which the request is cancelled: then
        it need not wait any more.
        """
        is_queued = path in QUEUED_PATHS
        if not (is_queued and self._line) and self._has_room(is_queued=is_queued):
            self._start(is_queued=is_queued)
            return True
        if not is_queued or not self.config.admission_timeout:
            return self._count_refusal()
        loop = asyncio.get_running_loop()
        refused_at = min(loop.time() + self.config.admission_timeout, deadline)
        waiting = WaitingRequest(refused_at, loop.create_future())
        self._line.append(waiting)
        self.metrics.waiting_requests.set(len(self._line))
        self._timer = self._timer or loop.call_later(CHECK_SECONDS, self._check_line)
        try:
            return await waiting.is_admitted or self._count_refusal()
        except asyncio.CancelledError:
            if waiting.is_admitted.done() and not waiting.is_admitted.cancelled() and waiting.is_admitted.result():
                self.release(path)  # admitted in the same moment
            raise

    def release(self, path: str) -> None:
        """Count an admitted request as finished, and admit those that wait."""
        self._in_progress -= 1
        self._for_models -= path in QUEUED_PATHS
        if self._line:
            self._admit_waiting()

    def _has_room(self, *, is_queued: bool) -> bool:
        if self._in_progress >= self.config.max_concurrent_requests:
            return False
        return not is_queued or self.models.has_room(self._for_models)

    def _start(self, *, is_queued: bool) -> None:
        self._in_progress += 1
        self._for_models += is_queued

    def _admit_waiting(self) -> None:
        while self._line and self._has_room(is_queued=True):
            waiting = self._line.popleft()
            if not waiting.is_admitted.done():
                self._start(is_queued=True)
                waiting.is_admitted.set_result(True)
        self.metrics.waiting_requests.set(len(self._line))

    def _check_line(self) -> None:
        """Admit what fits, refuse some of those that have waited long enough."""
        loop, self._timer = asyncio.get_running_loop(), None
        self._admit_waiting()
        now, refusals = loop.time(), round(REFUSALS_PER_SECOND * CHECK_SECONDS)
        # not only the first: clients have deadlines of their own
        expired = [waiting for waiting in self._line if waiting.refused_at <= now and not waiting.is_admitted.done()]
        for waiting in sorted(expired, key=lambda waiting: waiting.refused_at)[:refusals]:
            waiting.is_admitted.set_result(False)
        self._line = deque(waiting for waiting in self._line if not waiting.is_admitted.done())
        self.metrics.waiting_requests.set(len(self._line))
        if self._line:
            self._timer = loop.call_later(CHECK_SECONDS, self._check_line)

    def _count_refusal(self) -> bool:
        """Count a refusal; return False. The log has their number, not a line for each."""
        now, self._refused_since_log = asyncio.get_running_loop().time(), self._refused_since_log + 1
        if now - self._logged_at >= LOG_SECONDS:
            LOG.warning("requests refused", extra={"count": self._refused_since_log})
            self._refused_since_log, self._logged_at = 0, now
        return False
