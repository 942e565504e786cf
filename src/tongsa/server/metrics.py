"""Prometheus metrics. They hold no text and no address of a client."""

from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
BATCH_SIZE_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class ServerMetrics:
    """Metrics of one server. Each has its own registry, so two servers in one process do not mix."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.requests = Counter(
            "tongsa_requests", "Responses by route and status.", ("route", "status"), registry=registry
        )
        self.request_seconds = Histogram(
            "tongsa_request_seconds",
            "Time from request to response.",
            ("route",),
            registry=registry,
            buckets=SECONDS_BUCKETS,
        )
        self.requests_in_progress = Gauge("tongsa_requests_in_progress", "Requests in progress.", registry=registry)
        self.waiting_requests = Gauge(
            "tongsa_waiting_requests", "Requests that wait for room, unread.", registry=registry
        )
        self.queued_sentences = Gauge(
            "tongsa_queue_sentences", "Sentences waiting in the queue.", ("model",), registry=registry
        )
        self.batch_sentences = Histogram(
            "tongsa_batch_sentences", "Sentences per batch.", ("model",), registry=registry, buckets=BATCH_SIZE_BUCKETS
        )
        self.batch_seconds = Histogram(
            "tongsa_batch_seconds", "Time per batch.", ("model",), registry=registry, buckets=SECONDS_BUCKETS
        )
        self.source_tokens = Counter("tongsa_source_tokens", "Source tokens processed.", ("model",), registry=registry)
        self.flags = Counter("tongsa_flags", "Failed checks of translations.", ("model", "flag"), registry=registry)

        self._of_route: dict[tuple[str, int], tuple[Any, Any]] = {}
        """Counter and histogram of a route and a status: `labels` would cost more than counting."""

    def watch_queue(self, model: str, count: Callable[[], float]) -> None:
        """Take the number of waiting sentences from a function, when it is asked for."""
        self.queued_sentences.labels(model).set_function(count)

    def record_batch(self, model: str, sentences: int, tokens: int, seconds: float) -> None:
        self.batch_sentences.labels(model).observe(sentences)
        self.batch_seconds.labels(model).observe(seconds)
        self.source_tokens.labels(model).inc(tokens)

    def record_response(self, route: str, status: int, seconds: float) -> None:
        if (route, status) not in self._of_route:
            self._of_route[route, status] = self.requests.labels(route, str(status)), self.request_seconds.labels(route)
        counter, histogram = self._of_route[route, status]
        counter.inc()
        histogram.observe(seconds)

    def count_flags(self, model: str, sentence: dict[str, Any]) -> None:
        for flag in sentence["flags"]:
            self.flags.labels(model, flag).inc()

    @property
    def exposition(self) -> bytes:
        """The metrics in Prometheus's text format."""
        return generate_latest(self.registry)
