"""A server in a thread of the test process, on a free port, with tiny models."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from export.bundles import TARGET, save_run, transformer
from tongsa.decoding.config import DecodingConfig
from tongsa.server.app import create_app
from tongsa.server.config import ServerConfig
from tongsa.server.http import ServerContext
from tongsa.server.main import create_context, listener_url, open_listener, uvicorn_config
from tongsa.server.model_pool import parse_model_sources
from tongsa.server.queue import ModelQueue

WAIT_SECONDS = 60
"""Upper bound of all waits: large enough for a busy machine."""


@dataclass(frozen=True)
class LiveServer:
    url: str
    context: ServerContext
    client: httpx2.Client
    server: uvicorn.Server

    def post(self, path: str, body: Any, **options: Any) -> httpx2.Response:
        return self.client.post(self.url + path, json=body, **options)

    def send(self, path: str, body: bytes, **options: Any) -> httpx2.Response:
        return self.client.post(self.url + path, content=body, **options)

    def get(self, path: str, **options: Any) -> httpx2.Response:
        return self.client.get(self.url + path, **options)

    def translate(self, text: Any, **fields: Any) -> Any:
        response = self.post("/v1/translate", {"text": text, **fields})
        assert response.status_code == 200, response.text
        return response.json()["translations"]

    def metric(self, name: str, **labels: str) -> float | None:
        return self.context.metrics.registry.get_sample_value(name, labels)

    @property
    def connection_count(self) -> int:
        return len(self.server.server_state.connections)

    @property
    def queue(self) -> ModelQueue:
        """Queue of the first model."""
        return next(iter(self.context.models.queues.values()))

    def socket(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", int(self.url.rpartition(":")[2])), timeout=WAIT_SECONDS)


@contextmanager
def live_server(*runs: Path | str, **settings: Any) -> Iterator[LiveServer]:
    config = ServerConfig(**{"port": 0, "output_checks": False, **settings})
    context = create_context(parse_model_sources([str(run) for run in runs]), config)
    failures: list[Exception] = []
    server = uvicorn.Server(uvicorn_config(create_app(context, failures.append), config))
    with open_listener(config) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            wait_for(lambda: context.models.is_ready or failures)
            assert not failures, failures
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=50)
            with httpx2.Client(timeout=WAIT_SECONDS, limits=limits, trust_env=False) as client:
                yield LiveServer(listener_url(listener), context, client, server)
        finally:
            server.should_exit = True
            thread.join()


def wait_for(condition: Callable[[], Any], seconds: float = WAIT_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition never became true"
        time.sleep(0.005)


def random_model(folder: Path, seed: int = 1) -> Path:
    """Write a run with a model of random weights."""
    bundle = transformer(target=TARGET, tie_embeddings="target", positions="learned", seed=seed)
    return save_run(folder, replace(bundle, decoding=DecodingConfig(max_extra_tokens=8, min_tokens=8)))


def looping_model(folder: Path) -> Path:
    """Write a run whose model repeats itself in some of the sample texts."""
    return save_run(folder, transformer(seed=3, norm="pre"))


def sample_texts(count: int) -> list[str]:
    """Return different texts of one sentence each, of letters that the models know."""
    letters = "abcdefg"
    return [" ".join(letters[(number // 7**i) % 7] for i in range(2 + number % 5)) for number in range(count)]


class BlockedModel:
    """Context in which a model blocks after a number of batches until `release` is set, so a test sees the queue."""

    def __init__(self, translator: Any, batches_before: int = 0) -> None:
        self.translator, self.search, self.batches_before = translator, translator.search, batches_before
        self.is_blocked, self.release = threading.Event(), threading.Event()
        self.batches: list[Sequence[str]] = []

    def __enter__(self) -> "BlockedModel":
        def blocking_search(texts: Sequence[str], request: Any, source_tokens: Any = ()) -> Any:
            self.batches.append(list(texts))
            if len(self.batches) > self.batches_before:
                self.is_blocked.set()
                assert self.release.wait(WAIT_SECONDS)
            return self.search(texts, request, source_tokens)

        self.translator.search = blocking_search
        return self

    def wait(self) -> None:
        assert self.is_blocked.wait(WAIT_SECONDS)

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self.translator.search = self.search
