"""Faults: failing models, dead threads, disconnected or slow clients, reloads. Other clients get their results."""

import json
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tongsa
from live_server import BlockedModel, LiveServer, live_server, random_model, sample_texts, wait_for
from tongsa.server import documents, limited_documents
from tongsa.server.model_pool import LoadedModel
from tongsa.server.queue import MODEL_FAILED

TRANSLATE = "/v1/translate"


def raw_request(body: bytes, content_length: int | None = None) -> bytes:
    length = len(body) if content_length is None else content_length
    return f"POST {TRANSLATE} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n".encode() + body


def send_without_reading(server: LiveServer, text: str, **fields: Any) -> socket.socket:
    client = server.socket()
    client.sendall(raw_request(json.dumps({"text": text, **fields}).encode()))
    return client


def test_a_disconnected_client_leaves_the_queue(run: Path) -> None:
    with (
        live_server(run, batch_wait_ms=0) as server,
        ThreadPoolExecutor(2) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        first = clients.submit(server.translate, "a")
        blocked.wait()
        disconnecting = [
            send_without_reading(server, "b c"),
            send_without_reading(server, "c d\ne f", stream=True),
        ]
        wait_for(lambda: server.queue.queued_count == 3)
        for client in disconnecting:
            client.close()
        wait_for(lambda: server.metric("tongsa_requests_in_progress") == 1)
        staying = clients.submit(server.translate, "g")
        wait_for(lambda: server.queue.queued_count == 4)
        blocked.release.set()
        assert first.result()
        assert staying.result()
        assert blocked.batches == [["a"], ["g"]], "a sentence of a disconnected client was translated"


def test_a_request_that_is_abandoned_while_it_is_split_stops_costing(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, created, release = documents._create_sentence, list[str](), threading.Event()

    def slow_create(model: Any, request: Any, glossary: Any, text: str, *arguments: Any, **options: Any) -> Any:
        created.append(text)
        assert release.wait(60)
        return create(model, request, glossary, text, *arguments, **options)

    monkeypatch.setattr(documents, "_create_sentence", slow_create)
    with live_server(run) as server:
        client = send_without_reading(server, "a b\n" * 5000)
        wait_for(lambda: created)
        client.close()
        wait_for(lambda: server.metric("tongsa_requests_in_progress") == 0)
        release.set()
        assert server.translate("g")
    assert created == ["a b", "g"], "sentences of a disconnected client were taken apart"


def send_document_without_reading(server: LiveServer, content: bytes) -> socket.socket:
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' + content + b"\r\n--x--\r\n"
    head = "POST /v1/documents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    client = server.socket()
    client.sendall(f"{head}Content-Length: {len(form)}\r\n\r\n".encode() + form)
    return client


@pytest.mark.parametrize("stage", ["parse_document", "_create_sentence"])
def test_a_document_that_is_abandoned_stops_costing_and_keeps_its_slot_while_it_is_parsed(
    run: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    module: Any = documents if stage == "_create_sentence" else limited_documents
    work, calls, release = getattr(module, stage), list[str](), threading.Event()

    def slow_work(*arguments: Any, **options: Any) -> Any:
        calls.append(stage)
        assert release.wait(60)
        return work(*arguments, **options)

    monkeypatch.setattr(module, stage, slow_work)
    with live_server(run, max_concurrent_documents=1) as server:
        client = send_document_without_reading(server, b"a b\nc d\n" * 1000)
        wait_for(lambda: calls)
        client.close()
        if stage == "parse_document":
            busy = server.client.post(f"{server.url}/v1/documents", files={"file": ("a.txt", b"1")})
            assert (busy.status_code, server.context.document_slots.free) == (503, 0), "its memory is still taken"
        else:
            wait_for(lambda: server.metric("tongsa_requests_in_progress") == 0)
        release.set()
        wait_for(lambda: server.metric("tongsa_requests_in_progress") == 0)
        assert server.context.document_slots.free == 1
        assert server.translate("g")
        assert [server.metric("tongsa_source_tokens_total", model="en-ko")] == server.queue.model.count_tokens(["g"])
    assert calls == [stage] * (1 if stage == "parse_document" else 2), "a sentence of the document, and g"


def test_a_full_queue_rejects_requests_and_recovers(run: Path) -> None:
    with live_server(run, max_queued_sentences=3, batch_wait_ms=0) as server, ThreadPoolExecutor(8) as clients:
        with BlockedModel(server.queue.model.text_model) as blocked:
            accepted = [clients.submit(server.translate, "a")]
            blocked.wait()
            accepted += [clients.submit(server.translate, text) for text in ("b", "c")]
            wait_for(lambda: server.queue.queued_count == 2)
            for body in ({"text": "d"}, {"text": "d", "stream": True}):
                rejected = server.post(TRANSLATE, body)
                assert (rejected.status_code, rejected.json()["code"]) == (503, "busy")
                assert int(rejected.headers["retry-after"]) >= 1
            blocked.release.set()
            assert all(request.result() for request in accepted)
        assert server.translate("d")


def test_a_stream_without_room_is_refused_before_its_first_line(run: Path, tmp_path: Path) -> None:
    """Each of two models may have half of the waiting requests."""
    with (
        live_server(
            run, random_model(tmp_path / "other"), max_queued_sentences=2, max_concurrent_requests=4, batch_wait_ms=0
        ) as server,
        ThreadPoolExecutor(3) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        accepted = [clients.submit(server.translate, "a")]
        blocked.wait()
        for count, text in enumerate(("b\nc", "d\ne"), start=1):
            accepted.append(clients.submit(server.translate, text))
            wait_for(lambda count=count: len(server.queue._room_line) == count)  # type: ignore[misc]
        rejected = server.post(TRANSLATE, {"text": "f", "stream": True})
        assert (rejected.status_code, rejected.json()["code"]) == (503, "busy")
        assert int(rejected.headers["retry-after"]) >= 1
        blocked.release.set()
        assert all(request.result() for request in accepted)
        assert '"done":true' in server.post(TRANSLATE, {"text": "f", "stream": True}).text


class UnexpectedError(Exception):
    pass


@pytest.mark.parametrize("error", [UnexpectedError("secret"), SystemExit(3), MemoryError(), KeyboardInterrupt()])
def test_a_model_failure_affects_only_its_sentence(
    run: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    with live_server(run, batch_wait_ms=50) as server, ThreadPoolExecutor(8) as clients:
        translator = server.queue.model.text_model
        search = translator.search

        def failing_search(texts: Sequence[str], request: Any, source_tokens: Any) -> Any:
            if "g g g" in texts:
                raise error
            return search(texts, request, source_tokens)

        monkeypatch.setattr(translator, "search", failing_search)
        requests = [clients.submit(server.post, TRANSLATE, {"text": text}) for text in ("a b", "g g g", "c d")]
        responses = [request.result() for request in requests]
        assert [response.status_code for response in responses] == [200, 503, 200]
        assert responses[1].json() == {"error": MODEL_FAILED, "code": "failed"}
        assert server.translate("a b")
        streamed = server.post(TRANSLATE, {"text": "a b\ng g g\nc d", "stream": True})
        *_, last = [json.loads(line) for line in streamed.text.splitlines()]
        assert last["code"] == "failed"
        assert server.translate("c d")


def test_a_dead_model_thread_is_replaced_and_the_queue_goes_on(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with live_server(run, batch_wait_ms=0) as server, ThreadPoolExecutor(4) as clients:
        dead = list[threading.Thread]()
        finisher = server.queue._finisher
        submit = finisher.submit

        def die_once(*arguments: Any) -> Any:  # after the search, outside its exception handler
            if not dead:
                dead.append(threading.current_thread())
                raise UnexpectedError("secret")
            return submit(*arguments)

        monkeypatch.setattr(finisher, "submit", die_once)
        with BlockedModel(server.queue.model.text_model) as blocked:
            first = clients.submit(server.post, TRANSLATE, {"text": "a"})
            blocked.wait()
            rest = [clients.submit(server.post, TRANSLATE, {"text": "b", "beam": beam}) for beam in (1, 2)]
            wait_for(lambda: server.queue.queued_count == 2)
            blocked.release.set()
            assert (first.result().status_code, first.result().json()["code"]) == (503, "failed")
            assert [request.result().status_code for request in rest] == [200, 200]
        wait_for(lambda: not dead[0].is_alive())
        assert server.translate("a b")


def test_an_incomplete_request_gets_408(run: Path) -> None:
    with live_server(run, client_timeout=0.5) as server:
        with server.socket() as client:
            client.sendall(raw_request(b'{"text": "a', 1000))
            response = client.recv(65536)
        assert response.startswith(b"HTTP/1.1 408")
        assert server.translate("a b")


def test_a_client_that_never_reads_loses_its_connection(run: Path) -> None:
    with live_server(run, client_timeout=0.5) as server:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
            client.settimeout(0.2)
            request = b"GET /static/attention.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            try:
                for _ in range(1000):
                    client.sendall(request * 20)
            except OSError:
                pass
            wait_for(lambda: server.metric("tongsa_requests_in_progress") == 0)
            wait_for(lambda: not server.connection_count)
        assert server.translate("a b")


def test_requests_that_take_too_long_get_503(run: Path) -> None:
    with (
        live_server(run, timeout=0.3, batch_wait_ms=0) as server,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        responses = [server.post(TRANSLATE, {"text": text}) for text in ("a b", "c d")]
        assert [(response.status_code, response.json()["code"]) for response in responses] == [(503, "timeout")] * 2
        wait_for(lambda: all(sentence.state == "cancelled" for sentence in server.queue._queue))
        streamed = server.post(TRANSLATE, {"text": "e f", "stream": True})
        assert json.loads(streamed.text)["code"] == "timeout"
        blocked.release.set()


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_chooses_a_shorter_deadline_for_its_request(run: Path, stream: bool) -> None:
    with (
        live_server(run, batch_wait_ms=0) as server,
        ThreadPoolExecutor(1) as clients,
        BlockedModel(server.queue.model.text_model, batches_before=1) as blocked,
    ):
        body = {"text": "a b\nc d", "stream": stream, "beam": 1}
        assert server.post(TRANSLATE, body, headers={"X-Request-Timeout": "1e9"}).status_code == 200
        patient = clients.submit(server.translate, "e f")
        blocked.wait()
        response = server.post(TRANSLATE, body, headers={"X-Request-Timeout": "0.3"})
        assert (response.status_code, response.json()["code"]) == (503, "timeout")
        assert "longer than 0.3 seconds" in response.json()["error"]
        wait_for(lambda: all(sentence.state == "cancelled" for sentence in server.queue._queue))
        blocked.release.set()
        assert patient.result()
        assert blocked.batches[1:] == [["e f"]], "a sentence that nobody waits for was translated"


@pytest.mark.parametrize("value", ["soon", "", "0", "-1", "nan", "1" * 5000])
def test_a_deadline_that_is_no_number_of_seconds_is_refused_with_a_sentence(server: LiveServer, value: str) -> None:
    response = server.post(TRANSLATE, {"text": "a"}, headers={"X-Request-Timeout": value})
    if value.isdigit() and int(value[:20]):
        assert response.status_code == 200, "longer than the server's own limit"
    else:
        assert (response.status_code, response.json()["code"]) == (400, "bad_request")
        assert "X-Request-Timeout" in response.json()["error"]


def test_a_reload_replaces_models_without_losing_requests(tmp_path: Path) -> None:
    run = random_model(tmp_path / "run")
    old = tongsa.load(run, engine="torch", task="seq2seq")
    texts = sample_texts(40)
    with live_server(run, max_inflight_per_request=2) as server, ThreadPoolExecutor(8) as clients:
        requests = [clients.submit(server.translate, text) for text in texts]
        book = clients.submit(server.translate, "\n".join(texts))
        random_model(run, seed=9)
        new = tongsa.load(run, engine="torch", task="seq2seq")
        server.context.models.load()
        after = [translated["text"] for translated in server.translate(texts)]
        old_results, new_results = ([best.text for best in model.translate(texts)] for model in (old, new))
        for request, expected in zip(requests, zip(old_results, new_results, strict=True), strict=True):
            assert request.result()[0]["text"] in expected
        assert len(book.result()[0]["sentences"]) == len(texts)
        assert after == new_results != old_results


def test_a_damaged_model_is_not_reloaded(tmp_path: Path) -> None:
    run = random_model(tmp_path / "run")
    with live_server(run) as server:
        before = server.translate("a b c")
        weights = run / "model" / "weights.safetensors"
        weights.write_bytes(weights.read_bytes()[:-10])
        server.context.models.load()
        assert server.context.models.is_ready
        assert server.translate("a b c") == before


@pytest.mark.parametrize("journal", [b'{"step": 1, "loss": {}}\n', b"[1]\nnull\n\xff\n", b""])
def test_a_model_with_a_damaged_journal_is_served(tmp_path: Path, journal: bytes) -> None:
    run = random_model(tmp_path / "run")
    (run / "journal.jsonl").write_bytes(journal)
    with live_server(run) as server:
        assert server.get("/v1/models").json()["models"][0]["views"] == ["attention", "tree", "trace", "positions"]
        assert server.post("/v1/curves", {}).status_code == 422
        assert server.translate("a b c")


def test_a_closed_queue_finishes_what_it_has_and_accepts_no_more(run: Path) -> None:
    with live_server(run, batch_wait_ms=0) as server, ThreadPoolExecutor(4) as clients:
        queue = server.queue
        with BlockedModel(queue.model.text_model) as blocked:
            requests = [clients.submit(server.translate, "a")]
            blocked.wait()
            requests.append(clients.submit(server.translate, "b"))
            wait_for(lambda: queue.queued_count == 1)
            queue.close()
            assert queue.submit([]) is False
            blocked.release.set()
            assert all(request.result() for request in requests)
        queue.drain()
    assert isinstance(queue.model, LoadedModel)
