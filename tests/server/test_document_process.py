"""Documents in a process of their own give what documents in a thread give, and end when nobody waits for them."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from document_formats.samples import SAMPLES, make_archive
from live_server import BlockedModel, LiveServer, live_server, wait_for
from tongsa.data.sentence_splitter import Span
from tongsa.document_formats.mark_positions import WordLink
from tongsa.document_formats.translation import SourceText, TextTranslation, TranslatedDocument
from tongsa.errors import InputError
from tongsa.server import document_process
from tongsa.server.config import RequestLimits
from tongsa.server.document_process import open_document
from tongsa.server.errors import APIError
from tongsa.worker_pipe import Worker, start_worker

WRONG = {
    "unknown format": ("a.pdf", b"x"),
    "damaged archive": ("a.docx", b"x"),
    "archive of spaces": ("a.docx", make_archive({"word/document.xml": b" " * 3_000_000})),
    "not UTF-8": ("a.srt", b"\xff\xfe\xfd"),
    "too many marks": ("a.txt", b"a" + "\u0301".encode() * 300),
    "too many characters": ("a.txt", b"a b\n" * 2000),
    "too many bytes": ("a.txt", b"1" * 60_000),
}
LARGE = b"- [x](y) `z`\n" * 5000


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Worker]]:
    """Processes that were started for documents."""
    started: list[Worker] = []

    def start_and_record(module: str, function: str, *, quiet: bool) -> Worker:
        started.append(start_worker(module, function, quiet=quiet))
        return started[-1]

    monkeypatch.setattr(document_process, "start_worker", start_and_record)
    yield started
    for worker in started:
        worker.kill()


def translate_word(text: SourceText) -> TextTranslation:
    """Return a translation that is empty or loses its placeholders now and then, aligned by its first letter."""
    words = "" if len(text.text) % 5 == 0 else text.text.upper()
    link = WordLink(Span(0, 1), Span(0, 1))
    return TextTranslation(words, [link] if text.needs_alignment else [], ("loop",) if len(words) % 3 == 0 else ())


def translate(name: str, content: bytes) -> tuple[str, TranslatedDocument]:
    async def run() -> tuple[str, TranslatedDocument]:
        async with open_document(content, name, RequestLimits(document_characters=5000)) as document:
            step = await document.advance()
            while not isinstance(step, TranslatedDocument):
                step = await document.advance([translate_word(text) for text in step])
            return document.beginning, step

    return asyncio.run(run())


@pytest.mark.parametrize("name", SAMPLES)
def test_a_process_gives_the_document_that_a_thread_gives(
    monkeypatch: pytest.MonkeyPatch, workers: list[Worker], name: str
) -> None:
    results = []
    for limit in (10**9, -1):
        monkeypatch.setattr(document_process, "MAX_THREAD_BYTES", limit)
        monkeypatch.setattr(document_process, "ITEMS_PER_PART", 3)
        results.append(translate(name, SAMPLES[name]))
    assert results[0] == results[1]
    assert workers, "no process was started"
    assert all(worker.returncode is not None for worker in workers)


@pytest.mark.parametrize(("name", "content"), WRONG.values(), ids=WRONG)
def test_a_process_gives_the_error_that_a_thread_gives(
    monkeypatch: pytest.MonkeyPatch, workers: list[Worker], name: str, content: bytes
) -> None:
    errors = []
    for limit in (10**9, -1):
        monkeypatch.setattr(document_process, "MAX_THREAD_BYTES", limit)
        with pytest.raises((APIError, InputError)) as error:
            translate(name, content)
        errors.append((isinstance(error.value, APIError), getattr(error.value, "status", None), str(error.value)))
    assert errors[0] == errors[1]
    assert workers, "no process was started"


def send(server: LiveServer, timeout: float = 60) -> httpx2.Response:
    return server.client.post(f"{server.url}/v1/documents", files={"file": ("a.md", LARGE)}, timeout=timeout)


def test_the_process_ends_when_the_client_has_gone(run: Path, workers: list[Worker]) -> None:
    with live_server(run, max_concurrent_documents=1) as server:
        with BlockedModel(server.queue.model.text_model) as blocked:
            with pytest.raises(httpx2.TimeoutException):
                send(server, timeout=5)
            blocked.release.set()
        wait_for(lambda: workers and workers[0].returncode is not None)
        wait_for(lambda: send(server).status_code == 200)  # its slot is free


def test_a_process_that_dies_is_an_error_of_its_request_alone(run: Path, workers: list[Worker]) -> None:
    with live_server(run) as server, BlockedModel(server.queue.model.text_model) as blocked:
        responses: list[httpx2.Response] = []
        client = threading.Thread(target=lambda: responses.append(send(server)))
        client.start()
        blocked.wait()
        workers[0].kill()
        blocked.release.set()
        client.join()
        assert (responses[0].status_code, responses[0].json()["code"]) == (503, "failed")
        assert send(server).status_code == 200
