"""What one client may cost the others: room in the queue, memory in a batch, a connection, time."""

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tongsa
from export.bundles import random_bundle, save_run, transformer
from served import Running, Stall, serving, texts, wait_for
from tongsa.errors import InputError
from tongsa.models.transformer.classifier import TransformerClassifierConfig
from tongsa.server import auth
from tongsa.server.api.requests import MAX_COMBINING_MARKS, TranslateRequest, has_too_many_marks
from tongsa.server.api.v1 import _stream_lines
from tongsa.server.config import ServerConfig
from tongsa.server.documents import create_documents
from tongsa.server.main import coalesce, create_context, reload
from tongsa.server.model_pool import parse_model_sources
from tongsa.tokenization.labels import LabelTokenizer

TRANSLATE = "/v1/translate"


def test_a_book_longer_than_the_queue_leaves_room_for_others(run: Path) -> None:
    with (
        serving(run, queue=8, window=2, wait_ms=0) as server,
        ThreadPoolExecutor(2) as clients,
        Stall(server.worker.model.reader) as stall,
    ):
        book = clients.submit(server.translate, "\n".join("abcdefg" * 3))
        assert stall.begun.wait(20)
        other = clients.submit(server.post, TRANSLATE, {"text": "a b c"})
        wait_for(lambda: other.done() or server.worker.queued_count)
        stall.free.set()
        assert other.result().status_code == 200
        assert len(book.result()[0]["sentences"]) == 21


def test_a_stream_that_nobody_reads_takes_no_room(run: Path) -> None:
    with serving(run, queue=4, window=2, wait_ms=0) as server:
        service, worker = server.service, server.worker
        found = create_documents(worker.model, TranslateRequest(text="a\nb\nc\nd\ne"), service.config)

        async def paused() -> tuple[int, int]:
            stream = _stream_lines(service, worker, found)
            await anext(stream)
            answer = await asyncio.to_thread(server.post, TRANSLATE, {"text": "a b\nc d\ne f\ng a"})
            rest = [line async for line in stream]
            return answer.status_code, len(rest)

        assert asyncio.run(paused()) == (200, 5)


def test_who_is_refused_takes_no_thread(run: Path) -> None:
    with serving(run) as server:
        before = set(threading.enumerate())
        statuses = [server.get("/nothing").status_code, server.post(TRANSLATE, {"text": 1}).status_code]
        statuses.append(server.post(TRANSLATE, {"text": "a", "model": "other"}).status_code)
        assert (statuses, set(threading.enumerate()) - before) == ([404, 422, 404], set())


def test_a_client_that_takes_nothing_keeps_no_connection(run: Path) -> None:
    with serving(run, patience=0.5) as server, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
        client.settimeout(0.2)
        request = b"GET /static/attention.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        try:
            for _ in range(1000):
                client.sendall(request * 20)
        except OSError:
            pass
        wait_for(lambda: not server.connections, 30)


def test_more_requests_than_are_answered_at_a_time_are_refused_as_all_refusals_are(run: Path) -> None:
    with serving(run, requests=2, wait_ms=0) as server, ThreadPoolExecutor(2) as clients:
        inside = server.service.metrics.registry
        with Stall(server.worker.model.reader) as stall:
            taken = [clients.submit(server.translate, text) for text in ("a", "b")]
            wait_for(lambda: inside.get_sample_value("tongsa_requests_in_progress") == 2)
            for refused in (server.post(TRANSLATE, {"text": "c"}), server.get("/v1/models")):
                assert (refused.status_code, refused.json()["code"]) == (503, "busy")
                assert int(refused.headers["retry-after"]) >= 1
            assert server.get("/readyz").status_code == 200
            stall.free.set()
            assert all(one.result() for one in taken)
        wait_for(lambda: inside.get_sample_value("tongsa_requests_in_progress") == 0)
        assert server.translate("c")


def test_a_wider_search_takes_more_of_a_batch(run: Path) -> None:
    sizes = {}
    for beam in (4, 8):
        with serving(run, wait_ms=30, batch_tokens=24) as server, Stall(server.worker.model.reader) as stall:
            stall.free.set()
            size = server.worker.model.size("a")
            server.translate("\n".join("a" * 20), beam=beam)
            sizes[beam] = max(map(len, stall.batches)) * size
    assert sizes[8] <= 12 < sizes[4] <= 24


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/tree", {"text": "😀" * 100}),
        ("/v1/alternatives", {"text": "😀" * 100}),
        ("/v1/attention", {"text": "😀" * 100}),
        ("/v1/attention", {"text": "a", "target": "가 나 다 라 " * 40}),
        ("/v1/score", {"source": "a", "target": "가 나 다 라 " * 40}),
    ],
)
def test_what_is_looked_at_has_few_pieces_whatever_its_characters_are(
    server: Running, path: str, body: dict[str, Any]
) -> None:
    answer = server.post(path, body)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_long")
    assert "pieces" in answer.json()["error"]


def test_texts_are_classified_and_one_of_too_many_pieces_is_refused(tmp_path: Path) -> None:
    labels = LabelTokenizer(["good", "나쁨"])
    config = TransformerClassifierConfig(width=16, ffn_width=32, heads=4, layers=1, hidden=16)
    run = save_run(tmp_path / "labels", random_bundle("transformer_classifier", config, target=labels))
    with serving(run, batch_tokens=64) as server:
        some = ["a b", "c d e", ""]
        found = server.post("/v1/classify", {"text": some}).json()["labels"]
        own = tongsa.load(run).classify(some)
        assert [one["label"] for one in found] == [one.label for one in own]
        assert found[1]["probabilities"] == pytest.approx(own[1].probabilities, abs=1e-5)
        refused = server.post("/v1/classify", {"text": ["a", "😀" * 20]})
        assert (refused.status_code, refused.json()["code"]) == (413, "too_long")
        assert server.post("/v1/attention", {"text": "a b c"}).json()["readings"][0]["labelled"]
        assert len(server.post("/v1/score", {"source": "a", "target": "나쁨"}).json()["pieces"]) == 1
        assert "never seen" in server.post("/v1/score", {"source": "a", "target": "so"}).json()["error"]


@pytest.mark.parametrize("between", ["", "\0", "\ufeff"])
def test_marks_that_pile_up_are_refused_before_they_are_brought_into_order(server: Running, between: str) -> None:
    text = "a" + between.join("\u0315\u0316" * MAX_COMBINING_MARKS)
    answer = server.post(TRANSLATE, {"text": text})
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_request")
    assert "marks" in answer.json()["error"]


def test_marks_that_people_write_pile_up_nowhere() -> None:
    assert not any(
        map(has_too_many_marks, ["a\u0301\u0323 " * 300, "हिन्दी में " * 300, "❤️" * 300, "\u0f73\n" * 300, "갔다 " * 300])
    )
    assert has_too_many_marks("\u0f73" * 300), "it takes no place of its own, but falls into two that do"


def test_who_finds_no_other_way_takes_none_from_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = save_run(tmp_path / "loops", transformer(seed=3, norm="pre"))
    with serving(run, guard=True, wait_ms=50) as server:
        reader = server.worker.model.reader
        translate = reader.translate
        retried = [one["sentences"][0]["retried"] for one in server.translate(texts(12))]
        first = retried.index(True)
        assert sum(retried) > 1, "nobody to take it from: choose another seed"

        def stuck(sources: Any, **others: Any) -> Any:
            if others.get("no_repeat_ngram") and texts(12)[first] in sources:
                raise InputError("no way on")
            return translate(sources, **others)

        monkeypatch.setattr(reader, "translate", stuck)
        after = [one["sentences"][0]["retried"] for one in server.translate(texts(12))]
        assert after == [one and at != first for at, one in enumerate(retried)]


def test_many_signals_at_once_are_two_rounds_of_work_one_after_the_other() -> None:
    free, rounds, together = threading.Event(), list[int](), list[int]()

    def work() -> None:
        together.append(1)
        rounds.append(len(together))
        assert free.wait(20)
        together.pop()

    async def asked() -> None:
        begin = coalesce(work)
        for _ in range(9):
            begin()
        await asyncio.to_thread(wait_for, lambda: rounds)
        begin()
        free.set()
        await asyncio.to_thread(wait_for, lambda: len(rounds) == 2 and not together)
        begin()
        await asyncio.to_thread(wait_for, lambda: len(rounds) == 3 and not together)

    asyncio.run(asked())
    assert rounds == [1, 1, 1]


def test_a_key_that_was_taken_out_does_not_wait_for_the_models(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys"
    key = auth.create_key(file, "alice")
    made = create_context(parse_model_sources([str(run)]), ServerConfig(keys=file))
    known = list[str | None]()
    monkeypatch.setattr(made.models, "load", lambda: known.append(made.keys.find_owner(key)))
    reload(made)
    file.write_text(auth.FILE_HEADER, "utf-8")
    reload(made)
    assert known == ["alice", None]
