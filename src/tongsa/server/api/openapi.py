"""OpenAPI document, made from the types that validate requests and describe responses, and a plain page of it."""

import html
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from tongsa.server.admission import QUEUED_PATHS
from tongsa.server.api.operations import JSON, NDJSON, OPERATIONS, Operation
from tongsa.server.config import RequestLimits
from tongsa.server.errors import ERROR_STATUSES, ErrorBody
from tongsa.server.http import JSONResponse, get_context

REF_TEMPLATE = "#/components/schemas/{model}"
LIMIT_KEYWORDS = ("maximum", "maxLength", "maxItems")
"""Keywords whose value is the name of a limit (validation.Limit) until the document is built."""


class SchemaGenerator(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - a title would repeat the field's name
        return False


class TypeSchemas(NamedTuple):
    by_type: Mapping[Any, dict[str, Any]]
    """Type of a request or response → its schema, usually a reference."""
    definitions: dict[str, dict[str, Any]]
    """Name → schema."""


@cache
def type_schemas(limits: RequestLimits) -> TypeSchemas:
    """Return the JSON schemas of all types."""
    requests = {operation.request_type for operation in OPERATIONS if operation.request_type}
    responses = [ErrorBody, *(hint for operation in OPERATIONS for hint in operation.response_types.values())]
    inputs: list[tuple[Any, JsonSchemaMode, TypeAdapter[Any]]] = []
    inputs += [(hint, "validation", TypeAdapter(hint)) for hint in requests]
    inputs += [(hint, "serialization", TypeAdapter(hint)) for hint in dict.fromkeys(responses)]
    by_key, definitions = TypeAdapter.json_schemas(inputs, ref_template=REF_TEMPLATE, schema_generator=SchemaGenerator)
    resolved = {hint: schema for (hint, _), schema in by_key.items()}
    return TypeSchemas(resolved, _fill_limits(definitions["$defs"], limits))


def _fill_limits(schema: Any, limits: RequestLimits) -> Any:
    """Replace names of limits by their values."""
    if isinstance(schema, list):
        return [_fill_limits(part, limits) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: getattr(limits, value) if key in LIMIT_KEYWORDS and isinstance(value, str) else _fill_limits(value, limits)
        for key, value in schema.items()
    }


TIMEOUT_PARAMETER = {
    "name": "X-Request-Timeout",
    "in": "header",
    "description": "Seconds until the request is cancelled, counted from its arrival; at most the server's own limit.",
    "schema": {"type": "number", "exclusiveMinimum": 0},
}


@cache
def build_document(limits: RequestLimits = RequestLimits()) -> dict[str, Any]:  # noqa: B008 - frozen
    types = type_schemas(limits)
    return {
        "openapi": "3.1.0",
        "info": {"title": "tongsa", "version": "1"},
        "paths": {operation.path: {operation.method: _describe(operation, types)} for operation in OPERATIONS},
        "components": {
            "schemas": types.definitions,
            "responses": {_error_name(status): _error_response(types, status) for status in ERROR_STATUSES},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def _describe(operation: Operation, types: TypeSchemas) -> dict[str, Any]:
    content = {media: {"schema": types.by_type[hint]} for media, hint in operation.response_types.items()}
    description = "The response; for a stream, one line of it." if NDJSON in content else "The response."
    responses: dict[str, Any] = {"200": {"description": description, "content": content}}
    responses |= {
        str(status): {"$ref": f"#/components/responses/{_error_name(status)}"}
        for status in ERROR_STATUSES
        if status in operation.error_statuses
    }
    body: dict[str, Any] = {}
    if operation.request_type:
        schema = types.by_type[operation.request_type]
        media = {content_type: {"schema": schema} for content_type in operation.content_types}
        body = {"requestBody": {"required": True, "content": media}}
    names = re.findall(r"{(\w+)}", operation.path)
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
    ]
    if operation.path in QUEUED_PATHS:
        parameters.append(TIMEOUT_PARAMETER)
    return {
        "summary": operation.summary,
        **({"parameters": parameters} if parameters else {}),
        **body,
        "responses": responses,
    }


def _error_name(status: int) -> str:
    return f"Error{status}"


def _error_response(types: TypeSchemas, status: int) -> dict[str, Any]:
    description, codes, has_retry_after = ERROR_STATUSES[status]
    restricted = {"properties": {"code": {"enum": list(codes)}}}
    seconds = {"description": "Seconds.", "required": True, "schema": {"type": "integer", "minimum": 1}}
    return {
        "description": description,
        **({"headers": {"Retry-After": seconds}} if has_retry_after else {}),
        "content": {JSON: {"schema": types.by_type[ErrorBody] | restricted}},
    }


async def openapi_json(request: Request) -> Response:
    return JSONResponse(build_document(get_context(request).config.limits))


async def docs_page(request: Request) -> Response:
    return HTMLResponse(render_docs(get_context(request).config.limits))


@cache
def render_docs(limits: RequestLimits) -> str:
    """Return an HTML page without scripts."""
    types = type_schemas(limits)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>tongsa: API</title>',
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/static/page.css"></head>',
        "<body><main><h1>API</h1>",
        '<p>For programs: <a href="/v1/openapi.json">/v1/openapi.json</a>. Errors are ',
        '<code>{"error": "a sentence", "code": "a word"}</code>. Header <code>X-Request-Timeout</code>: ',
        f"{TIMEOUT_PARAMETER['description']}</p>",
    ]
    for operation in OPERATIONS:
        title = f"{operation.method.upper()} {operation.path}"
        parts.append(f"<h2><code>{title}</code></h2><p>{html.escape(operation.summary)}</p>")
        if operation.request_type:
            schema = types.definitions[operation.request_type.__name__]
            notes = dict.fromkeys(schema.get("required", ()), " (required)")
            parts += ["<dl>", *_field_rows(schema, notes), "</dl>"]
        parts += [
            f"<p>Response: {_schema_text(types.by_type[hint])}.</p>" for hint in operation.response_types.values()
        ]
    parts.append("<h2>Errors</h2><dl>")
    parts += [
        f"<dt><code>{status}</code></dt><dd>{html.escape(error.description)}</dd>"
        for status, error in ERROR_STATUSES.items()
    ]
    parts.append("</dl><h2>Objects</h2>")
    request_names = {operation.request_type.__name__ for operation in OPERATIONS if operation.request_type}
    for name in sorted(types.definitions.keys() - request_names):
        schema = types.definitions[name]
        notes = dict.fromkeys(schema["properties"].keys() - set(schema.get("required", ())), " (optional)")
        parts += [f'<h3 id="{name}">{name}</h3><dl>', *_field_rows(schema, notes), "</dl>"]
    return "".join([*parts, "</main></body></html>\n"])


def _field_rows(schema: Mapping[str, Any], notes: Mapping[str, str]) -> list[str]:
    rows = []
    for name, field in schema["properties"].items():
        description = html.escape(field.get("description", ""))
        rows.append(f"<dt><code>{name}</code>{notes.get(name, '')}: {_schema_text(field)}</dt><dd>{description}</dd>")
    return rows


def _schema_text(schema: Mapping[str, Any]) -> str:
    """Describe a schema in a few words, with links to named objects."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(map(_schema_text, schema["anyOf"]))
    if "const" in schema:
        return f"<code>{html.escape(str(schema['const']))}</code>"
    if "enum" in schema:
        return " or ".join(f"<code>{html.escape(str(value))}</code>" for value in schema["enum"])
    if "prefixItems" in schema:
        return f"[{', '.join(map(_schema_text, schema['prefixItems']))}]"
    if schema["type"] == "array":
        return f"a list of {_schema_text(schema['items'])}"
    if schema["type"] == "object":
        return f"an object of {_schema_text(schema['additionalProperties'])}"
    return str(schema["type"])
