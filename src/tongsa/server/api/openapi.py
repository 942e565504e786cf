"""The API described: an OpenAPI document of the very types that are asked and answered, and a page of it."""

import html
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from tongsa.server import drawings
from tongsa.server.api import requests, responses
from tongsa.server.api.libretranslate import DetectRequest, LibreTranslateRequest
from tongsa.server.api.schemas import SchemaRegistry, optional_keys, request_defaults
from tongsa.server.errors import ERROR_STATUSES, ErrorBody
from tongsa.server.http import JSONResponse

JSON, NDJSON, PLAIN_TEXT = "application/json", "application/x-ndjson", "text/plain"
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
PROBE_ERRORS = (400, 403, 421, 500)
"""What even a health check may be refused with."""
PUBLIC_ERRORS = (*PROBE_ERRORS, 503)
"""What needs no key."""
AUTHENTICATED_ERRORS = (*PUBLIC_ERRORS, 401, 408, 413, 422, 429)
MODEL_ERRORS = (*AUTHENTICATED_ERRORS, 404)
"""What names a model."""


class Operation(NamedTuple):
    method: str
    path: str
    summary: str
    response_types: Mapping[str, Any]
    """Media type → what is answered."""
    error_statuses: tuple[int, ...]
    request_type: type[Any] | None = None
    content_types: tuple[str, ...] = (JSON,)


def _post(path: str, summary: str, request_type: type[Any], response_type: Any, **other_types: Any) -> Operation:
    return Operation("post", path, summary, {JSON: response_type, **other_types}, MODEL_ERRORS, request_type)


def _get(path: str, summary: str, response_type: Any, error_statuses: tuple[int, ...] = PUBLIC_ERRORS) -> Operation:
    return Operation("get", path, summary, {JSON: response_type}, error_statuses)


def _libretranslate_post(path: str, summary: str, request_type: type[Any], response_type: Any) -> Operation:
    return Operation(
        "post", path, summary, {JSON: response_type}, AUTHENTICATED_ERRORS, request_type, (JSON, *FORM_TYPES)
    )


OPERATIONS = (
    _post(
        "/v1/translate",
        "Translate texts, sentence by sentence.",
        requests.TranslateRequest,
        responses.TranslateResponse,
        **{NDJSON: responses.StreamLine},
    ),
    _post(
        "/v1/alternatives",
        "Other ways to go on after a beginning.",
        requests.AlternativesRequest,
        responses.AlternativesResponse,
    ),
    _post(
        "/v1/score",
        "log p of a target given its source, piece by piece.",
        requests.ScoreRequest,
        responses.ScoreResponse,
    ),
    _post("/v1/attention", "What every head looked at.", requests.AttentionRequest, drawings.AttentionResponse),
    _post("/v1/tree", "What the beam kept and pruned.", requests.SearchTreeRequest, drawings.SearchTreeResponse),
    _post(
        "/v1/positions", "What tells a model where a piece stands.", requests.ModelRequest, drawings.PositionsResponse
    ),
    _post("/v1/curves", "How a model learnt: its run's journal.", requests.ModelRequest, drawings.CurvesResponse),
    _post("/v1/classify", "A label for each text.", requests.ClassifyRequest, responses.ClassifyResponse),
    _get("/v1/models", "The models, and the limits of a request.", responses.ModelsResponse),
    _libretranslate_post(
        "/translate", "Translate, as LibreTranslate does.", LibreTranslateRequest, responses.LibreTranslateResponse
    ),
    _libretranslate_post(
        "/detect", "Guess a text's language, as LibreTranslate does.", DetectRequest, list[responses.DetectedLanguage]
    ),
    _get("/languages", "The languages, as LibreTranslate tells them.", list[responses.Language]),
    _get("/health", "Whether the server answers, as LibreTranslate tells it.", responses.Status, PROBE_ERRORS),
    _get("/frontend/settings", "Limits and languages, as LibreTranslate tells them.", responses.FrontendSettings),
    _get("/healthz", "Whether the server answers.", responses.Status, PROBE_ERRORS),
    _get("/readyz", "Whether its models are loaded.", responses.Status),
    Operation("get", "/metrics", "Counters for Prometheus.", {PLAIN_TEXT: str}, (*PROBE_ERRORS, 401, 429)),
)


@cache
def build_document() -> dict[str, Any]:
    """The whole document."""
    asked, told = SchemaRegistry(request_defaults), SchemaRegistry(optional_keys)
    refusals = {_error_name(status): _error_response(told, status) for status in ERROR_STATUSES}
    paths = {one.path: {one.method: _describe_operation(one, asked, told)} for one in OPERATIONS}
    return {
        "openapi": "3.1.0",
        "info": {"title": "tongsa", "version": "1"},
        "paths": paths,
        "components": {
            "schemas": asked.definitions | told.definitions,
            "responses": refusals,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def _describe_operation(
    operation: Operation, request_schemas: SchemaRegistry, response_schemas: SchemaRegistry
) -> dict[str, Any]:
    content = {kind: {"schema": response_schemas.schema_of(tells)} for kind, tells in operation.response_types.items()}
    answers: dict[str, Any] = {"200": {"description": _response_description(operation), "content": content}}
    answers |= {
        str(status): {"$ref": f"#/components/responses/{_error_name(status)}"}
        for status in ERROR_STATUSES
        if status in operation.error_statuses
    }
    body = (
        {kind: {"schema": request_schemas.schema_of(operation.request_type)} for kind in operation.content_types}
        if operation.request_type
        else {}
    )
    wanted = {"requestBody": {"required": True, "content": body}} if body else {}
    return {"summary": operation.summary, **wanted, "responses": answers}


def _response_description(operation: Operation) -> str:
    return "the answer; of a stream, what stands on each line" if NDJSON in operation.response_types else "the answer"


def _error_name(status: int) -> str:
    return f"Refused{status}"


def _error_response(response_schemas: SchemaRegistry, status: int) -> dict[str, Any]:
    about, codes, again = ERROR_STATUSES[status]
    own = {"properties": {"code": {"enum": list(codes)}}}
    seconds = {"description": "Seconds.", "required": True, "schema": {"type": "integer", "minimum": 1}}
    return {
        "description": about,
        **({"headers": {"Retry-After": seconds}} if again else {}),
        "content": {JSON: {"schema": response_schemas.schema_of(ErrorBody) | own}},
    }


async def openapi_json(_: Request) -> Response:
    return JSONResponse(build_document())


async def docs_page(_: Request) -> Response:
    return HTMLResponse(render_docs())


@cache
def render_docs() -> str:
    """A plain page, without script."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>tongsa: API</title>',
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/static/page.css"></head>',
        "<body><main><h1>API</h1>",
        '<p>For programs: <a href="/v1/openapi.json">/v1/openapi.json</a>. Errors are ',
        '<code>{"error": "a sentence", "code": "a word"}</code>.</p>',
    ]
    schemas = build_document()["components"]["schemas"]
    for one in OPERATIONS:
        parts.append(f"<h2><code>{one.method.upper()} {one.path}</code></h2><p>{html.escape(one.summary)}</p>")
        if one.request_type:
            table = schemas[one.request_type.__name__]
            notes = dict.fromkeys(table["required"], " (needed)")
            parts += ["<dl>", *_field_rows(table, notes), "</dl>"]
        parts += [
            f"<p>Answers {_schema_text(SchemaRegistry(optional_keys).schema_of(tells))}.</p>"
            for tells in one.response_types.values()
        ]
    parts.append("<h2>Refusals</h2><dl>")
    parts += [
        f"<dt><code>{status}</code></dt><dd>{html.escape(one.description)}</dd>"
        for status, one in ERROR_STATUSES.items()
    ]
    parts.append("</dl><h2>Objects</h2>")
    for name in sorted(schemas.keys() - {one.request_type.__name__ for one in OPERATIONS if one.request_type}):
        table = schemas[name]
        notes = dict.fromkeys(table["properties"].keys() - set(table["required"]), " (not always)")
        parts += [f'<h3 id="{name}">{name}</h3><dl>', *_field_rows(table, notes), "</dl>"]
    return "".join([*parts, "</main></body></html>\n"])


def _field_rows(schema: Mapping[str, Any], notes: Mapping[str, str]) -> list[str]:
    rows = []
    for name, value in schema["properties"].items():
        about = html.escape(value.get("description", ""))
        rows.append(f"<dt><code>{name}</code>{notes.get(name, '')}: {_schema_text(value)}</dt><dd>{about}</dd>")
    return rows


def _schema_text(schema: Mapping[str, Any]) -> str:
    """A schema in a few words, with links to those that have a name."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(map(_schema_text, schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"<code>{html.escape(str(value))}</code>" for value in schema["enum"])
    if "prefixItems" in schema:
        return f"[{', '.join(map(_schema_text, schema['prefixItems']))}]"
    if schema["type"] == "array":
        return f"a list of {_schema_text(schema['items'])}"
    if schema["type"] == "object":
        return f"an object of {_schema_text(schema['additionalProperties'])}"
    return str(schema["type"])
