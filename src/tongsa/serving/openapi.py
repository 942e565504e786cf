"""The API described: an OpenAPI document of the very types that are asked and answered, and a page of it."""

import html
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from tongsa.serving import drawings, requests, responses
from tongsa.serving.exchange import Answer
from tongsa.serving.libretranslate import DetectRequest, LibreTranslateRequest
from tongsa.serving.refusal import KINDS, Error
from tongsa.serving.schemas import Schemas, defaults, unsaid

JSON, LINES, PLAIN = "application/json", "application/x-ndjson", "text/plain"
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
PROBED = (400, 403, 421, 500)
"""What even a health check may be refused with."""
OPEN = (*PROBED, 503)
"""What needs no key."""
KEYED = (*OPEN, 401, 408, 413, 422, 429)
NAMED = (*KEYED, 404)
"""What names a model."""


class Operation(NamedTuple):
    method: str
    path: str
    about: str
    tells: Mapping[str, Any]
    """Media type → what is answered."""
    refusals: tuple[int, ...]
    asks: type[Any] | None = None
    takes: tuple[str, ...] = (JSON,)


def _asked(path: str, about: str, asks: type[Any], tells: Any, **others: Any) -> Operation:
    return Operation("post", path, about, {JSON: tells, **others}, NAMED, asks)


def _got(path: str, about: str, tells: Any, refusals: tuple[int, ...] = OPEN) -> Operation:
    return Operation("get", path, about, {JSON: tells}, refusals)


def _libre(path: str, about: str, asks: type[Any], tells: Any) -> Operation:
    return Operation("post", path, about, {JSON: tells}, KEYED, asks, (JSON, *FORMS))


OPERATIONS = (
    _asked(
        "/v1/translate",
        "Translate texts, sentence by sentence.",
        requests.TranslateRequest,
        responses.Translations,
        **{LINES: responses.Line},
    ),
    _asked(
        "/v1/alternatives",
        "Other ways to go on after a beginning.",
        requests.AlternativesRequest,
        responses.Alternatives,
    ),
    _asked("/v1/score", "log p of a target given its source, piece by piece.", requests.ScoreRequest, responses.Score),
    _asked("/v1/attention", "What every head looked at.", requests.AttentionRequest, drawings.Attention),
    _asked("/v1/tree", "What the beam kept and pruned.", requests.TreeRequest, drawings.SearchTree),
    _asked("/v1/positions", "What tells a model where a piece stands.", requests.ModelRequest, drawings.Positions),
    _asked("/v1/curves", "How a model learnt: its run's journal.", requests.ModelRequest, drawings.Curves),
    _asked("/v1/classify", "A label for each text.", requests.ClassifyRequest, responses.Labels),
    _got("/v1/models", "The models, and the limits of a request.", responses.Models),
    _libre("/translate", "Translate, as LibreTranslate does.", LibreTranslateRequest, responses.LibreTranslation),
    _libre("/detect", "Guess a text's language, as LibreTranslate does.", DetectRequest, list[responses.Guess]),
    _got("/languages", "The languages, as LibreTranslate tells them.", list[responses.Language]),
    _got("/health", "Whether the server answers, as LibreTranslate tells it.", responses.Status, PROBED),
    _got("/frontend/settings", "Limits and languages, as LibreTranslate tells them.", responses.FrontendSettings),
    _got("/healthz", "Whether the server answers.", responses.Status, PROBED),
    _got("/readyz", "Whether its models are loaded.", responses.Status),
    Operation("get", "/metrics", "Counters for Prometheus.", {PLAIN: str}, (*PROBED, 401, 429)),
)


@cache
def described() -> dict[str, Any]:
    """The whole document."""
    asked, told = Schemas(defaults), Schemas(unsaid)
    refusals = {_name(status): _refusal(told, status) for status in KINDS}
    paths = {one.path: {one.method: _operation(one, asked, told)} for one in OPERATIONS}
    return {
        "openapi": "3.1.0",
        "info": {"title": "tongsa", "version": "1"},
        "paths": paths,
        "components": {
            "schemas": asked.named | told.named,
            "responses": refusals,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def _operation(one: Operation, asked: Schemas, told: Schemas) -> dict[str, Any]:
    content = {kind: {"schema": told.of(tells)} for kind, tells in one.tells.items()}
    answers: dict[str, Any] = {"200": {"description": _about_lines(one), "content": content}}
    answers |= {
        str(status): {"$ref": f"#/components/responses/{_name(status)}"} for status in KINDS if status in one.refusals
    }
    body = {kind: {"schema": asked.of(one.asks)} for kind in one.takes} if one.asks else {}
    wanted = {"requestBody": {"required": True, "content": body}} if body else {}
    return {"summary": one.about, **wanted, "responses": answers}


def _about_lines(one: Operation) -> str:
    return "the answer; of a stream, what stands on each line" if LINES in one.tells else "the answer"


def _name(status: int) -> str:
    return f"Refused{status}"


def _refusal(told: Schemas, status: int) -> dict[str, Any]:
    about, codes, again = KINDS[status]
    own = {"properties": {"code": {"enum": list(codes)}}}
    seconds = {"description": "Seconds.", "required": True, "schema": {"type": "integer", "minimum": 1}}
    return {
        "description": about,
        **({"headers": {"Retry-After": seconds}} if again else {}),
        "content": {JSON: {"schema": told.of(Error) | own}},
    }


async def document(_: Request) -> Response:
    return Answer(described())


async def page(_: Request) -> Response:
    return HTMLResponse(shown())


@cache
def shown() -> str:
    """A plain page, without script."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>tongsa: API</title>',
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/static/page.css"></head>',
        "<body><main><h1>API</h1>",
        '<p>For programs: <a href="/v1/openapi.json">/v1/openapi.json</a>. Errors are ',
        '<code>{"error": "a sentence", "code": "a word"}</code>.</p>',
    ]
    schemas = described()["components"]["schemas"]
    for one in OPERATIONS:
        parts.append(f"<h2><code>{one.method.upper()} {one.path}</code></h2><p>{html.escape(one.about)}</p>")
        if one.asks:
            table = schemas[one.asks.__name__]
            notes = dict.fromkeys(table["required"], " (needed)")
            parts += ["<dl>", *_rows(table, notes), "</dl>"]
        parts += [f"<p>Answers {_written(Schemas(unsaid).of(tells))}.</p>" for tells in one.tells.values()]
    parts.append("<h2>Refusals</h2><dl>")
    parts += [f"<dt><code>{status}</code></dt><dd>{html.escape(one.about)}</dd>" for status, one in KINDS.items()]
    parts.append("</dl><h2>Objects</h2>")
    for name in sorted(schemas.keys() - {one.asks.__name__ for one in OPERATIONS if one.asks}):
        table = schemas[name]
        notes = dict.fromkeys(table["properties"].keys() - set(table["required"]), " (not always)")
        parts += [f'<h3 id="{name}">{name}</h3><dl>', *_rows(table, notes), "</dl>"]
    return "".join([*parts, "</main></body></html>\n"])


def _rows(table: Mapping[str, Any], notes: Mapping[str, str]) -> list[str]:
    rows = []
    for name, value in table["properties"].items():
        about = html.escape(value.get("description", ""))
        rows.append(f"<dt><code>{name}</code>{notes.get(name, '')}: {_written(value)}</dt><dd>{about}</dd>")
    return rows


def _written(schema: Mapping[str, Any]) -> str:
    """A schema in a few words, with links to those that have a name."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(map(_written, schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"<code>{html.escape(str(value))}</code>" for value in schema["enum"])
    if "prefixItems" in schema:
        return f"[{', '.join(map(_written, schema['prefixItems']))}]"
    if schema["type"] == "array":
        return f"a list of {_written(schema['items'])}"
    if schema["type"] == "object":
        return f"an object of {_written(schema['additionalProperties'])}"
    return str(schema["type"])
