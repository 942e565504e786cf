"""What is counted, in the form of Prometheus. Never a text, never an address."""

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
BATCH_SIZE_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class ServerMetrics:
    """A registry of its own for each server, so that two in one process do not meet."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        made = self.registry
        self.requests = Counter(
            "tongsa_requests", "Requests answered, by route and status.", ("route", "status"), registry=made
        )
        self.request_seconds = Histogram(
            "tongsa_request_seconds",
            "From a request to its answer.",
            ("route",),
            registry=made,
            buckets=SECONDS_BUCKETS,
        )
        self.requests_in_progress = Gauge(
            "tongsa_requests_in_progress", "Requests that are being answered.", registry=made
        )
        self.queued_sentences = Gauge("tongsa_queue_sentences", "Sentences that wait.", ("model",), registry=made)
        self.batch_sentences = Histogram(
            "tongsa_batch_sentences", "Sentences in a batch.", ("model",), registry=made, buckets=BATCH_SIZE_BUCKETS
        )
        self.batch_seconds = Histogram(
            "tongsa_batch_seconds", "Time that a batch took.", ("model",), registry=made, buckets=SECONDS_BUCKETS
        )
        self.source_tokens = Counter("tongsa_source_pieces", "Source pieces translated.", ("model",), registry=made)
        self.flags = Counter("tongsa_flags", "Doubts about translations.", ("model", "flag"), registry=made)

    def set_queued(self, model: str, count: int) -> None:
        self.queued_sentences.labels(model).set(count)

    def record_batch(self, model: str, sentences: int, tokens: int, seconds: float) -> None:
        self.batch_sentences.labels(model).observe(sentences)
        self.batch_seconds.labels(model).observe(seconds)
        self.source_tokens.labels(model).inc(tokens)

    def record_response(self, route: str, status: int, seconds: float) -> None:
        self.requests.labels(route, str(status)).inc()
        self.request_seconds.labels(route).observe(seconds)

    def count_flags(self, model: str, sentence: dict[str, Any]) -> dict[str, Any]:
        """The same sentence, its flags counted."""
        for flag in sentence["flags"]:
            self.flags.labels(model, flag).inc()
        return sentence

    @property
    def exposition(self) -> bytes:
        return generate_latest(self.registry)
