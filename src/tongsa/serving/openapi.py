"""The API described: an OpenAPI document of the very dataclasses that requests are checked by, and a page of it."""

import ast
import html
import inspect
import textwrap
import types
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from tongsa.serving import requests
from tongsa.serving.exchange import Answer
from tongsa.serving.libretranslate import DetectRequest, LibreTranslateRequest

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
ERRORS = {
    "400": "not JSON, or not a form",
    "401": "no API key",
    "403": "a wrong API key, or a page of another site",
    "404": "no such model or address",
    "408": "the request did not arrive in time",
    "413": "too long",
    "422": "a field that does not fit",
    "429": "too many requests; see Retry-After",
    "503": "busy, or still loading; see Retry-After",
}


class Operation(NamedTuple):
    method: str
    path: str
    about: str
    asks: type[Any] | None = None


OPERATIONS = (
    Operation("post", "/v1/translate", "Translate texts, sentence by sentence.", requests.TranslateRequest),
    Operation("post", "/v1/alternatives", "Other ways to go on after a beginning.", requests.AlternativesRequest),
    Operation("post", "/v1/score", "log p of a target given its source, piece by piece.", requests.ScoreRequest),
    Operation("post", "/v1/attention", "What every head looked at.", requests.AttentionRequest),
    Operation("post", "/v1/tree", "What the beam kept and pruned.", requests.TreeRequest),
    Operation("post", "/v1/classify", "A label for each text.", requests.ClassifyRequest),
    Operation("get", "/v1/models", "The models, and the limits of a request."),
    Operation("post", "/translate", "Translate, as LibreTranslate does.", LibreTranslateRequest),
    Operation("post", "/detect", "Guess a text's language, as LibreTranslate does.", DetectRequest),
    Operation("get", "/languages", "The languages, as LibreTranslate tells them."),
    Operation("get", "/health", "Whether the server answers, as LibreTranslate tells it."),
    Operation("get", "/frontend/settings", "Limits and languages, as LibreTranslate tells them."),
    Operation("get", "/healthz", "Whether the server answers."),
    Operation("get", "/readyz", "Whether its models are loaded."),
    Operation("get", "/metrics", "Counters for Prometheus."),
)


@cache
def described() -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for one in OPERATIONS:
        answers: dict[str, Any] = {"200": {"description": "the answer"}}
        if one.asks:
            answers |= {status: {"description": why, "content": _json("Error")} for status, why in ERRORS.items()}
            schemas[one.asks.__name__] = schema(one.asks)
        body = {"requestBody": {"required": True, "content": _json(one.asks.__name__)}} if one.asks else {}
        paths[one.path] = {one.method: {"summary": one.about, **body, "responses": answers}}
    schemas["Error"] = {
        "type": "object",
        "properties": {"error": {"type": "string"}, "code": {"type": "string"}},
        "required": ["error", "code"],
    }
    security = {"key": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "tongsa", "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": security},
        "security": [{}, {"key": []}],
    }


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def schema(kind: type[Any]) -> dict[str, Any]:
    """A frozen dataclass as JSON Schema, with what stands under its fields."""
    hints, about = get_type_hints(kind), descriptions(kind)
    properties = {}
    for field in fields(kind):
        described = {"description": about[field.name]} if field.name in about else {}
        properties[field.name] = _schema(hints[field.name]) | described | _default(field)
    needed = [field.name for field in fields(kind) if field.default is MISSING]
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _default(field: "Field[Any]") -> dict[str, Any]:
    if field.default is MISSING or field.default is None:
        return {}
    return {"default": list(field.default) if isinstance(field.default, tuple) else field.default}


def _schema(hint: Any) -> dict[str, Any]:
    origin, options = get_origin(hint), get_args(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        return schema(hint)
    if origin is Literal:
        return {"enum": list(options)}
    if origin in (Union, types.UnionType):
        some = [_schema(option) for option in options if option is not type(None)]
        return some[0] if len(some) == 1 else {"anyOf": some}
    if origin is tuple:
        return {"type": "array", "items": _schema(options[0])}
    return {"type": PLAIN[hint]}


def descriptions(kind: type[Any]) -> dict[str, str]:
    """Field → the sentence under it, of a dataclass and of those it builds on."""
    found: dict[str, str] = {}
    for one in reversed([base for base in kind.__mro__ if is_dataclass(base)]):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for before, after in pairwise(body):
            told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and after.value.value
            if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and isinstance(told, str):
                found[before.target.id] = told
    return found


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
    for one in OPERATIONS:
        parts.append(f"<h2><code>{one.method.upper()} {one.path}</code></h2><p>{html.escape(one.about)}</p>")
        if one.asks:
            parts += ["<dl>", *_rows(schema(one.asks)), "</dl>"]
    parts.append("<h2>Refusals</h2><dl>")
    parts += [f"<dt><code>{status}</code></dt><dd>{html.escape(why)}</dd>" for status, why in ERRORS.items()]
    return "".join([*parts, "</dl></main></body></html>\n"])


def _rows(table: dict[str, Any]) -> list[str]:
    rows = []
    for name, value in table["properties"].items():
        note = " (needed)" if name in table["required"] else ""
        rows.append(f"<dt><code>{name}</code>{note}</dt><dd>{html.escape(value.get('description', ''))}</dd>")
    return rows
