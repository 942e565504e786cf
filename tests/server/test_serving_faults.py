"""Workers die, clients go away or dawdle, models are replaced: everybody else is answered."""

import json
import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tongsa
from served import Running, Stall, drawn, serving, texts, wait_for
from tongsa.server.model_pool import LoadedModel

TRANSLATE = "/v1/translate"


def head(body: bytes, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return f"POST {TRANSLATE} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {size}\r\n\r\n".encode() + body


def asking(server: Running, text: str, **others: Any) -> socket.socket:
    """A client that has asked and does not listen."""
    client = server.socket()
    client.sendall(head(json.dumps({"text": text, **others}).encode()))
    return client


def test_whoever_goes_away_leaves_the_queue(run: Path) -> None:
    with (
        serving(run, wait_ms=0) as server,
        ThreadPoolExecutor(2) as clients,
        Stall(server.worker.model.reader) as stall,
    ):
        first = clients.submit(server.translate, "a")
        assert stall.begun.wait(20)
        gone, streaming = asking(server, "b c"), asking(server, "c d\ne f", stream=True)
        wait_for(lambda: server.worker.queued_count == 3)
        gone.close()
        streaming.close()
        inside = server.service.metrics.registry
        wait_for(lambda: inside.get_sample_value("tongsa_requests_in_progress") == 1)
        stays = clients.submit(server.translate, "g")
        wait_for(lambda: server.worker.queued_count == 4)
        stall.free.set()
        assert first.result()
        assert stays.result()
        assert stall.batches == [["a"], ["g"]], "somebody who was gone was translated for"


def test_a_full_queue_refuses_and_recovers(run: Path) -> None:
    with serving(run, queue=3, wait_ms=0) as server, ThreadPoolExecutor(8) as clients:
        with Stall(server.worker.model.reader) as stall:
            taken = [clients.submit(server.translate, "a")]
            assert stall.begun.wait(20)
            taken += [clients.submit(server.translate, text) for text in ("b", "c")]
            wait_for(lambda: server.worker.queued_count == 2)
            for body in ({"text": "d"}, {"text": "d", "stream": True}):
                refused = server.post(TRANSLATE, body)
                assert (refused.status_code, refused.json()["code"]) == (503, "busy")
                assert int(refused.headers["retry-after"]) >= 1
            stall.free.set()
            assert all(one.result() for one in taken)
        assert server.translate("d")


class OddError(Exception):
    """Nobody expects it."""


@pytest.mark.parametrize("error", [OddError("geheim"), SystemExit(3), MemoryError(), KeyboardInterrupt()])
def test_a_worker_that_fails_refuses_its_request_and_goes_on(
    run: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    with serving(run, wait_ms=50) as server, ThreadPoolExecutor(8) as clients:
        reader = server.worker.model.reader
        translate = reader.translate

        def failing(sources: Sequence[str], **others: Any) -> Any:
            if "g g g" in sources:
                raise error
            return translate(sources, **others)

        monkeypatch.setattr(reader, "translate", failing)
        asked = [clients.submit(server.post, TRANSLATE, {"text": text}) for text in ("a b", "g g g", "c d")]
        answers = [one.result() for one in asked]
        assert answers[1].status_code == 503
        assert answers[1].json() == {"error": "the model failed at this request; ask again", "code": "failed"}
        assert [answers[0].status_code, answers[2].status_code] == [200, 200], "the innocent were refused"
        assert server.translate("a b")
        streamed = server.post(TRANSLATE, {"text": "a b\ng g g\nc d", "stream": True})
        *_, last = [json.loads(line) for line in streamed.text.splitlines()]
        assert last["code"] == "failed"
        assert server.translate("c d")


def test_a_worker_whose_thread_dies_leaves_its_queue_to_another(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(run, wait_ms=0) as server, ThreadPoolExecutor(4) as clients:
        died = list[threading.Thread]()
        counted = server.service.metrics.record_batch

        def dying(*figures: Any) -> None:  # behind the search, where nobody catches it
            if not died:
                died.append(threading.current_thread())
                raise OddError("geheim")
            counted(*figures)

        monkeypatch.setattr(server.service.metrics, "batch", dying)
        with Stall(server.worker.model.reader) as stall:
            first = clients.submit(server.post, TRANSLATE, {"text": "a"})
            assert stall.begun.wait(20)
            rest = [clients.submit(server.post, TRANSLATE, {"text": "b", "beam": beam}) for beam in (1, 2)]
            wait_for(lambda: server.worker.queued_count == 2)
            stall.free.set()
            assert (first.result().status_code, first.result().json()["code"]) == (503, "failed")
            assert [one.result(20).status_code for one in rest] == [200, 200]
        wait_for(lambda: not died[0].is_alive())
        assert server.translate("a b")


def test_a_request_that_never_ends_is_not_waited_for(run: Path) -> None:
    with serving(run, patience=0.5) as server:
        with server.socket() as client:
            client.sendall(head(b'{"text": "a', 1000))
            answer = client.recv(65536)
        assert answer.startswith(b"HTTP/1.1 408")
        assert server.translate("a b")


def test_a_client_that_takes_nothing_is_let_go(run: Path) -> None:
    with serving(run, patience=0.5) as server:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
            request = b"GET /static/attention.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            for _ in range(1000):
                try:
                    client.settimeout(0.2)
                    client.sendall(request * 20)
                except OSError:
                    break
            begun = time.monotonic()
            inside = server.service.metrics.registry
            wait_for(lambda: inside.get_sample_value("tongsa_requests_in_progress") == 0, 30)
            assert time.monotonic() - begun < 30
        assert server.translate("a b")


def test_work_that_takes_too_long_is_given_up(run: Path) -> None:
    with serving(run, timeout=0.3, wait_ms=0) as server, Stall(server.worker.model.reader) as stall:
        answers = [server.post(TRANSLATE, {"text": text}) for text in ("a b", "c d")]
        assert [(one.status_code, one.json()["code"]) for one in answers] == [(503, "timeout")] * 2
        wait_for(lambda: all(job.future.cancelled() for job in server.worker._queue))
        streamed = server.post(TRANSLATE, {"text": "e f", "stream": True})
        assert json.loads(streamed.text)["code"] == "timeout"
        stall.free.set()


def test_models_are_replaced_without_losing_a_request(tmp_path: Path) -> None:
    run = drawn(tmp_path / "run")
    old = tongsa.load(run, engine="torch")
    with serving(run, window=2) as server, ThreadPoolExecutor(8) as clients:
        some = texts(40)
        going = [clients.submit(server.translate, text) for text in some]
        book = clients.submit(server.translate, "\n".join(some))
        drawn(run, seed=9)
        new = tongsa.load(run, engine="torch")
        server.service.models.load()
        after = server.translate(some)
        before, later = ([one.text for one in model.translate(some)] for model in (old, new))
        for one, either in zip(going, zip(before, later, strict=True), strict=True):
            assert one.result()[0]["text"] in either
        assert len(book.result()[0]["sentences"]) == len(some)
        assert [one["text"] for one in after] == later != before


def test_a_model_that_was_damaged_meanwhile_stays_as_it_was(tmp_path: Path) -> None:
    run = drawn(tmp_path / "run")
    with serving(run) as server:
        before = server.translate("a b c")
        weights = run / "model" / "weights.safetensors"
        weights.write_bytes(weights.read_bytes()[:-10])
        server.service.models.load()
        assert server.service.models.is_ready
        assert server.translate("a b c") == before


@pytest.mark.parametrize("journal", [b'{"step": 1, "loss": {}}\n', b"[1]\nnull\n\xff\n", b""])
def test_a_journal_that_was_damaged_keeps_no_model_from_answering(tmp_path: Path, journal: bytes) -> None:
    run = drawn(tmp_path / "run")
    (run / "journal.jsonl").write_bytes(journal)
    with serving(run) as server:
        assert server.get("/v1/models").json()["models"][0]["views"] == ["attention", "tree", "positions"]
        assert server.post("/v1/curves", {}).status_code == 422
        assert server.translate("a b c")


def test_a_worker_that_is_closed_answers_what_it_has_and_takes_no_more(run: Path) -> None:
    with serving(run, wait_ms=0) as server, ThreadPoolExecutor(4) as clients:
        worker = server.worker
        with Stall(worker.model.reader) as stall:
            going = [clients.submit(server.translate, "a")]
            assert stall.begun.wait(20)
            going.append(clients.submit(server.translate, "b"))
            wait_for(lambda: worker.queued_count == 1)
            worker.close()
            assert worker.submit([]) is False
            stall.free.set()
            assert all(one.result() for one in going)
        worker.drain()
    assert isinstance(worker.model, LoadedModel)
