"""A server on a free port of this machine, in a thread, with models small enough to see."""

import socket
import threading
import time
from collections.abc import Iterator, Sequence
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
from tongsa.server.context import ServerContext
from tongsa.server.main import create_context, listener_url, open_listener, uvicorn_config
from tongsa.server.model_pool import parse_model_sources
from tongsa.server.queue import ModelQueue


@dataclass(frozen=True)
class Running:
    url: str
    service: ServerContext
    client: httpx2.Client
    server: uvicorn.Server

    def post(self, path: str, body: Any, **others: Any) -> httpx2.Response:
        return self.client.post(self.url + path, json=body, **others)

    def send(self, path: str, body: bytes, **others: Any) -> httpx2.Response:
        return self.client.post(self.url + path, content=body, **others)

    def get(self, path: str, **others: Any) -> httpx2.Response:
        return self.client.get(self.url + path, **others)

    def translate(self, text: Any, **others: Any) -> Any:
        answer = self.post("/v1/translate", {"text": text, **others})
        assert answer.status_code == 200, answer.text
        return answer.json()["translations"]

    @property
    def connections(self) -> int:
        return len(self.server.server_state.connections)

    @property
    def worker(self) -> ModelQueue:
        return next(iter(self.service.models.queues.values()))

    def socket(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", int(self.url.rpartition(":")[2])), timeout=20)


@contextmanager
def serving(*runs: Path | str, **options: Any) -> Iterator[Running]:
    config = ServerConfig(**{"port": 0, "guard": False, **options})
    made = create_context(parse_model_sources([str(run) for run in runs]), config)
    failures: list[Exception] = []
    server = uvicorn.Server(uvicorn_config(create_app(made, failures.append), config))
    with open_listener(config) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            wait_for(lambda: made.models.is_ready or failures)
            assert not failures, failures
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=50)
            with httpx2.Client(timeout=60, limits=limits, trust_env=False) as client:
                yield Running(listener_url(listener), made, client, server)
        finally:
            server.should_exit = True
            thread.join()


def wait_for(condition: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


def drawn(folder: Path, seed: int = 1) -> Path:
    """A model with weights drawn at random."""
    made = transformer(target=TARGET, share="target", positions="learned", seed=seed)
    return save_run(folder, replace(made, decoding=DecodingConfig(max_extra_tokens=8, min_tokens=8)))


def texts(count: int) -> list[str]:
    """So many different texts of one sentence, of letters that the models know."""
    letters = "abcdefg"
    return [" ".join(letters[(number // 7**place) % 7] for place in range(2 + number % 5)) for number in range(count)]


class Stall:
    """A model that stands still, at once or after so many batches, until it is let go: a test sees what waits."""

    def __init__(self, reader: Any, after: int = 0) -> None:
        self.reader, self.translate, self.after = reader, reader.translate, after
        self.begun, self.free = threading.Event(), threading.Event()
        self.batches: list[Sequence[str]] = []

    def __enter__(self) -> "Stall":
        def standing(sources: Sequence[str], **others: Any) -> Any:
            self.batches.append(list(sources))
            if len(self.batches) > self.after:
                self.begun.set()
                assert self.free.wait(60)
            return self.translate(sources, **others)

        self.reader.translate = standing
        return self

    def __exit__(self, *_: object) -> None:
        self.free.set()
        self.reader.translate = self.translate
