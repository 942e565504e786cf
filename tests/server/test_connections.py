"""Connections: silent and slow clients lose theirs, and the others are served meanwhile."""

import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from live_server import WAIT_SECONDS, BlockedModel, LiveServer, live_server, wait_for

HEAD = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def trickle(client: socket.socket, data: bytes) -> None:
    """Send one byte at a time until the server closes the connection."""
    pause, position = threading.Event(), 0
    try:
        while True:
            client.sendall(data[position : position + 1] or b"a")
            position += 1
            pause.wait(0.05)
    except OSError:
        return


def be_silent(_: socket.socket) -> None:
    """Send nothing."""


def trickle_a_head(client: socket.socket) -> None:
    trickle(client, HEAD + b"X: ")


def trickle_a_second_head(client: socket.socket) -> None:
    client.sendall(HEAD + b"\r\n")
    assert client.recv(65536).startswith(b"HTTP/1.1 200")
    trickle(client, HEAD + b"X: ")


def trickle_an_unread_body(client: socket.socket) -> None:
    """Get an error for a wrong path, and go on sending the body that nobody reads."""
    client.sendall(b"POST /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60000\r\n\r\n")
    assert client.recv(65536).startswith(b"HTTP/1.1 404")
    trickle(client, b"")


@pytest.mark.parametrize("behave", [be_silent, trickle_a_head, trickle_a_second_head, trickle_an_unread_body])
def test_a_client_that_sends_no_head_loses_its_connection(run: Path, behave: Callable[[socket.socket], None]) -> None:
    with live_server(run, client_timeout=0.5) as server, server.socket() as client:
        behave(client)
        assert is_closed(client)
        wait_for(lambda: not server.connection_count)
        assert server.translate("a b")


def is_closed(client: socket.socket) -> bool:
    """Wait until the server has closed the connection."""
    try:
        while client.recv(65536):
            pass
    except ConnectionError:
        pass
    return True


def test_a_request_may_take_longer_than_its_head(run: Path) -> None:
    with (
        live_server(run, client_timeout=0.3, batch_wait_ms=0) as server,
        ThreadPoolExecutor(1) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        request = clients.submit(server.translate, "a b")
        blocked.wait()
        assert_silent_connections_end(server)
        blocked.release.set()
        assert request.result(WAIT_SECONDS)


def assert_silent_connections_end(server: LiveServer) -> None:
    """Open a connection after the request; when it has timed out, so would the older one."""
    with server.socket() as silent:
        assert is_closed(silent)
