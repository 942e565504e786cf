"""The OpenAPI document describes the server: real responses and errors are validated against its schemas."""

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
from live_server import BlockedModel, LiveServer, live_server, random_model
from tiny import CONFIGS
from tongsa.server import auth
from tongsa.server.api import openapi
from tongsa.server.api.operations import BINARY, JSON, NDJSON, OPERATIONS, PLAIN_TEXT
from tongsa.server.errors import ERROR_STATUSES
from tongsa.tokenization.labels import LabelTokenizer

TRANSLATE, DOCUMENTS = "/v1/translate", "/v1/documents"
TRANSLATE_FILE, DOWNLOAD = "/translate_file", "/download_file/{name}"
FORM_PATHS = (DOCUMENTS, TRANSLATE_FILE)
GLOSSARY = [{"source": "b", "target": "가 나"}, {"source": "c", "target": "다 " * 60}]
"""A term that is satisfied, and one that is longer than any output."""
LIBRETRANSLATE = {"q": "a b", "source": "auto", "target": "ko"}
FILE_FORM = {"file": "a b\n", "source": "auto", "target": "ko"}
DOCUMENT_FORM = {"file": "a b {name} c\n", "glossary": json.dumps(GLOSSARY[:1])}
REQUESTS: list[tuple[str, dict[str, Any] | None]] = [
    (TRANSLATE, {"text": ["a b! C d", ""]}),
    (TRANSLATE, {"text": "a b c", "nbest": 3, "alignments": True, "word_probabilities": True, "glossary": GLOSSARY}),
    (TRANSLATE, {"text": "a b! C d", "nbest": 2, "token_probabilities": True, "stream": True}),
    (DOCUMENTS, DOCUMENT_FORM),
    (DOCUMENTS, DOCUMENT_FORM | {"json": True}),
    ("/v1/formats", None),
    ("/v1/alternatives", {"text": "a b c", "prefix": "가"}),
    ("/v1/alternatives", {"text": "a b c", "prefix": "가", "glossary": GLOSSARY}),
    ("/v1/score", {"source": "a b", "target": "가 나"}),
    ("/v1/score", {"source": "a b", "target": "나쁨", "model": "labels"}),
    ("/v1/score", {"source": "", "target": "가 나", "model": "text"}),
    ("/v1/continue", {"text": "a b", "model": "text", "max_tokens": 3}),
    ("/v1/corrections", {"source": "a b", "target": "가 나"}),
    ("/v1/attention", {"text": "a b c"}),
    ("/v1/attention", {"text": "a b c", "model": "labels"}),
    ("/v1/attention", {"text": "a b c", "model": "text"}),
    ("/v1/tree", {"text": "a b c"}),
    ("/v1/trace", {"text": "a b c"}),
    ("/v1/trace", {"text": "a b c", "model": "labels", "edits": [{"type": "scale_off"}]}),
    ("/v1/trace", {"text": "a b c", "model": "text", "layers": [1], "contrast": {"step": 1, "a": "가", "b": "</s>"}}),
    ("/v1/positions", {}),
    ("/v1/curves", {"model": "labels"}),
    ("/v1/classify", {"text": ["a b", ""]}),
    ("/v1/models", None),
    ("/translate", LIBRETRANSLATE | {"alternatives": 2}),
    ("/translate", {"q": ["a b", "나"], "source": "auto", "target": "ko", "alternatives": 1}),
    ("/translate", {"q": "a", "source": "en", "target": "ko", "format": "html"}),
    (TRANSLATE_FILE, FILE_FORM),
    (DOWNLOAD, None),
    ("/detect", {"q": "나는 집에 간다"}),
    ("/languages", None),
    ("/health", None),
    ("/frontend/settings", None),
    ("/healthz", None),
    ("/readyz", None),
    ("/metrics", None),
]


class DescribedContent(NamedTuple):
    """A response, a line of it or a header, with the schema that describes it."""

    schema: dict[str, Any]
    content: Any


def send(server: LiveServer, path: str, body: Any, **options: Any) -> httpx2.Response:
    if path in FORM_PATHS:
        return send_form(server, path, body, **options)
    if path == DOWNLOAD and not options and body is None:
        path = send_form(server, TRANSLATE_FILE, FILE_FORM).json()["translatedFileUrl"].removeprefix(server.url)
    return server.get(path, **options) if body is None else server.post(path, body, **options)


def send_form(
    server: LiveServer, path: str, form: dict[str, Any], headers: dict[str, str] | None = None
) -> httpx2.Response:
    """Send a document; with "json", ask for JSON."""
    fields = {name: value for name, value in form.items() if name not in ("file", "json")}
    files = {"file": ("a.txt", form.get("file", ""))} if form else {"none": (None, "")}
    accept = {"Accept": "application/json"} if "json" in form else {}
    return server.client.post(server.url + path, data=fields, files=files, headers=accept | (headers or {}))


def describe(document: dict[str, Any], path: str, response: httpx2.Response) -> list[DescribedContent]:
    """Return the content of a response with the document's schemas for this path and status."""
    components = {"components": document["components"]}
    (operation,) = document["paths"].get(path, {"": {"responses": {}}}).values()
    described = operation["responses"].get(str(response.status_code))
    if path not in document["paths"] or response.status_code == 405:  # not an operation: only the error is described
        described = {"$ref": f"#/components/responses/Error{response.status_code}"}
    assert described, f"{path}: {response.status_code} is not described"
    if "$ref" in described:
        described = document["components"]["responses"][described["$ref"].rpartition("/")[2]]
    headers = described.get("headers", {})
    assert ("retry-after" in response.headers) == ("Retry-After" in headers), f"{path}: {response.status_code}"
    media_type = response.headers["content-type"].partition(";")[0]
    parts = response.text.splitlines() if media_type == NDJSON else [response.text]
    schema = described["content"][media_type]["schema"] | components
    is_plain = media_type in (PLAIN_TEXT, BINARY)
    return [
        *(DescribedContent(schema, part if is_plain else json.loads(part)) for part in parts),
        *(DescribedContent(header["schema"], int(response.headers[name])) for name, header in headers.items()),
    ]


def is_valid(described: DescribedContent) -> bool:
    return bool(Draft202012Validator(described.schema).is_valid(described.content))


@pytest.fixture(scope="module")
def all_tasks(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with a model of each task."""
    folder, labels = tmp_path_factory.mktemp("tasks"), LabelTokenizer(["good", "나쁨"])
    classifier = random_bundle("structured_self_attention", CONFIGS["structured_self_attention"], target=labels)
    language_model = random_bundle("transformer_lm", CONFIGS["transformer_lm"])
    runs = [run, save_run(folder / "labels", classifier), save_run(folder / "text", language_model)]
    (folder / "labels" / "journal.jsonl").write_text('{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 1.5}\n')
    with live_server(*runs, corrections=str(folder / "corrections")) as server:
        yield server


@pytest.fixture(scope="module")
def document(all_tasks: LiveServer) -> dict[str, Any]:
    content: dict[str, Any] = all_tasks.get("/v1/openapi.json").json()
    return content


@pytest.fixture(scope="module")
def responses(all_tasks: LiveServer, document: dict[str, Any]) -> list[DescribedContent]:
    described = []
    for path, body in REQUESTS:
        response = send(all_tasks, path, body)
        assert response.status_code == 200, response.text
        described += describe(document, path, response)
    return described


def test_responses_match_their_schemas(responses: list[DescribedContent], document: dict[str, Any]) -> None:
    assert {path for path, _ in REQUESTS} == document["paths"].keys()
    for described in responses:
        Draft202012Validator.check_schema(described.schema)
        Draft202012Validator(described.schema).validate(described.content)


def test_requests_match_their_schemas(document: dict[str, Any]) -> None:
    components = {"components": document["components"]}
    for path, body in REQUESTS:
        if body is not None and path not in FORM_PATHS:
            schema = document["paths"][path]["post"]["requestBody"]["content"][JSON]["schema"] | components
            Draft202012Validator.check_schema(schema)
            Draft202012Validator(schema).validate(body)
    schema = {"$ref": "#/components/schemas/TranslateRequest"} | components
    for wrong in ({}, {"text": "a", "nbest": 17}, {"text": "a" * 20_001}, {"text": "a", "strange": 1}):
        assert not Draft202012Validator(schema).is_valid(wrong), wrong


def objects_in(content: Any) -> Iterator[dict[str, Any]]:
    if isinstance(content, dict):
        yield content
    for inner in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from objects_in(inner)


def test_an_undescribed_field_is_noticed_in_any_object(responses: list[DescribedContent]) -> None:
    for described in responses:
        content = copy.deepcopy(described.content)
        for inner in {tuple(inner): inner for inner in objects_in(content)}.values():
            inner["strange"] = "strange"
            assert not is_valid(DescribedContent(described.schema, content)), f"in {list(inner)}"
            del inner["strange"]


NOT_IN_RESPONSES = {
    "GlossaryTerm",
    "ErrorBody",
    "EditRequest",
    "ContrastRequest",
    "BilingualText",
    "TourStep",
    "TourEdit",
    "OperandPart",
}
"""Parts of requests and errors; tours and operands, of which each has only some of the fields."""


def test_all_described_fields_occur(responses: list[DescribedContent], document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    requests = {operation.request_type.__name__ for operation in OPERATIONS if operation.request_type}
    for name in schemas.keys() - requests - NOT_IN_RESPONSES:
        fields, (_, *required) = schemas[name]["properties"], schemas[name]["required"]
        for field in fields.keys() - set(required):  # where one required field occurs, all of them do
            schema = fields.pop(field)
            assert not all(map(is_valid, reversed(responses))), f"{name}.{field} never occurs"
            fields[field] = schema


PathAndResponse = tuple[str, httpx2.Response]


def foreign_requests(server: LiveServer) -> Iterator[PathAndResponse]:
    """Send other hosts and origins to all paths."""
    for path, operation in openapi.build_document()["paths"].items():
        body: Any = {} if "post" in operation else None
        for headers in ({"Host": "rebound.example"}, {"Origin": "https://example.org"}, {"Origin": "http://["}):
            yield path, send(server, path, body, headers=headers)


def malformed_requests(server: LiveServer) -> Iterator[PathAndResponse]:
    """Send broken, incomplete and too long bodies, and unknown models, to all paths with a body."""
    for operation in OPERATIONS:
        if operation.request_type:
            yield operation.path, server.send(operation.path, b"{")
            yield operation.path, server.post(operation.path, {})
            max_bytes = 400_000 if JSON in operation.content_types else 10_200_000
            yield operation.path, server.send(operation.path, b" " * (max_bytes + 1))
        if 404 in operation.error_statuses:
            body = next(body for path, body in REQUESTS if path == operation.path)
            wrong = (body or {}) | {"model": "nobody"} if operation.request_type else None
            yield operation.path, send(server, operation.path, wrong, **({} if wrong else {"headers": {}}))
    yield "/translate", server.post("/translate", LIBRETRANSLATE | {"source": "fr"})
    yield "/nowhere", server.get("/nowhere")
    yield TRANSLATE, server.get(TRANSLATE)


def unauthorized_requests(run: Path, file: Path) -> Iterator[PathAndResponse]:
    """Send no key, a wrong key, and too many requests with a right one."""
    key = {"X-API-Key": auth.create_key(file, "alice")}
    with live_server(run, keys=file, rate=2) as server:
        for operation in OPERATIONS:
            if 401 in operation.error_statuses:
                body = next(body for path, body in REQUESTS if path == operation.path)
                for headers in ({}, {"X-API-Key": "wrong"}, key, key):
                    yield operation.path, send(server, operation.path, body, headers=headers)


def slow_requests(run: Path) -> Iterator[PathAndResponse]:
    """Send slowly, and use a slow model."""

    def slow_body() -> Iterator[bytes]:
        yield b'{"text"'
        time.sleep(1)

    with live_server(run, client_timeout=0.3, timeout=0.3, batch_wait_ms=0) as server:
        yield TRANSLATE, server.client.post(server.url + TRANSLATE, content=slow_body())
        with BlockedModel(server.queue.model.text_model):
            yield TRANSLATE, server.post(TRANSLATE, {"text": "a"})
            yield TRANSLATE, server.post(TRANSLATE, {"text": "a", "stream": True})


def requests_to_a_failing_server(run: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PathAndResponse]:
    """Use a failing model, a failing server, and a server without loaded models."""

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError

    with live_server(run) as server:
        monkeypatch.setattr(server.queue.model.text_model, "search", fail)
        yield TRANSLATE, server.post(TRANSLATE, {"text": "a"})
        monkeypatch.setattr(server.context.models, "list_models", fail)
        yield "/v1/models", server.get("/v1/models")
        server.context.models.drain()
        yield "/readyz", server.get("/readyz")
        for path, body in REQUESTS:
            if path.startswith("/v1/") and body:
                yield path, send(server, path, body)


def test_errors_match_their_schemas_and_all_described_errors_occur(
    all_tasks: LiveServer, document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = random_model(tmp_path / "en-ko")
    codes = set()
    for requests in (
        foreign_requests(all_tasks),
        malformed_requests(all_tasks),
        unauthorized_requests(run, tmp_path / "keys"),
        slow_requests(run),
        requests_to_a_failing_server(run, monkeypatch),
    ):
        for path, response in requests:
            for described in describe(document, path, response):
                Draft202012Validator(described.schema).validate(described.content)
            if response.status_code != 200:
                codes.add((response.status_code, response.json()["code"]))
    assert codes == {(status, code) for status, error in ERROR_STATUSES.items() for code in error.codes}
