"""Random requests: each gets a JSON response, never a 500, never no response."""

import json
import os
import string
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from live_server import LiveServer
from tongsa.server.app import ROUTES

POSTS = sorted(route.path for route in ROUTES if route.methods and "POST" in route.methods)
FIELDS = [
    "text",
    "model",
    "source",
    "target",
    "source_language",
    "target_language",
    "nbest",
    "beam",
    "alignments",
    "word_probabilities",
    "token_probabilities",
    "glossary",
    "prefix",
    "stream",
    "count",
    "q",
    "format",
    "api_key",
]
TEXTS = st.one_of(
    st.sampled_from(
        ["a b c", "a! b? C", "가 나.", "", " ", "en", "ko", "en-ko", "auto", "html", "text", "\ud800", "\0"]
    ),
    st.text(max_size=40),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 30), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from([*FIELDS, "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)
PLAUSIBLE = st.fixed_dictionaries(
    {"text": st.one_of(TEXTS, st.lists(TEXTS, max_size=3))},
    optional={
        "nbest": st.integers(0, 18),
        "beam": st.integers(0, 18),
        "alignments": st.booleans(),
        "word_probabilities": st.booleans(),
        "token_probabilities": st.booleans(),
        "stream": st.booleans(),
        "prefix": TEXTS,
        "glossary": st.lists(st.fixed_dictionaries({"source": TEXTS, "target": TEXTS}), max_size=3),
        "target_language": TEXTS,
        "source_language": TEXTS,
        "model": TEXTS,
        "count": st.integers(0, 25),
    },
)
LIBRE = st.fixed_dictionaries(
    {"q": st.one_of(TEXTS, st.lists(TEXTS, max_size=3)), "source": TEXTS, "target": TEXTS},
    optional={"format": TEXTS, "alternatives": st.integers(-1, 20), "api_key": TEXTS},
)
BODIES = st.one_of(
    st.binary(max_size=60),
    st.one_of(PLAUSIBLE, LIBRE, VALUES, st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6)).map(
        lambda value: json.dumps(value).encode()
    ),
)
CONTENT_TYPES = st.sampled_from(
    ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a", "x"]
)
PATH = "".join(sorted(set(string.printable) - set("\r\n")))
EXPECTED = {200, 400, 403, 404, 405, 413, 421, 422}


COUNT = int(os.environ.get("TONGSA_FUZZ", "100000"))
"""Requests of the slow test."""


def fuzz(server: LiveServer, count: int) -> int:
    """Send random requests; return how many were sent."""
    response_count = 0

    @settings(max_examples=count, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.sampled_from(POSTS), BODIES, CONTENT_TYPES)
    def send(path: str, body: bytes, content_type: str) -> None:
        nonlocal response_count
        response = server.send(path, body, headers={"Content-Type": content_type})
        response_count += 1
        assert response.status_code in EXPECTED, (path, body, response.text)
        if response.headers["content-type"] == "application/x-ndjson":
            *_, last = [json.loads(line) for line in response.text.splitlines()]
            assert last == {"done": True}
        else:
            content = json.loads(response.content)
            assert response.status_code == 200 or set(content) == {"error", "code"}

    send()
    return response_count


def test_two_hundred_random_requests_get_responses(server: LiveServer) -> None:
    assert fuzz(server, 200) >= 200


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_hundred_thousand_random_requests_get_responses(server: LiveServer) -> None:
    assert fuzz(server, COUNT) >= COUNT
    assert server.translate("a b c")


def test_random_request_lines_get_responses(server: LiveServer) -> None:
    @settings(max_examples=60, deadline=None)
    @given(st.text(PATH, max_size=30), st.sampled_from(["GET", "POST", "PUT", "X", ""]))
    def send(path: str, method: str) -> None:
        with server.socket() as client:
            client.sendall(f"{method} /{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            response = b""
            while chunk := client.recv(65536):
                response += chunk
        assert response.split(b" ")[1] in (b"200", b"400", b"404", b"405", b"422"), response

    send()
