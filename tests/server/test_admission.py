"""Admission: a full server lets requests wait in line, and refuses without reading them; connections stay in sync."""

import asyncio
import json
import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_server import WAIT_SECONDS, BlockedModel, live_server, wait_for
from tongsa.server.admission import CHECK_SECONDS, QUEUED_PATHS, REFUSALS_PER_SECOND, Admission
from tongsa.server.app import ROUTES
from tongsa.server.config import ServerConfig
from tongsa.server.metrics import ServerMetrics
from tongsa.server.middleware import MAX_DISCARDED_BYTES, PROBE_PATHS
from tongsa.server.model_pool import ModelPool
from tongsa.server.room_line import RoomLine

TRANSLATE = "/v1/translate"


def test_a_request_waits_in_line_until_the_queue_has_room(run: Path) -> None:
    with (
        live_server(run, max_queued_sentences=1, batch_wait_ms=0, admission_timeout=WAIT_SECONDS) as server,
        ThreadPoolExecutor(3) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        requests = [clients.submit(server.translate, "a")]
        blocked.wait()
        for count, text in enumerate(("b", "c"), start=1):
            requests.append(clients.submit(server.translate, text))
            wait_for(lambda count=count: server.metric("tongsa_waiting_requests") == count)  # type: ignore[misc]
        assert server.get("/v1/models").status_code == 200, "a route without a queue has to wait"
        assert server.queue.queued_count == 0
        blocked.release.set()
        assert all(request.result() for request in requests)
        assert blocked.batches == [["a"], ["b"], ["c"]], "the line is not first come, first served"
        assert server.metric("tongsa_waiting_requests") == 0


@pytest.mark.parametrize("admission_timeout", [0.0, 0.1])
def test_a_refused_request_is_not_read_and_the_connection_stays_in_sync(run: Path, admission_timeout: float) -> None:
    with (
        live_server(run, max_queued_sentences=1, batch_wait_ms=0, admission_timeout=admission_timeout) as server,
        ThreadPoolExecutor(1) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
        server.socket() as connection,
    ):
        accepted = clients.submit(server.translate, "a")
        blocked.wait()
        for body in (b"not JSON", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b""):
            head = f"POST {TRANSLATE} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            head, content = receive_response(connection)
            assert head.startswith("HTTP/1.1 503")
            assert "retry-after: 2" in head
            assert "content-security-policy" in head
            assert "connection: close" not in head
            assert json.loads(content)["code"] == "busy"
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert receive_response(connection)[0].startswith("HTTP/1.1 200")
        blocked.release.set()
        assert accepted.result()
        refused = server.metric("tongsa_requests_total", route=TRANSLATE, status="503")
        assert refused == 3


@pytest.mark.parametrize("header", [f"Content-Length: {MAX_DISCARDED_BYTES + 1}", "Transfer-Encoding: chunked"])
def test_a_refused_request_with_a_large_body_loses_its_connection(run: Path, header: str) -> None:
    with (
        live_server(run, max_queued_sentences=1, batch_wait_ms=0, admission_timeout=0) as server,
        ThreadPoolExecutor(1) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
        server.socket() as connection,
    ):
        accepted = clients.submit(server.translate, "a")
        blocked.wait()
        connection.sendall(f"POST {TRANSLATE} HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}\r\n\r\n".encode())
        assert "connection: close" in receive_response(connection)[0]
        assert connection.recv(1) == b""
        blocked.release.set()
        assert accepted.result()


def test_a_client_that_leaves_the_line_takes_no_room(run: Path) -> None:
    with (
        live_server(run, max_queued_sentences=1, batch_wait_ms=0, admission_timeout=WAIT_SECONDS) as server,
        ThreadPoolExecutor(2) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        first = clients.submit(server.translate, "a")
        blocked.wait()
        with server.socket() as leaving:
            body = b'{"text": "b"}'
            head = f"POST {TRANSLATE} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
            leaving.sendall(head.encode() + body)
            wait_for(lambda: server.metric("tongsa_waiting_requests") == 1)
        wait_for(lambda: server.connection_count == 1)
        last = clients.submit(server.translate, "c")
        wait_for(lambda: server.metric("tongsa_waiting_requests") == 2)
        blocked.release.set()
        assert first.result()
        assert last.result()
        assert blocked.batches == [["a"], ["c"]]


def test_an_admitted_request_is_not_refused_when_its_sentences_are_counted(run: Path) -> None:
    with (
        live_server(run, max_queued_sentences=3, batch_wait_ms=0, admission_timeout=WAIT_SECONDS) as server,
        ThreadPoolExecutor(5) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        requests = [clients.submit(server.translate, "a")]
        blocked.wait()
        requests.append(clients.submit(server.translate, "b\nc\nd"))
        wait_for(lambda: len(server.queue._room_line) == 1)
        streamed = clients.submit(server.post, TRANSLATE, {"text": "e\nf", "stream": True})
        wait_for(lambda: server.metric("tongsa_waiting_requests") == 1)
        requests.append(clients.submit(server.translate, "g"))
        wait_for(lambda: server.metric("tongsa_waiting_requests") == 2)
        assert server.queue.queued_count == 0, "one sentence would fit, but a request before it waits for more room"
        blocked.release.set()
        assert all(request.result() for request in requests)
        assert '"done":true' in streamed.result().text
        assert blocked.batches[:2] == [["a"], ["b", "c", "d"]]


def test_a_client_that_leaves_while_it_waits_for_room_makes_room_for_the_next(run: Path) -> None:
    with (
        live_server(run, max_queued_sentences=3, batch_wait_ms=0, admission_timeout=WAIT_SECONDS) as server,
        ThreadPoolExecutor(2) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        first = clients.submit(server.translate, "a")
        blocked.wait()
        with server.socket() as leaving:
            body = b'{"text": "b\\nc\\nd"}'
            head = f"POST {TRANSLATE} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
            leaving.sendall(head.encode() + body)
            wait_for(lambda: len(server.queue._room_line) == 1)
            last = clients.submit(server.translate, "e")
            wait_for(lambda: server.metric("tongsa_waiting_requests") == 1)
        wait_for(lambda: server.queue.queued_count == 1)
        blocked.release.set()
        assert first.result()
        assert last.result()
        assert blocked.batches == [["a"], ["e"]]


def test_requests_that_wait_for_room_go_on_to_the_new_queue_at_a_reload(run: Path) -> None:
    with (
        live_server(run, max_queued_sentences=3, batch_wait_ms=0) as server,
        ThreadPoolExecutor(1) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        models, old = server.context.models, server.queue
        first = clients.submit(server.translate, "a")
        blocked.wait()

        async def reload_meanwhile() -> None:
            waiting = [asyncio.ensure_future(models.wait_for_room(old.name, 3)) for _ in range(2)]
            await asyncio.sleep(0)
            assert len(old._room_line) == 2
            await asyncio.to_thread(models.load)
            await asyncio.wait_for(asyncio.gather(*waiting), WAIT_SECONDS)

        asyncio.run(reload_meanwhile())
        assert server.queue is not old
        blocked.release.set()
        assert first.result()


@given(st.lists(st.tuples(st.sampled_from(["come", "finish", "leave", "queue"]), st.integers(1, 9)), max_size=40))
def test_room_is_granted_in_order_and_only_as_much_as_there_is(steps: list[tuple[str, int]]) -> None:
    async def run_steps() -> None:
        line, unfinished, waiting, granted = RoomLine(10), 0, list[Any](), list[Any]()
        for step, number in steps:
            if step == "come":
                if line.has_room(number, unfinished):
                    unfinished += number
                else:
                    waiting.append(line.append(number))
            elif step == "finish":
                unfinished = max(0, unfinished - number)
            elif step == "leave" and waiting:
                line.leave(waiting.pop(number % len(waiting)))
            elif step == "queue" and granted:
                unfinished += granted[0].sentences
                line.leave(granted.pop(0))
            futures = line.grant(unfinished)
            assert futures == [request.has_room for request in waiting[: len(futures)]], "first come, first served"
            granted, waiting = granted + waiting[: len(futures)], waiting[len(futures) :]
            occupied = unfinished + sum(request.sentences for request in granted)
            assert occupied <= 10
            assert not waiting or occupied + waiting[0].sentences > 10, "there is room, but nobody gets it"

    asyncio.run(run_steps())


def test_refusals_are_paced_and_logged_as_a_number(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tongsa.server")
    config, metrics = ServerConfig(max_concurrent_requests=1, admission_timeout=1e-9), ServerMetrics()
    admission = Admission(config, ModelPool([], config, metrics), metrics)
    per_check = round(REFUSALS_PER_SECOND * CHECK_SECONDS)

    async def refuse_many() -> list[int]:
        assert await admission.admit(TRANSLATE)
        waiting = [asyncio.ensure_future(admission.admit(TRANSLATE)) for _ in range(2 * per_check + 1)]
        await asyncio.sleep(0)
        refused = []
        for _ in range(3):
            admission._check_line()
            await asyncio.sleep(0)
            refused.append(sum(request.done() for request in waiting))
        assert not any(await asyncio.gather(*waiting))
        return refused

    assert asyncio.run(refuse_many()) == [per_check, 2 * per_check, 2 * per_check + 1]
    counts = [record.count for record in caplog.records if record.message == "requests refused"]  # type: ignore[attr-defined]
    assert counts == [1], "a line for each refusal"
    assert metrics.registry.get_sample_value("tongsa_waiting_requests") == 0


def test_a_request_leaves_the_line_at_its_deadline_though_others_may_wait_longer() -> None:
    config, metrics = ServerConfig(max_concurrent_requests=1, admission_timeout=WAIT_SECONDS), ServerMetrics()
    admission = Admission(config, ModelPool([], config, metrics), metrics)

    async def wait_in_line() -> None:
        assert await admission.admit(TRANSLATE)
        patient = asyncio.ensure_future(admission.admit(TRANSLATE))
        hurried = asyncio.ensure_future(admission.admit(TRANSLATE, deadline=0.0))
        await asyncio.sleep(0)
        admission._check_line()
        assert not await asyncio.wait_for(hurried, WAIT_SECONDS)
        assert not patient.done()
        admission.release(TRANSLATE)
        assert await patient

    asyncio.run(wait_in_line())


def test_a_request_that_is_cancelled_in_line_gives_its_place_back() -> None:
    config, metrics = ServerConfig(max_concurrent_requests=1, admission_timeout=WAIT_SECONDS), ServerMetrics()
    admission = Admission(config, ModelPool([], config, metrics), metrics)

    async def cancel_when_admitted() -> bool:
        assert await admission.admit(TRANSLATE)
        cancelled = asyncio.ensure_future(admission.admit(TRANSLATE))
        following = asyncio.ensure_future(admission.admit(TRANSLATE))
        await asyncio.sleep(0)
        admission.release(TRANSLATE)  # admits the first of both
        cancelled.cancel()
        return await following

    assert asyncio.run(cancel_when_admitted())


def test_only_routes_of_models_wait_in_line() -> None:
    posts = {route.path for route in ROUTES if "POST" in (route.methods or ())}
    assert posts >= QUEUED_PATHS
    assert posts - QUEUED_PATHS == {"/v1/positions", "/v1/curves", "/v1/corrections", "/detect"}
    assert not QUEUED_PATHS & PROBE_PATHS


def receive_response(connection: socket.socket) -> tuple[str, bytes]:
    """Return the head in lower case, except for the first line, and the body."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    status, _, headers = head.decode("latin-1").partition("\r\n")
    length = int(headers.lower().partition("content-length: ")[2].partition("\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)
    return f"{status}\r\n{headers.lower()}", body
