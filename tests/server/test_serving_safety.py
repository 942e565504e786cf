"""Nobody asks for more than there is, and nobody learns what is not theirs."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from served import Running, serving, wait_for
from tongsa.errors import InputError
from tongsa.server import auth
from tongsa.server.api import openapi
from tongsa.server.api.schemas import field_descriptions
from tongsa.server.app import ROUTES
from tongsa.server.config import RequestLimits, ServerConfig
from tongsa.server.errors import APIError
from tongsa.server.middleware import JSONLogFormatter
from tongsa.server.rate_limit import RateLimiter, network

TRANSLATE, LOOK = "/v1/translate", "/v1/attention"
LONG = "a " * 300
REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    (TRANSLATE, {"text": "a" * 20_001}, 413, "at most 20,000"),
    (TRANSLATE, {"text": ["a"] * 201}, 413, "at most 200"),
    (TRANSLATE, {"text": []}, 422, "at least one"),
    (TRANSLATE, {"text": "a", "beam": 17}, 422, "from 1 to 16"),
    (TRANSLATE, {"text": "a", "beam": 0}, 422, "from 1 to 16"),
    (TRANSLATE, {"text": "a", "nbest": 17}, 422, "from 1 to 16"),
    (TRANSLATE, {"text": "a", "nbest": -1}, 422, "from 1 to 16"),
    (TRANSLATE, {"text": "a", "nbest": 3, "beam": 2}, 422, "wider beam"),
    (TRANSLATE, {"text": "a" * 5001, "nbest": 4, "piece_probabilities": True}, 413, "20,004 characters"),
    (TRANSLATE, {"text": "a", "nbest": 10**30}, 422, "from 1 to 16"),
    (TRANSLATE, {"text": "a", "nbest": True}, 422, "a whole number"),
    (TRANSLATE, {"text": "a", "beam": 1.5}, 422, "beam"),
    (TRANSLATE, {"text": 5}, 422, "text"),
    (TRANSLATE, {"text": ["a", 5]}, 422, "text"),
    (TRANSLATE, {"txt": "a"}, 422, "did you mean 'text'?"),
    (TRANSLATE, {}, 422, "text is missing"),
    (TRANSLATE, {"text": "a", "terms": [{"source": "a", "target": "b"}] * 101}, 413, "at most 100"),
    (TRANSLATE, {"text": "a", "terms": [{"source": "a", "target": "b" * 201}]}, 413, "at most 200"),
    (TRANSLATE, {"text": "a", "terms": [{}] * 9000}, 413, "9,000 entries"),
    (TRANSLATE, {"text": "a", "terms": [{"source": " ", "target": "b"}]}, 422, "empty side"),
    (TRANSLATE, {"text": "a", "terms": [{"source": "a"}]}, 422, "target"),
    (TRANSLATE, {"text": "a! B", "prefix": "가"}, 422, "one sentence"),
    (TRANSLATE, {"text": "a", "prefix": "가 " * 100}, 422, "shorten it"),
    (TRANSLATE, {"text": "a", "model": "nobody"}, 404, "en-ko"),
    ("/v1/alternatives", {"text": "a", "count": 21}, 422, "from 1 to 20"),
    ("/v1/alternatives", {"text": "a", "prefix": "가 " * 100}, 422, "shorten it"),
    ("/v1/score", {"source": "a", "target": " "}, 422, "empty text"),
    ("/v1/score", {"source": "a", "target": "가 나 다 라 " * 20}, 422, "pieces, but the model holds"),
    (LOOK, {"text": LONG}, 413, "at most 500"),
    (LOOK, {"text": "\n"}, 422, "empty text"),
    ("/v1/tree", {"text": "a", "beam": 1000}, 422, "from 1 to 16"),
    ("/v1/classify", {"text": "a"}, 404, "labels"),
    ("/translate", {"q": "a", "source": "en", "target": "ko", "alternatives": 16}, 422, "from 0 to 15"),
    ("/translate", {"q": "a", "source": "en", "target": "fr"}, 400, "en→ko"),
    ("/translate", {"q": "a", "source": "en"}, 422, "target is missing"),
]


@pytest.mark.parametrize(("path", "body", "status", "part"), REFUSED)
def test_what_cannot_be_answered_is_refused_with_a_sentence(
    server: Running, path: str, body: dict[str, Any], status: int, part: str
) -> None:
    answer = server.post(path, body)
    assert answer.status_code == status, answer.text
    told = answer.json()
    assert set(told) == {"error", "code"}
    assert part in told["error"]
    assert len(told["error"]) < 500


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff\xfe", b'{"text": NaN}', b"[" * 100_000, b'{"text": 1e999}', b"9" * 5000]
)
def test_what_is_no_json_object_is_refused(server: Running, body: bytes) -> None:
    answer = server.send(TRANSLATE, body)
    assert answer.status_code in (400, 422)
    assert set(answer.json()) == {"error", "code"}


def test_a_body_is_not_read_beyond_its_limit(server: Running) -> None:
    most = server.service.config.limits.body_bytes
    assert server.send(TRANSLATE, b" " * (most + 1)).status_code == 413

    def without_length() -> Any:
        for _ in range(50):
            yield b" " * 10_000

    answer = server.client.post(server.url + TRANSLATE, content=without_length())
    assert answer.status_code == 413
    assert answer.json()["code"] == "too_long"


def test_a_lone_surrogate_is_answered_and_not_echoed(server: Running) -> None:
    answer = server.send(TRANSLATE, b'{"text": "a \\ud800 b"}')
    assert answer.status_code == 200
    assert answer.json()["translations"][0]["sentences"][0]["source"] == "a \ufffd b"


def test_limits_are_told_and_none_can_be_nothing(server: Running) -> None:
    assert server.get("/v1/models").json()["limits"]["characters"] == RequestLimits().characters
    with pytest.raises(ValueError, match="at least 1"):
        RequestLimits(beam=0)
    for wrong in ({"queue": 0}, {"requests": 0}, {"port": 70_000}, {"rate": -1}, {"timeout": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ServerConfig(**wrong)  # type: ignore[arg-type]


def test_keys_open_and_only_their_hashes_are_kept(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    key = auth.create_key(file, "alice")
    assert key not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    with serving(run, keys=file) as server:
        assert server.post(TRANSLATE, {"text": "a"}).status_code == 401
        assert server.get("/metrics").status_code == 401
        assert server.get("/v1/models").status_code == server.get("/healthz").status_code == 200
        for headers in ({"Authorization": f"Bearer {key}"}, {"X-API-Key": key}):
            assert server.post(TRANSLATE, {"text": "a"}, headers=headers).status_code == 200
        for wrong in (key[:-1], key + "a", "", "tongsa_", key.upper()):
            answer = server.post(TRANSLATE, {"text": "a"}, headers={"X-API-Key": wrong})
            assert answer.status_code in (401, 403)
        asked = {"q": "a", "source": "en", "target": "ko"}
        assert server.post("/translate", asked).status_code == 401
        assert server.post("/translate", asked | {"api_key": "no"}).status_code == 403
        assert server.post("/translate", asked | {"api_key": key}).status_code == 200


def test_a_key_is_made_once_for_a_name_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    first, second = auth.create_key(file, "a"), auth.create_key(file, "b")
    known = auth.APIKeys(file)
    assert [known.find_owner(one) for one in (first, second, first + second)] == ["a", "b", None]
    with pytest.raises(InputError, match="has a key already"):
        auth.create_key(file, "a")
    with pytest.raises(InputError, match="without spaces"):
        auth.create_key(file, "a b")
    file.write_text(file.read_text() + "broken\n")
    with pytest.raises(InputError, match="keys:4: not name"):
        auth.APIKeys(file)
    with pytest.raises(InputError, match="--new-key"):
        auth.APIKeys(tmp_path / "nowhere")


def test_who_asks_too_often_is_told_when_to_come_back(run: Path, tmp_path: Path) -> None:
    with serving(run, rate=2) as server:
        answers = [server.post(TRANSLATE, {"text": "a"}) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert 1 <= int(answers[2].headers["retry-after"]) <= 31
        assert answers[2].json()["code"] == "too_many"
        assert server.get("/v1/models").status_code == 200


def test_a_key_that_asked_too_often_takes_nothing_from_another(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    alice, bob = ({"X-API-Key": auth.create_key(file, name)} for name in ("alice", "bob"))
    with serving(run, keys=file, rate=2) as server:
        statuses = [server.post(TRANSLATE, {"text": "a"}, headers=alice).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        assert server.post(TRANSLATE, {"text": "a"}, headers=bob).status_code == 200
        assert server.post(TRANSLATE, {"text": "a"}, headers=alice).status_code == 429


def test_a_bucket_fills_with_time_for_each_client_by_itself() -> None:
    now = 0.0
    rates = RateLimiter(6, clock=lambda: now, max_clients=2)
    for _ in range(6):
        rates.take("a")
    with pytest.raises(APIError) as refused:
        rates.take("a")
    assert refused.value.retry_after == pytest.approx(10.5)
    rates.take("b")
    now = 10.0
    rates.take("a")
    with pytest.raises(APIError):
        rates.take("a")
    rates.take("c")  # a third: the one seen longest ago is forgotten
    assert len(rates._buckets) == 2


def test_neighbours_in_ipv6_are_one_client() -> None:
    assert network("2001:db8::1") == network("2001:db8::2") != network("2001:db8:0:1::1")
    assert network("10.0.0.1") != network("10.0.0.2")
    assert network("somewhere") == "somewhere"
    assert len(network("somewhere" * 1000)) < 100, "whatever a proxy passes on is kept"


def test_ipv4_written_as_ipv6_is_still_a_client_each() -> None:
    assert network("::ffff:192.0.2.1") == network("192.0.2.1") != network("::ffff:192.0.2.2")


def test_browsers_are_told_to_be_careful(server: Running) -> None:
    for path in ("/", "/docs", "/v1/models", "/nowhere", "/static/page.css"):
        headers = server.get(path).headers
        assert "unsafe" not in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


def test_pages_of_other_sites_may_ask_only_where_they_are_named(run: Path, server: Running) -> None:
    strange = {"Origin": "https://example.org"}
    assert server.post(TRANSLATE, {"text": "a"}, headers=strange).status_code == 403
    assert server.post(TRANSLATE, {"text": "a"}, headers={"Origin": server.url}).status_code == 200
    assert server.get("/healthz", headers={"Host": "rebound.example"}).status_code == 421
    assert server.get("/healthz", headers={"Origin": "http://["}).status_code == 400
    with serving(run, origins=("https://example.org",)) as other:
        answer = other.post(TRANSLATE, {"text": "a"}, headers=strange)
        assert answer.headers["access-control-allow-origin"] == "https://example.org"
        assert other.post(TRANSLATE, {"text": "a"}, headers={"Origin": "https://example.com"}).status_code == 403
        own = strange | {"Host": "example.org"}  # as a proxy on this machine passes it on
        assert other.post(TRANSLATE, {"text": "a"}, headers=own).status_code == 200
        assert other.get("/healthz", headers={"Host": "example.com"}).status_code == 421


@pytest.mark.parametrize(
    "name", ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "/etc/passwd", "app.py", "__init__.py", "", "x\0.js"]
)
def test_no_path_of_a_request_reaches_the_disk(server: Running, name: str) -> None:
    with server.socket() as client:
        client.sendall(f"GET /static/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while part := client.recv(65536):
            answer += part
    assert answer.split(b" ", 2)[1] in (b"404", b"400")
    assert b"import" not in answer


def test_every_address_is_described_and_what_is_described_exists(server: Running) -> None:
    document = server.get("/v1/openapi.json").json()
    routes = {route.path for route in ROUTES} - {"/", "/static/{name}", "/docs", "/v1/openapi.json"}
    assert document["paths"].keys() == routes
    page = server.get("/docs")
    assert "text/html" in page.headers["content-type"]
    assert all(path in page.text for path in routes)
    assert document["components"]["schemas"]["TranslateRequest"]["required"] == ["text"]
    assert field_descriptions(openapi.OPERATIONS[0].request_type or object)["text"].startswith("One text")


def test_logs_and_counters_hold_no_text_and_no_address(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    secret = "geheim"  # noqa: S105
    with caplog.at_level(logging.DEBUG, "tongsa.server"):
        answers = [
            server.post(TRANSLATE, {"text": f"a {secret} b"}),
            server.get(f"/{secret}?q={secret}"),
            server.post(TRANSLATE, {secret: secret}),
            server.post(TRANSLATE, {"text": secret, "model": secret}),
        ]
        names = [answer.headers["x-request-id"] for answer in answers]
        # an answer is there before its line is, and lines of earlier tests may still be coming
        wait_for(lambda: set(names) <= {getattr(record, "request", "") for record in caplog.records})
    lines = [JSONLogFormatter().format(record) for record in caplog.records if getattr(record, "request", "") in names]
    assert [json.loads(line)["request"] for line in lines] == names
    assert secret not in "".join(lines)
    assert "127.0.0.1" not in "".join(lines)
    first = json.loads(lines[0])
    assert (first["route"], first["status"]) == (TRANSLATE, 200)
    counted = server.get("/metrics").text
    assert secret not in counted
    assert 'tongsa_requests_total{route="/v1/translate",status="200"}' in counted
    assert 'tongsa_request_seconds_bucket{le="0.1",route="/v1/translate"}' in counted
    assert 'tongsa_batch_sentences_sum{model="en-ko"}' in counted
    assert 'tongsa_queue_sentences{model="en-ko"} 0.0' in counted


def test_an_address_that_does_not_exist_and_a_wrong_method_are_said(server: Running) -> None:
    assert server.get("/nowhere").json()["code"] == "not_found"
    assert server.get(TRANSLATE).status_code == 405
    assert server.get(TRANSLATE).json()["code"] == "bad_method"
