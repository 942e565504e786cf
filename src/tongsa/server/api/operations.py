"""All routes of the API, with the types of their requests and responses and the errors that they may give."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tongsa.server.api import (
    documents,
    libretranslate,
    libretranslate_files,
    response_schemas,
    schemas,
    trace,
    trace_schemas,
    view_schemas,
)
from tongsa.server.api.validation import RequestModel

JSON, NDJSON, PLAIN_TEXT = "application/json", "application/x-ndjson", "text/plain"
BINARY = "application/octet-stream"
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
PROBE_ERRORS = (400, 403, 421, 500)
"""Errors of all routes."""
PUBLIC_ERRORS = (*PROBE_ERRORS, 503)
"""Errors of routes without an API key."""
AUTHENTICATED_ERRORS = (*PUBLIC_ERRORS, 401, 408, 413, 422, 429)
FILE_ERRORS = (*PUBLIC_ERRORS, 404)
MODEL_ERRORS = (*AUTHENTICATED_ERRORS, 404)
"""Errors of routes that select a model by its name."""


class Operation(NamedTuple):
    method: str
    path: str
    summary: str
    response_types: Mapping[str, Any]
    """Media type → type of the response."""
    error_statuses: tuple[int, ...]
    request_type: type[RequestModel] | None = None
    content_types: tuple[str, ...] = (JSON,)


def _post(path: str, summary: str, request_type: type[RequestModel], response_type: Any) -> Operation:
    return Operation("post", path, summary, {JSON: response_type}, MODEL_ERRORS, request_type)


def _get(path: str, summary: str, response_type: Any, error_statuses: tuple[int, ...] = PUBLIC_ERRORS) -> Operation:
    return Operation("get", path, summary, {JSON: response_type}, error_statuses)


def _libretranslate_post(path: str, summary: str, request_type: type[RequestModel], response_type: Any) -> Operation:
    types = (JSON, *FORM_TYPES)
    return Operation("post", path, summary, {JSON: response_type}, AUTHENTICATED_ERRORS, request_type, types)


OPERATIONS = (
    Operation(
        "post",
        "/v1/translate",
        "Translate texts, sentence by sentence.",
        {JSON: response_schemas.TranslateResponse, NDJSON: response_schemas.StreamLine},
        MODEL_ERRORS,
        schemas.TranslateRequest,
    ),
    Operation(
        "post",
        "/v1/documents",
        "Translate a document and keep its format.",
        {BINARY: bytes, JSON: documents.DocumentResponse},
        MODEL_ERRORS,
        documents.DocumentRequest,
        ("multipart/form-data",),
    ),
    _get("/v1/formats", "Formats of documents.", documents.FormatsResponse),
    _post(
        "/v1/alternatives",
        "Continue a prefix of the translation in several ways.",
        schemas.AlternativesRequest,
        response_schemas.AlternativesResponse,
    ),
    _post(
        "/v1/score",
        "Log-probability of a target given its source, token by token.",
        schemas.ScoreRequest,
        response_schemas.ScoreResponse,
    ),
    _post(
        "/v1/continue",
        "Continue a text with a language model, and its likeliest next tokens.",
        schemas.ContinueRequest,
        response_schemas.ContinueResponse,
    ),
    _post(
        "/v1/corrections",
        "Store a corrected translation, if the owner of the server collects them.",
        schemas.CorrectionRequest,
        response_schemas.Status,
    ),
    _post("/v1/attention", "Attention weights of all heads.", schemas.AttentionRequest, view_schemas.AttentionResponse),
    _post(
        "/v1/tree",
        "Beam search step by step: kept and pruned hypotheses.",
        schemas.SearchTreeRequest,
        view_schemas.SearchTreeResponse,
    ),
    _post("/v1/trace", "Every tensor of one text, and what if.", trace.TraceRequest, trace_schemas.TraceResponse),
    _post("/v1/positions", "Position tables of a model.", schemas.ModelRequest, view_schemas.PositionsResponse),
    _post("/v1/curves", "Training curves of a model.", schemas.ModelRequest, view_schemas.CurvesResponse),
    _post("/v1/classify", "A label for each text.", schemas.ClassifyRequest, response_schemas.ClassifyResponse),
    _get("/v1/models", "Models and limits of a request.", response_schemas.ModelsResponse),
    _libretranslate_post(
        "/translate",
        "Translate (LibreTranslate).",
        libretranslate.LibreTranslateRequest,
        libretranslate.LibreTranslateResponse,
    ),
    Operation(
        "post",
        "/translate_file",
        "Translate a document and keep its format; the response has its address (LibreTranslate).",
        {JSON: libretranslate_files.TranslateFileResponse},
        AUTHENTICATED_ERRORS,
        libretranslate_files.TranslateFileRequest,
        ("multipart/form-data",),
    ),
    Operation("get", "/download_file/{name}", "A translated document (LibreTranslate).", {BINARY: bytes}, FILE_ERRORS),
    _libretranslate_post(
        "/detect",
        "Detect the language of a text (LibreTranslate).",
        libretranslate.DetectRequest,
        list[libretranslate.DetectedLanguage],
    ),
    _get("/languages", "Languages (LibreTranslate).", list[libretranslate.Language]),
    _get("/health", "Health check (LibreTranslate).", response_schemas.Status, PROBE_ERRORS),
    _get("/frontend/settings", "Limits and languages (LibreTranslate).", libretranslate.FrontendSettings),
    _get("/healthz", "Health check: the server answers.", response_schemas.Status, PROBE_ERRORS),
    _get("/readyz", "Readiness check: the models are loaded.", response_schemas.Status),
    Operation("get", "/metrics", "Prometheus metrics.", {PLAIN_TEXT: str}, (*PROBE_ERRORS, 401, 429)),
)
