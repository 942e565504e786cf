"""LibreTranslate-compatible API: its clients work with this server unchanged."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired
from urllib.parse import parse_qsl

from pydantic import ConfigDict
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from tongsa.data.language_id import detect_language, language_name
from tongsa.document_formats.formats import FORMATS
from tongsa.server.api.html_markup import Markup, parse_html
from tongsa.server.api.schemas import Texts, TranslateRequest
from tongsa.server.api.validation import NumberLimit, RequestModel, TextLimit, parse_json_object, parse_request
from tongsa.server.documents import split_documents, translate_documents
from tongsa.server.errors import APIError, documented
from tongsa.server.http import (
    JSONResponse,
    ServerContext,
    get_context,
    request_deadline,
    run_in_thread,
    run_unless_disconnected,
)
from tongsa.server.queue import ModelQueue
from tongsa.server.request_body import MAX_FORM_FIELDS, parse_multipart, read_body

AUTO_DETECT = "auto"


class LibreTranslateModel(RequestModel):
    """Unknown fields are ignored: newer clients may send more."""

    model_config = ConfigDict(extra="ignore")


class LibreTranslateRequest(LibreTranslateModel):
    q: Texts
    """One text or several."""
    source: str
    """Language of the text, or auto."""
    target: str
    """Language of the translation."""
    format: Literal["text", "html"] = "text"
    alternatives: Annotated[int, NumberLimit("extra_translations", minimum=0)] = 0
    """Number of other translations."""
    api_key: str = ""


class DetectRequest(LibreTranslateModel):
    q: Annotated[str, TextLimit("characters", "nothing")]
    api_key: str = ""


@documented
class DetectedLanguage(TypedDict):
    confidence: float
    """In percent."""
    language: str


@documented
class LibreTranslateResponse(TypedDict):
    """For several texts each field is a list."""

    translatedText: str | list[str]
    detectedLanguage: NotRequired[DetectedLanguage | list[DetectedLanguage]]
    """With source auto."""
    alternatives: NotRequired[list[str] | list[list[str]]]


@documented
class Language(TypedDict):
    code: str
    name: str
    targets: list[str]


@documented
class LanguageName(TypedDict):
    code: str
    name: str


@documented
class LanguagePair(TypedDict):
    source: LanguageName
    target: LanguageName


@documented
class FrontendSettings(TypedDict):
    apiKeys: bool
    keyRequired: bool
    charLimit: int
    frontendTimeout: int
    suggestions: bool
    filesTranslation: bool
    supportedFilesFormat: list[str]
    language: LanguagePair


# Routes


async def translate(request: Request) -> Response:
    context, fields = get_context(request), await _read_fields(request)
    query = parse_request(LibreTranslateRequest, fields, context.config.limits)
    is_auto = query.source == AUTO_DETECT
    detected = await run_in_thread(_detect_sources, context, query) if is_auto else []
    sources = [guess["language"] for guess in detected] if is_auto else [query.source] * len(query.q)
    work = _translate_all(context, query, sources, request_deadline(request).time)
    translations = await run_unless_disconnected(request, work)
    response: dict[str, Any] = {"translatedText": [ranked[0] for ranked in translations]}
    if is_auto:
        response["detectedLanguage"] = detected
    if query.alternatives:
        response["alternatives"] = [ranked[1:] for ranked in translations]
    is_single = isinstance(fields["q"], str)
    return JSONResponse({name: values[0] for name, values in response.items()} if is_single else response)


def _detect_sources(context: ServerContext, query: LibreTranslateRequest) -> list[DetectedLanguage]:
    return [detect_source(context, query.target, text) for text in query.q]


async def detect(request: Request) -> Response:
    context, fields = get_context(request), await _read_fields(request)
    query = parse_request(DetectRequest, fields, context.config.limits)
    codes = [language["code"] for language in _supported_languages(context)]
    return JSONResponse([_detected_language(*guess) for guess in detect_language(query.q, codes)])


async def languages(request: Request) -> Response:
    return JSONResponse(_supported_languages(get_context(request)))


async def frontend_settings(request: Request) -> Response:
    context = get_context(request)
    sources = [language for language in _supported_languages(context) if len(language["targets"]) > 1]
    source, target = (sources[0]["code"], sources[0]["targets"][0]) if sources else ("en", "en")
    settings: FrontendSettings = {
        "apiKeys": context.keys.required,
        "keyRequired": context.keys.required,
        "charLimit": context.config.limits.characters,
        "frontendTimeout": 500,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": [extension for known in FORMATS for extension in known.extensions],
        "language": {
            "source": {"code": source, "name": language_name(source)},
            "target": {"code": target, "name": language_name(target)},
        },
    }
    return JSONResponse(settings)


# Reading


async def _read_fields(request: Request) -> dict[str, Any]:
    """Read JSON or a form, and authorize by the key in it."""
    context = get_context(request)
    body = await read_body(request, context.config)
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if content_type == "application/x-www-form-urlencoded":
            pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS)
            fields = _form_fields(pairs)
        elif content_type == "multipart/form-data":
            items = await parse_multipart(request.headers, body, max_files=0)
            fields = _form_fields([(name, value) for name, value in items if isinstance(value, str)])
        else:
            fields = parse_json_object(body)
    except (MultiPartException, ValueError, KeyError):
        raise APIError(400, "bad_request", "The form cannot be read. Send q, source and target.") from None
    key = fields.get("api_key")
    context.authorize(request, key if isinstance(key, str) else "")
    return fields


def _form_fields(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    fields: dict[str, Any] = dict(reversed(pairs))  # the first of two fields with one name counts
    number = fields.get("alternatives", "")
    if number.isascii() and number.isdigit() and len(number) < 9:  # a form has no numbers, only text
        fields["alternatives"] = int(number)
    return fields


# Languages


def _supported_languages(context: ServerContext) -> list[Language]:
    """Return the languages of all models, each with its targets. LibreTranslate lists a language as its own target."""
    targets: dict[str, list[str]] = {}
    for model in context.models.list_models():
        if model["task"] == "seq2seq" and model["source_language"] and model["target_language"]:
            targets.setdefault(model["source_language"], []).append(model["target_language"])
            targets.setdefault(model["target_language"], [])
    return [
        {"code": code, "name": language_name(code), "targets": list(dict.fromkeys([*codes, code]))}
        for code, codes in sorted(targets.items())
    ]


def detect_source(context: ServerContext, target: str, text: str) -> DetectedLanguage:
    """Return the likeliest of the languages that can be translated into the target."""
    codes = [language["code"] for language in _supported_languages(context) if target in language["targets"]]
    return _detected_language(*detect_language(text, codes)[0]) if codes else {"confidence": 0.0, "language": "en"}


def _detected_language(code: str, probability: float) -> DetectedLanguage:
    return {"confidence": round(100 * probability, 1), "language": code}


# Translating


async def _translate_all(
    context: ServerContext, query: LibreTranslateRequest, sources: Sequence[str], deadline: float
) -> list[list[str]]:
    """Return for each text its translations, best first."""
    translations: dict[int, list[str]] = {}
    for source in dict.fromkeys(sources):
        indices = [i for i, language in enumerate(sources) if language == source]
        texts = [query.q[i] for i in indices]
        is_same = source == query.target
        if is_same:
            ranked = [[text] for text in texts]
        else:
            ranked = await _translate_from(context, source, query, texts, deadline)
        translations |= zip(indices, ranked, strict=True)
    return [translations[i] for i in range(len(sources))]


def select_model(context: ServerContext, source: str, target: str) -> ModelQueue:
    """Return the model for two languages. LibreTranslate answers 400 for an unknown language."""
    try:
        return context.models.select(languages=(source, target))
    except APIError as error:
        status = 400 if error.status == 404 else error.status
        raise APIError(status, error.code, error.message, retry_after=error.retry_after) from None


async def _translate_from(
    context: ServerContext, source: str, query: LibreTranslateRequest, texts: Sequence[str], deadline: float
) -> list[list[str]]:
    """Translate texts of one language."""
    queue = select_model(context, source, query.target)
    markups = [parse_html(text) if query.format == "html" else Markup([text], ["", ""], False) for text in texts]
    plain_texts = [text for markup in markups for text in markup.texts]
    request = TranslateRequest(text=plain_texts, nbest=1 + query.alternatives) if plain_texts else None
    documents = await split_documents(queue.model, request, context.config) if request else []
    translated = iter(await translate_documents(context, queue, documents, deadline))
    ranked = []
    for markup in markups:
        parts = [next(translated) for _ in markup.texts]
        ranks = (
            markup.fill([_text_of_rank(text, part, rank) for text, part in zip(markup.texts, parts, strict=True)])
            for rank in range(1 + query.alternatives)
        )
        ranked.append(list(dict.fromkeys(ranks)))
    return ranked


def _text_of_rank(source: str, translation: dict[str, Any], rank: int) -> str:
    """Return a text whose sentences are all the rank-th best; a sentence with fewer alternatives takes its last."""
    parts, end = [], 0
    for sentence in translation["sentences"]:
        texts = [sentence["text"], *(alternative["text"] for alternative in sentence["alternatives"])]
        parts += [source[end : sentence["start"]], texts[min(rank, len(texts) - 1)]]
        end = sentence["end"]
    return "".join([*parts, source[end:]])
