"""The API of LibreTranslate, so that its clients work with this server unchanged."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl

from python_multipart.multipart import parse_options_header
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import Response

from tongsa.data import language_id as known
from tongsa.server.api.requests import ModelSelector, TranslateRequest, check_texts, parse_json_object, parse_request
from tongsa.server.api.v1 import translate_documents
from tongsa.server.config import RequestLimits
from tongsa.server.context import ServerContext, get_context
from tongsa.server.documents import create_documents
from tongsa.server.errors import APIError, bad_request_error
from tongsa.server.http import JSONResponse, read_body, run_unless_disconnected
from tongsa.server.markup import parse_html, parse_plain

AUTO_DETECT = "auto"
MAX_FORM_FIELDS = 50
"""Of one form."""


@dataclass(frozen=True, kw_only=True)
class LibreTranslateRequest:
    q: str | tuple[str, ...]
    """One text or several."""
    source: str
    """The language of the text, or auto."""
    target: str
    """The language wanted."""
    format: Literal["text", "html"] = "text"
    alternatives: int = 0
    """How many other translations."""
    api_key: str = ""

    def check(self, limits: RequestLimits) -> None:
        check_texts(self.texts, limits)
        if not 0 <= self.alternatives < limits.nbest:
            raise bad_request_error(
                f"alternatives {self.alternatives}: give a whole number from 0 to {limits.nbest - 1}"
            )

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.q,) if isinstance(self.q, str) else self.q


@dataclass(frozen=True, kw_only=True)
class DetectRequest:
    q: str
    api_key: str = ""

    def check(self, limits: RequestLimits) -> None:
        check_texts((self.q,), limits)


async def _read_fields(request: Request) -> dict[str, Any]:
    """The fields of a request, sent as JSON or as a form."""
    body = await read_body(request, get_context(request).config)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind == "application/x-www-form-urlencoded":
            pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS)
        elif kind == "multipart/form-data":
            pairs = await _parse_multipart(request, body)
        else:
            return parse_json_object(body)
    except (MultiPartException, ValueError, KeyError):
        raise APIError(400, "bad_request", "the form cannot be read; send q, source and target") from None
    fields: dict[str, Any] = dict(reversed(pairs))  # of two with one name the first counts
    if "alternatives" in fields:
        number = fields["alternatives"]
        fields["alternatives"] = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else number
    return fields


async def _parse_multipart(request: Request, body: bytes) -> list[tuple[str, str]]:
    async def stream() -> AsyncGenerator[bytes, None]:
        yield body
        yield b""

    _, options = parse_options_header(request.headers["content-type"])
    if options.get(b"charset", b"utf-8").lower() not in (b"utf-8", b"utf8"):
        # others may take minutes (punycode), or give what no answer could hold (unicode_escape)
        raise APIError(400, "bad_request", "the form is not in UTF-8; send it without a charset")
    form = await MultiPartParser(request.headers, stream(), max_files=0, max_fields=MAX_FORM_FIELDS).parse()
    return [(name, value) for name, value in form.multi_items() if isinstance(value, str)]


async def translate(request: Request) -> Response:
    service = get_context(request)
    fields = _known_fields(LibreTranslateRequest, await _read_fields(request))
    service.authorize(request, _string_or_empty(fields.get("api_key")))
    asked = parse_request(LibreTranslateRequest, fields, service.config.limits)
    asked.check(service.config.limits)
    auto = asked.source == AUTO_DETECT
    guessed = [_detect_source(service, asked, text) for text in asked.texts] if auto else []
    sources = [guess["language"] for guess in guessed] if auto else [asked.source] * len(asked.texts)
    made = await run_unless_disconnected(request, _translate_all(service, asked, sources), service.config.timeout)
    answer: dict[str, Any] = {"translatedText": [texts[0] for texts in made]}
    if auto:
        answer["detectedLanguage"] = guessed
    if asked.alternatives:
        answer["alternatives"] = [texts[1:] for texts in made]
    one = isinstance(asked.q, str)
    return JSONResponse({name: value[0] for name, value in answer.items()} if one else answer)


def _known_fields(request_type: Any, content: dict[str, Any]) -> dict[str, Any]:
    """Its fields alone: newer clients may send what is not known here."""
    return {name: content[name] for name in request_type.__dataclass_fields__ if name in content}


def _string_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _detect_source(context: ServerContext, query: LibreTranslateRequest, text: str) -> dict[str, Any]:
    """The likeliest of the languages that can be translated from; into itself nothing need be."""
    able = [
        one["code"]
        for one in _supported_languages(context)
        if query.target in one["targets"] or one["code"] == query.target
    ]
    return _detected_language(known.detect_language(text, able)[0]) if able else {"confidence": 0.0, "language": "en"}


def _detected_language(guess: tuple[str, float]) -> dict[str, Any]:
    return {"confidence": round(100 * guess[1], 1), "language": guess[0]}


async def _translate_all(
    context: ServerContext, query: LibreTranslateRequest, sources: Sequence[str]
) -> list[list[str]]:
    """Of each text the best translation and the others asked for."""
    made: dict[int, list[str]] = {}
    for source in dict.fromkeys(sources):
        which = [at for at, one in enumerate(sources) if one == source]
        texts = [query.texts[at] for at in which]
        every = (
            [[text] for text in texts]
            if source == query.target
            else await _translate_from(context, source, query, texts)
        )
        made |= zip(which, every, strict=True)
    return [made[at] for at in range(len(sources))]


async def _translate_from(
    context: ServerContext, source: str, query: LibreTranslateRequest, texts: Sequence[str]
) -> list[list[str]]:
    """Texts of one language."""
    try:
        worker = context.models.select(ModelSelector(source_language=source, target_language=query.target))
    except APIError as refusal:  # as LibreTranslate does
        status = 400 if refusal.status == 404 else refusal.status
        raise APIError(status, refusal.code, refusal.message, retry_after=refusal.retry_after) from None
    marked = [parse_html(text) if query.format == "html" else parse_plain(text) for text in texts]
    flat = tuple(text for one in marked for text in one.texts)
    question = TranslateRequest(text=flat, nbest=1 + query.alternatives)
    found = await asyncio.to_thread(create_documents, worker.model, question, context.config)
    made = iter(await translate_documents(context, worker, found))
    every = []
    for one in marked:
        parts = [next(made) for _ in one.texts]
        ranks = (
            one.fill([_assemble_rank(text, part, rank) for text, part in zip(one.texts, parts, strict=True)])
            for rank in range(1 + query.alternatives)
        )
        every.append(list(dict.fromkeys(ranks)))
    return every


def _assemble_rank(source: str, translation: dict[str, Any], rank: int) -> str:
    """A text whose sentences are all the n-th best; a sentence with fewer takes its last."""
    parts, end = [], 0
    for one in translation["sentences"]:
        every = [one["text"], *(other["text"] for other in one["alternatives"])]
        parts += [source[end : one["start"]], every[min(rank, len(every) - 1)]]
        end = one["end"]
    return "".join([*parts, source[end:]])


def _supported_languages(context: ServerContext) -> list[dict[str, Any]]:
    """Every language that is translated from or into, and into which."""
    targets: dict[str, list[str]] = {}
    for model in context.models.list_models():
        if model["task"] == "seq2seq" and model["source_language"] and model["target_language"]:
            targets.setdefault(model["source_language"], []).append(model["target_language"])
            targets.setdefault(model["target_language"], [])
    return [
        {"code": code, "name": known.language_name(code), "targets": list(dict.fromkeys([*into, code]))}
        for code, into in sorted(targets.items())
    ]


async def languages(request: Request) -> Response:
    return JSONResponse(_supported_languages(get_context(request)))


async def detect(request: Request) -> Response:
    service = get_context(request)
    fields = _known_fields(DetectRequest, await _read_fields(request))
    service.authorize(request, _string_or_empty(fields.get("api_key")))
    asked = parse_request(DetectRequest, fields, service.config.limits)
    asked.check(service.config.limits)
    guesses = known.detect_language(asked.q, [one["code"] for one in _supported_languages(service)])
    return JSONResponse([_detected_language(one) for one in guesses])


async def health(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def frontend_settings(request: Request) -> Response:
    service = get_context(request)
    offered = [one for one in _supported_languages(service) if len(one["targets"]) > 1] or [
        {"code": "en", "targets": ["en"]}
    ]
    source, target = offered[0]["code"], offered[0]["targets"][0]
    return JSONResponse(
        {
            "apiKeys": service.keys.required,
            "keyRequired": service.keys.required,
            "charLimit": service.config.limits.characters,
            "frontendTimeout": 500,
            "suggestions": False,
            "filesTranslation": False,
            "supportedFilesFormat": [],
            "language": {
                "source": {"code": source, "name": known.language_name(source)},
                "target": {"code": target, "name": known.language_name(target)},
            },
        }
    )
