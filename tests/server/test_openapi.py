"""What is described is what is answered: real answers and refusals, held against the document's own schemas."""

import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from jsonschema import Draft202012Validator

from export.bundles import random_bundle, save_run
from served import Running, Stall, drawn, serving
from tiny import CONFIGS
from tongsa.server import auth
from tongsa.server.api import openapi
from tongsa.server.errors import ERROR_STATUSES
from tongsa.tokenization.labels import LabelTokenizer

TRANSLATE = "/v1/translate"
TERMS = [{"source": "b", "target": "가 나"}, {"source": "c", "target": "다 " * 60}]
"""One that is met, and one that no output has room for."""
LIBRE = {"q": "a b", "source": "auto", "target": "ko"}
QUESTIONS: list[tuple[str, dict[str, Any] | None]] = [
    (TRANSLATE, {"text": ["a b! C d", ""]}),
    (TRANSLATE, {"text": "a b c", "nbest": 3, "alignments": True, "probabilities": True, "terms": TERMS}),
    (TRANSLATE, {"text": "a b! C d", "nbest": 2, "piece_probabilities": True, "stream": True}),
    ("/v1/alternatives", {"text": "a b c", "prefix": "가"}),
    ("/v1/score", {"source": "a b", "target": "가 나"}),
    ("/v1/score", {"source": "a b", "target": "나쁨", "model": "labels"}),
    ("/v1/score", {"source": "", "target": "가 나", "model": "text"}),
    ("/v1/attention", {"text": "a b c"}),
    ("/v1/attention", {"text": "a b c", "model": "labels"}),
    ("/v1/attention", {"text": "a b c", "model": "text"}),
    ("/v1/tree", {"text": "a b c"}),
    ("/v1/positions", {}),
    ("/v1/curves", {"model": "labels"}),
    ("/v1/classify", {"text": ["a b", ""]}),
    ("/v1/models", None),
    ("/translate", LIBRE | {"alternatives": 2}),
    ("/translate", {"q": ["a b", "나"], "source": "auto", "target": "ko", "alternatives": 1}),
    ("/translate", {"q": "a", "source": "en", "target": "ko", "format": "html"}),
    ("/detect", {"q": "나는 집에 간다"}),
    ("/languages", None),
    ("/health", None),
    ("/frontend/settings", None),
    ("/healthz", None),
    ("/readyz", None),
    ("/metrics", None),
]


class Told(NamedTuple):
    """An answer, or a line of it, beside the schema that describes it."""

    schema: dict[str, Any]
    content: Any


def method(path: str) -> str:
    (found,) = openapi.build_document()["paths"][path]
    return str(found)


def sent(server: Running, path: str, body: Any, **others: Any) -> httpx2.Response:
    return server.get(path, **others) if body is None else server.post(path, body, **others)


def told(document: dict[str, Any], path: str, answer: httpx2.Response) -> list[Told]:
    """What an answer tells, beside what the document says of this path and status."""
    components = {"components": document["components"]}
    (operation,) = document["paths"].get(path, {"": {"responses": {}}}).values()
    described = operation["responses"].get(str(answer.status_code))
    if path not in document["paths"] or answer.status_code == 405:  # no operation: the refusal alone is described
        described = {"$ref": f"#/components/responses/Refused{answer.status_code}"}
    assert described, f"{path}: {answer.status_code} is not described"
    if "$ref" in described:
        described = document["components"]["responses"][described["$ref"].rpartition("/")[2]]
    headers = described.get("headers", {})
    assert ("retry-after" in answer.headers) == ("Retry-After" in headers), f"{path}: {answer.status_code}"
    kind = answer.headers["content-type"].partition(";")[0]
    parts = answer.text.splitlines() if kind == openapi.NDJSON else [answer.text]
    schema = described["content"][kind]["schema"] | components
    found = [Told(schema, part if kind == openapi.PLAIN_TEXT else json.loads(part)) for part in parts]
    return found + [Told(one["schema"], int(answer.headers[name])) for name, one in headers.items()]


def valid(one: Told) -> bool:
    return bool(Draft202012Validator(one.schema).is_valid(one.content))


def check(document: dict[str, Any], path: str, answer: httpx2.Response) -> None:
    for one in told(document, path, answer):
        Draft202012Validator(one.schema).validate(one.content)


@pytest.fixture(scope="module")
def every(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of every task."""
    folder, labels = tmp_path_factory.mktemp("tasks"), LabelTokenizer(["good", "나쁨"])
    classifier = random_bundle("structured_self_attention", CONFIGS["structured_self_attention"], target=labels)
    writer = random_bundle("transformer_lm", CONFIGS["transformer_lm"])
    served = [run, save_run(folder / "labels", classifier), save_run(folder / "text", writer)]
    (folder / "labels" / "journal.jsonl").write_text('{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 1.5}\n')
    with serving(*served) as running:
        yield running


@pytest.fixture(scope="module")
def document(every: Running) -> dict[str, Any]:
    found: dict[str, Any] = every.get("/v1/openapi.json").json()
    return found


@pytest.fixture(scope="module")
def answers(every: Running, document: dict[str, Any]) -> list[Told]:
    found = []
    for path, body in QUESTIONS:
        answer = sent(every, path, body)
        assert answer.status_code == 200, answer.text
        found += told(document, path, answer)
    return found


def test_every_answer_is_as_it_is_described(answers: list[Told], document: dict[str, Any]) -> None:
    assert {path for path, _ in QUESTIONS} == document["paths"].keys()
    for one in answers:
        Draft202012Validator.check_schema(one.schema)
        Draft202012Validator(one.schema).validate(one.content)


def objects(content: Any) -> Iterator[dict[str, Any]]:
    if isinstance(content, dict):
        yield content
    for inner in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from objects(inner)


def test_a_field_that_is_not_described_is_noticed_wherever_it_stands(answers: list[Told]) -> None:
    for one in answers:
        content = copy.deepcopy(one.content)
        for held in {tuple(held): held for held in objects(content)}.values():
            held["strange"] = "strange"
            assert not valid(Told(one.schema, content)), f"in {list(held)}"
            del held["strange"]


def test_a_field_that_never_comes_is_not_described(answers: list[Told], document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    asked = {one.request_type.__name__ for one in openapi.OPERATIONS if one.request_type} | {"TermPair", "Error"}
    for name in schemas.keys() - asked:
        fields, (_, *needed) = schemas[name]["properties"], schemas[name]["required"]
        for field in fields.keys() - set(needed):  # where one comes that is needed, all of them do
            schema = fields.pop(field)
            assert not all(map(valid, reversed(answers))), f"{name}.{field} was never told"
            fields[field] = schema


Provoked = tuple[str, httpx2.Response]


def strangers(server: Running) -> Iterator[Provoked]:
    """Whoever is not meant, at every address."""
    for path in openapi.build_document()["paths"]:
        body: Any = {} if method(path) == "post" else None
        for headers in ({"Host": "rebound.example"}, {"Origin": "https://example.org"}, {"Origin": "http://["}):
            yield path, sent(server, path, body, headers=headers)


def unfit(server: Running) -> Iterator[Provoked]:
    """What does not fit, at every address that asks."""
    for one in openapi.OPERATIONS:
        if one.request_type:
            yield one.path, server.send(one.path, b"{")
            yield one.path, server.post(one.path, {})
            yield one.path, server.send(one.path, b" " * 400_001)
        if 404 in one.error_statuses:
            body = next(body for path, body in QUESTIONS if path == one.path) or {}
            yield one.path, server.post(one.path, body | {"model": "nobody"})
    yield "/translate", server.post("/translate", LIBRE | {"source": "fr"})
    yield "/nowhere", server.get("/nowhere")
    yield TRANSLATE, server.get(TRANSLATE)


def unknown(run: Path, file: Path) -> Iterator[Provoked]:
    """Who has no key, a wrong one, or asks too often."""
    right = {"X-API-Key": auth.create_key(file, "alice")}
    with serving(run, keys=file, rate=1) as server:
        for one in openapi.OPERATIONS:
            if 401 in one.error_statuses:
                body = next(body for path, body in QUESTIONS if path == one.path)
                for headers in ({}, {"X-API-Key": "wrong"}, right, right):
                    yield one.path, sent(server, one.path, body, headers=headers)


def late(run: Path) -> Iterator[Provoked]:
    """What does not come in time, from either side."""

    def dawdling() -> Iterator[bytes]:
        yield b'{"text"'
        time.sleep(1)

    with serving(run, patience=0.3, timeout=0.3, wait_ms=0) as server:
        yield TRANSLATE, server.client.post(server.url + TRANSLATE, content=dawdling())
        with Stall(server.worker.model.reader):
            yield TRANSLATE, server.post(TRANSLATE, {"text": "a"})
            yield TRANSLATE, server.post(TRANSLATE, {"text": "a", "stream": True})


def broken(run: Path, patch: pytest.MonkeyPatch) -> Iterator[Provoked]:
    """A model that fails, a server that fails, and one that has loaded nothing yet."""

    def failing(*_: Any, **__: Any) -> Any:
        raise RuntimeError

    with serving(run) as server:
        patch.setattr(server.worker.model.reader, "translate", failing)
        yield TRANSLATE, server.post(TRANSLATE, {"text": "a"})
        patch.setattr(server.service.models, "told", failing)
        yield "/v1/models", server.get("/v1/models")
        server.service.models.drain()
        yield "/readyz", server.get("/readyz")
        for path, body in QUESTIONS:
            if path.startswith("/v1/") and body:
                yield path, server.post(path, body)


def test_every_refusal_is_as_it_is_described_and_each_that_is_described_comes(
    every: Running, document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = drawn(tmp_path / "en-ko")
    seen = set()
    for some in (
        strangers(every),
        unfit(every),
        unknown(run, tmp_path / "keys"),
        late(run),
        broken(run, monkeypatch),
    ):
        for path, answer in some:
            check(document, path, answer)
            if answer.status_code != 200:
                seen.add((answer.status_code, answer.json()["code"]))
    assert seen == {(status, code) for status, kind in ERROR_STATUSES.items() for code in kind.codes}
