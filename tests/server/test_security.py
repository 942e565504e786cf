"""Limits, keys, origins, logs: clients get no more than the limits allow and learn nothing about each other."""

import difflib
import gzip
import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from live_server import LiveServer, live_server, wait_for
from tongsa.errors import InputError
from tongsa.server import auth
from tongsa.server.app import ROUTES
from tongsa.server.auth import RateLimiter, client_network
from tongsa.server.config import RequestLimits, ServerConfig
from tongsa.server.errors import APIError
from tongsa.server.logs import JSONLogFormatter

TRANSLATE = "/v1/translate"
TERM = {"source": "a", "target": "b"}
ERRORS: list[tuple[str, dict[str, Any], int, str]] = [
    (TRANSLATE, {"text": "a" * 20_001}, 413, "text: 20,001 characters, but at most 20,000"),
    (TRANSLATE, {"text": ["a"] * 201}, 413, "text: 201 entries, but at most 200"),
    (TRANSLATE, {"text": []}, 422, "text: empty list. Send at least one"),
    (TRANSLATE, {"text": "a", "beam": 17}, 422, "beam: 17 is out of range. Send a whole number from 1 to 16."),
    (TRANSLATE, {"text": "a", "beam": 0}, 422, "from 1 to 16"),
    (TRANSLATE, {"text": "a", "nbest": 17}, 422, "from 1 to 16"),
    (TRANSLATE, {"text": "a", "nbest": -1}, 422, "from 1 to 16"),
    (TRANSLATE, {"text": "a", "nbest": 3, "beam": 2}, 422, "larger beam"),
    (TRANSLATE, {"text": "a" * 5001, "nbest": 4, "token_probabilities": True}, 413, "20,004 characters"),
    (TRANSLATE, {"text": "a", "nbest": 10**30}, 422, "from 1 to 16"),
    (TRANSLATE, {"text": "a", "nbest": True}, 422, "nbest: true is not a whole number"),
    (TRANSLATE, {"text": "a", "beam": 1.5}, 422, "beam: 1.5 is not a whole number"),
    (TRANSLATE, {"text": "a", "stream": "no"}, 422, 'stream: "no" is not true or false'),
    (TRANSLATE, {"text": 5}, 422, "text: 5 is not a list"),
    (TRANSLATE, {"text": ["a", 5]}, 422, "text[1]: 5 is not text"),
    (TRANSLATE, {"txt": "a"}, 422, "txt: unknown field; did you mean 'text'?"),
    (TRANSLATE, {}, 422, "text: this field is missing"),
    (TRANSLATE, {"text": "a", "glossary": [TERM] * 101}, 413, "at most 100"),
    (TRANSLATE, {"text": "a", "glossary": [TERM | {"target": "b" * 201}]}, 413, "glossary[0].target: 201 characters"),
    (TRANSLATE, {"text": "a", "glossary": [{}] * 9000}, 413, "9,000 entries"),
    (TRANSLATE, {"text": "a", "glossary": [TERM, TERM | {"source": " "}]}, 422, "glossary[1].source: empty"),
    (TRANSLATE, {"text": "a", "glossary": [{"source": "a"}]}, 422, "glossary[0].target: this field is missing"),
    (TRANSLATE, {"text": "a", "glossary": [TERM | {"tarjet": "b"}]}, 422, "did you mean 'target'?"),
    (TRANSLATE, {"text": "a", "glossary": ["a"]}, 422, 'glossary[0]: "a" is not an object'),
    (TRANSLATE, {"text": "a! B", "prefix": "가"}, 422, "one sentence"),
    (TRANSLATE, {"text": "a", "prefix": "가 " * 100}, 422, "Shorten it"),
    (TRANSLATE, {"text": "a", "prefix": "가 " * 300}, 413, "prefix: 600 characters"),
    (TRANSLATE, {"text": "a", "model": "nobody"}, 404, "en-ko"),
    ("/v1/alternatives", {"text": "a", "count": 21}, 422, "from 1 to 20"),
    ("/v1/alternatives", {"text": "a", "prefix": "가 " * 100}, 422, "Shorten it"),
    ("/v1/score", {"source": "a", "target": " "}, 422, "target: empty text"),
    ("/v1/score", {"source": "a", "target": "가 나 다 라 " * 20}, 422, "160 tokens; the model"),
    ("/v1/attention", {"text": "a " * 300}, 413, "at most 500"),
    ("/v1/attention", {"text": "\n"}, 422, "text: empty text"),
    ("/v1/attention", {"text": "\n" * 501}, 413, "501 characters"),
    ("/v1/tree", {"text": "a", "beam": 1000}, 422, "from 1 to 16"),
    ("/v1/trace", {"text": "a", "edits": [{"type": "nothing"}]}, 422, "edits[0].type"),
    ("/v1/trace", {"text": "a", "edits": [{"type": "head_off", "head": 0}]}, 422, "edits[0].head"),
    ("/v1/trace", {"text": "a", "edits": [{"type": "force", "token": "가 나 다"}]}, 422, "not one token"),
    ("/v1/trace", {"text": "a", "contrast": {"step": 999, "a": "가", "b": "나"}}, 422, "steps"),
    ("/v1/trace", {"text": "a", "layers": [9]}, 422, "layers"),
    ("/v1/classify", {"text": "a"}, 404, "classification"),
    ("/translate", {"q": "a", "source": "en", "target": "ko", "alternatives": 16}, 422, "from 0 to 15"),
    ("/translate", {"q": "a", "source": "en", "target": "ko", "format": "xml"}, 422, "'text' or 'html'"),
    ("/translate", {"q": "a", "source": "en", "target": "fr"}, 400, "en→ko"),
    ("/translate", {"q": "a", "source": "en"}, 422, "target: this field is missing"),
]


@pytest.mark.parametrize(("path", "body", "status", "part"), ERRORS)
def test_a_bad_request_gets_a_sentence_with_the_remedy(
    server: LiveServer, path: str, body: dict[str, Any], status: int, part: str
) -> None:
    response = server.post(path, body)
    assert response.status_code == status, response.text
    error = response.json()
    assert set(error) == {"error", "code"}
    assert part in error["error"]
    assert len(error["error"]) < 500


@pytest.mark.parametrize("body", [{"text" * 90_000: "a"}, {"text": "a", "model": "en-ko" * 70_000}])
def test_a_very_long_name_is_not_compared_with_the_known_ones(server: LiveServer, body: dict[str, Any]) -> None:
    """The comparison takes time in proportion to the product of the lengths."""
    compared = list[int]()

    class CountingMatcher(difflib.SequenceMatcher[str]):
        def set_seq2(self, b: Any) -> None:
            compared.append(len(b))
            super().set_seq2(b)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(difflib, "SequenceMatcher", CountingMatcher)
        assert server.post(TRANSLATE, body).status_code in (404, 422)
    assert 0 < max(compared) <= 100


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff\xfe", b'{"text": NaN}', b"[" * 30_000, b'{"text": 1e999}', b"9" * 5000]
)
def test_a_body_that_is_no_json_object_is_rejected(server: LiveServer, body: bytes) -> None:
    response = server.send(TRANSLATE, body)
    assert response.status_code in (400, 422)
    assert set(response.json()) == {"error", "code"}


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b'{"text": [' + b"[]," * 130_000 + b"[]]}", "lists"),
        (b'{"text": "a", "x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "lists"),
        (b"{" + b'"k":1,' * 60_000 + b'"text":"a"}', "fields"),
        (b"{" + b",".join(b'"k%d":1' % i for i in range(1000)) + b"}", "1,000 fields"),
    ],
)
def test_a_body_of_many_values_is_refused_before_it_is_validated(server: LiveServer, body: bytes, part: str) -> None:
    response = server.send(TRANSLATE, body)
    assert (response.status_code, response.json()["code"]) == (413, "too_long")
    assert part in response.json()["error"]


def test_a_text_of_brackets_and_quotes_is_accepted(server: LiveServer) -> None:
    limits = server.context.config.limits
    response = server.post(TRANSLATE, {"text": "[{" * (limits.characters // 2 + 1)})
    assert "characters" in response.json()["error"], "the text is too long, but its brackets are no lists"


def test_a_body_is_not_read_beyond_its_limit(server: LiveServer) -> None:
    limit = server.context.config.limits.body_bytes
    assert server.send(TRANSLATE, b" " * (limit + 1)).status_code == 413

    def chunks_without_length() -> Any:
        for _ in range(50):
            yield b" " * 10_000

    response = server.client.post(server.url + TRANSLATE, content=chunks_without_length())
    assert response.status_code == 413
    assert response.json()["code"] == "too_long"


def test_a_lone_surrogate_becomes_the_replacement_character(server: LiveServer) -> None:
    response = server.send(TRANSLATE, b'{"text": "a \\ud800 b"}')
    assert response.status_code == 200
    assert response.json()["translations"][0]["sentences"][0]["source"] == "a \ufffd b"


def test_limits_are_published_and_validated(server: LiveServer) -> None:
    assert server.get("/v1/models").json()["limits"]["characters"] == RequestLimits().characters
    with pytest.raises(ValueError, match="at least 1"):
        RequestLimits(beam=0)
    for wrong in ({"max_queued_sentences": 0}, {"max_concurrent_requests": 0}, {"port": 70_000}, {"rate": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ServerConfig(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout"):
        ServerConfig(timeout=0)


def test_requests_need_a_key_and_only_hashes_are_stored(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    key = auth.create_key(file, "alice")
    assert key not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    with live_server(run, keys=file) as server:
        assert server.post(TRANSLATE, {"text": "a"}).status_code == 401
        assert server.get("/metrics").status_code == 401
        assert server.get("/v1/models").status_code == server.get("/healthz").status_code == 200
        for headers in ({"Authorization": f"Bearer {key}"}, {"X-API-Key": key}):
            assert server.post(TRANSLATE, {"text": "a"}, headers=headers).status_code == 200
        for wrong in (key[:-1], key + "a", "", "tongsa_", key.upper()):
            response = server.post(TRANSLATE, {"text": "a"}, headers={"X-API-Key": wrong})
            assert response.status_code in (401, 403)
        request = {"q": "a", "source": "en", "target": "ko"}
        assert server.post("/translate", request).status_code == 401
        assert server.post("/translate", request | {"api_key": "no"}).status_code == 403
        assert server.post("/translate", request | {"api_key": key}).status_code == 200


def test_key_names_are_unique_and_damaged_files_are_named(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    first, second = auth.create_key(file, "a"), auth.create_key(file, "b")
    keys = auth.APIKeys(file)
    assert [keys.find_owner(key) for key in (first, second, first + second)] == ["a", "b", None]
    with pytest.raises(InputError, match="has a key already"):
        auth.create_key(file, "a")
    with pytest.raises(InputError, match="without spaces"):
        auth.create_key(file, "a b")
    file.write_text(file.read_text() + "broken\n")
    with pytest.raises(InputError, match="keys:4: not name"):
        auth.APIKeys(file)
    with pytest.raises(InputError, match="--new-key"):
        auth.APIKeys(tmp_path / "nowhere")


def test_the_rate_limit_gives_429_with_retry_after(run: Path) -> None:
    with live_server(run, rate=2) as server:
        responses = [server.post(TRANSLATE, {"text": "a"}) for _ in range(3)]
        assert [response.status_code for response in responses] == [200, 200, 429]
        assert 1 <= int(responses[2].headers["retry-after"]) <= 31
        assert responses[2].json()["code"] == "too_many"
        assert server.get("/v1/models").status_code == 200


def test_behind_a_proxy_the_address_before_it_has_the_rate_limit(run: Path) -> None:
    with live_server(run, rate=2, proxies=("127.0.0.1",)) as server:

        def statuses(*forwarded: str) -> list[int]:
            headers = [{"X-Forwarded-For": addresses} for addresses in forwarded]
            return [server.post(TRANSLATE, {"text": "a"}, headers=header).status_code for header in headers]

        assert statuses(*["192.0.2.1"] * 3) == [200, 200, 429]
        assert statuses("192.0.2.2") == [200]
        assert statuses("198.51.100.7, 192.0.2.1", "198.51.100.8, 192.0.2.1") == [429] * 2, (
            "a client may write the first"
        )
        assert statuses(*[f"2001:db8::{i}" for i in range(3)]) == [200, 200, 429], "one network"
        assert statuses("2001:db8:0:1::1") == [200]
        assert statuses("nonsense" * 1000, ",,", "") == [200] * 3


def test_without_a_configured_proxy_nobody_chooses_an_address(run: Path) -> None:
    with live_server(run, rate=2) as server:
        headers = [{"X-Forwarded-For": f"192.0.2.{i}"} for i in range(3)]
        statuses = [server.post(TRANSLATE, {"text": "a"}, headers=header).status_code for header in headers]
    assert statuses == [200, 200, 429]


@pytest.mark.parametrize("path", [TRANSLATE, "/translate", "/v1/documents", "/translate_file"])
@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip"])
def test_a_compressed_body_is_refused_with_a_sentence(server: LiveServer, path: str, encoding: str) -> None:
    body = gzip.compress(b'{"text": "' + b"a" * 10_000_000 + b'"}')
    response = server.send(path, body, headers={"Content-Encoding": encoding})
    assert (response.status_code, response.json()["code"]) == (400, "bad_request")
    assert "Content-Encoding" in response.json()["error"]


def test_no_deadline_depends_on_the_clock_of_the_wall() -> None:
    """Somebody may set it. It names files and dates of records; waiting is measured by the monotonic clock."""
    folder = Path(auth.__file__).parent
    users = {path.name for path in folder.rglob("*.py") if re.search(r"time\.time\(|datetime\.now\(", path.read_text())}
    assert users == set()


def test_attempts_without_a_right_key_have_a_rate_limit(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    alice = {"X-API-Key": auth.create_key(file, "127.0.0.1")}
    with live_server(run, keys=file, rate=2) as server:
        attempts: list[dict[str, str]] = [{"X-API-Key": "tongsa_a"}, {}, {"X-API-Key": "tongsa_b"}, {}]
        statuses = [server.post(TRANSLATE, {"text": "a"}, headers=headers).status_code for headers in attempts]
        assert statuses == [403, 401, 429, 429]
        assert server.post(TRANSLATE, {"text": "a"}, headers=alice).status_code == 200, "a key of the same address"


def test_each_key_has_its_own_rate_limit(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    alice, bob = ({"X-API-Key": auth.create_key(file, name)} for name in ("alice", "bob"))
    with live_server(run, keys=file, rate=2) as server:
        statuses = [server.post(TRANSLATE, {"text": "a"}, headers=alice).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        assert server.post(TRANSLATE, {"text": "a"}, headers=bob).status_code == 200
        assert server.post(TRANSLATE, {"text": "a"}, headers=alice).status_code == 429


def test_buckets_refill_with_time_for_each_client() -> None:
    now = 0.0
    limiter = RateLimiter(6, clock=lambda: now, max_clients=2)
    for _ in range(6):
        limiter.take("a")
    with pytest.raises(APIError) as rejected:
        limiter.take("a")
    assert rejected.value.retry_after == pytest.approx(10.5)
    limiter.take("b")
    now = 10.0
    limiter.take("a")
    with pytest.raises(APIError):
        limiter.take("a")
    limiter.take("c")  # a third client: the least recently seen is dropped
    assert len(limiter._buckets) == 2


def test_an_ipv6_network_is_one_client() -> None:
    assert client_network("2001:db8::1") == client_network("2001:db8::2") != client_network("2001:db8:0:1::1")
    assert client_network("10.0.0.1") != client_network("10.0.0.2")
    assert client_network("somewhere") == "somewhere"
    assert len(client_network("somewhere" * 1000)) < 100
    assert client_network("::ffff:192.0.2.1") == client_network("192.0.2.1") != client_network("::ffff:192.0.2.2")


def test_all_responses_have_security_headers(server: LiveServer) -> None:
    for path in ("/", "/docs", "/v1/models", "/nowhere", "/static/page.css"):
        headers = server.get(path).headers
        assert "unsafe" not in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


def test_pages_of_other_sites_need_permission(run: Path, server: LiveServer) -> None:
    foreign = {"Origin": "https://example.org"}
    assert server.post(TRANSLATE, {"text": "a"}, headers=foreign).status_code == 403
    assert server.post(TRANSLATE, {"text": "a"}, headers={"Origin": server.url}).status_code == 200
    assert server.get("/healthz", headers={"Host": "rebound.example"}).status_code == 421
    assert server.get("/healthz", headers={"Origin": "http://["}).status_code == 400
    with live_server(run, origins=("https://example.org",)) as allowing:
        response = allowing.post(TRANSLATE, {"text": "a"}, headers=foreign)
        assert response.headers["access-control-allow-origin"] == "https://example.org"
        assert allowing.post(TRANSLATE, {"text": "a"}, headers={"Origin": "https://example.com"}).status_code == 403
        behind_proxy = foreign | {"Host": "example.org"}
        assert allowing.post(TRANSLATE, {"text": "a"}, headers=behind_proxy).status_code == 200
        assert allowing.get("/healthz", headers={"Host": "example.com"}).status_code == 421


@pytest.mark.parametrize(
    "name", ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "/etc/passwd", "app.py", "__init__.py", "", "x\0.js"]
)
def test_no_path_of_a_request_reaches_the_disk(server: LiveServer, name: str) -> None:
    with server.socket() as client:
        client.sendall(f"GET /static/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        response = b""
        while chunk := client.recv(65536):
            response += chunk
    assert response.split(b" ", 2)[1] in (b"404", b"400")
    assert b"import" not in response


def test_the_openapi_document_has_all_routes_and_no_others(server: LiveServer) -> None:
    document = server.get("/v1/openapi.json").json()
    undocumented = {"/", "/static/{name}", "/static/{version}/{name}", "/docs", "/v1/openapi.json"}
    routes = {route.path for route in ROUTES} - undocumented
    assert document["paths"].keys() == routes
    page = server.get("/docs")
    assert "text/html" in page.headers["content-type"]
    assert all(path in page.text for path in routes)
    schema = document["components"]["schemas"]["TranslateRequest"]
    assert schema["required"] == ["text"]
    assert schema["properties"]["text"]["description"].startswith("One text")


def test_logs_and_metrics_hold_no_text_and_no_address(server: LiveServer, caplog: pytest.LogCaptureFixture) -> None:
    secret = "geheim"  # noqa: S105
    with caplog.at_level(logging.DEBUG, "tongsa.server"):
        responses = [
            server.post(TRANSLATE, {"text": f"a {secret} b"}),
            server.get(f"/{secret}?q={secret}"),
            server.post(TRANSLATE, {secret: secret}),
            server.post(TRANSLATE, {"text": secret, "model": secret}),
        ]
        request_ids = [response.headers["x-request-id"] for response in responses]
        # a response arrives before its log line is written, and lines of earlier tests may still come
        wait_for(lambda: set(request_ids) <= {getattr(record, "request", "") for record in caplog.records})
    records = [record for record in caplog.records if getattr(record, "request", "") in request_ids]
    lines = [JSONLogFormatter().format(record) for record in records]
    assert [json.loads(line)["request"] for line in lines] == request_ids
    assert secret not in "".join(lines)
    assert "127.0.0.1" not in "".join(lines)
    first = json.loads(lines[0])
    assert (first["route"], first["status"]) == (TRANSLATE, 200)
    metrics = server.get("/metrics").text
    assert secret not in metrics
    assert 'tongsa_requests_total{route="/v1/translate",status="200"}' in metrics
    assert 'tongsa_request_seconds_bucket{le="0.1",route="/v1/translate"}' in metrics
    assert 'tongsa_batch_sentences_sum{model="en-ko"}' in metrics
    assert 'tongsa_source_tokens_total{model="en-ko"}' in metrics
    assert 'tongsa_queue_sentences{model="en-ko"} 0.0' in metrics


def test_unknown_paths_and_wrong_methods_get_json_errors(server: LiveServer) -> None:
    assert server.get("/nowhere").json()["code"] == "not_found"
    assert server.get(TRANSLATE).status_code == 405
    assert server.get(TRANSLATE).json()["code"] == "bad_method"
