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

from tongsa.serving.config import Limits
from tongsa.serving.documents import documents
from tongsa.serving.exchange import Answer, received, unless_gone
from tongsa.serving.markup import markup, plain
from tongsa.serving.native import translated
from tongsa.serving.refusal import Refusal, bad
from tongsa.serving.requests import TranslateRequest, Which, check_texts, parsed, table
from tongsa.serving.service import Service, service_of
from tongsa.text import languages as known

AUTO = "auto"
FIELDS = 50
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

    def check(self, limits: Limits) -> None:
        check_texts(self.texts, limits)
        if not 0 <= self.alternatives < limits.nbest:
            raise bad(f"alternatives {self.alternatives}: give a whole number from 0 to {limits.nbest - 1}")

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.q,) if isinstance(self.q, str) else self.q


@dataclass(frozen=True, kw_only=True)
class DetectRequest:
    q: str
    api_key: str = ""

    def check(self, limits: Limits) -> None:
        check_texts((self.q,), limits)


async def _content(request: Request) -> dict[str, Any]:
    """The fields of a request, sent as JSON or as a form."""
    body = await received(request, service_of(request).config)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind == "application/x-www-form-urlencoded":
            pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=FIELDS)
        elif kind == "multipart/form-data":
            pairs = await _parts(request, body)
        else:
            return table(body)
    except (MultiPartException, ValueError, KeyError):
        raise Refusal(400, "bad_request", "the form cannot be read; send q, source and target") from None
    fields: dict[str, Any] = dict(reversed(pairs))  # of two with one name the first counts
    if "alternatives" in fields:
        number = fields["alternatives"]
        fields["alternatives"] = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else number
    return fields


async def _parts(request: Request, body: bytes) -> list[tuple[str, str]]:
    async def stream() -> AsyncGenerator[bytes, None]:
        yield body
        yield b""

    _, options = parse_options_header(request.headers["content-type"])
    if options.get(b"charset", b"utf-8").lower() not in (b"utf-8", b"utf8"):
        # others may take minutes (punycode), or give what no answer could hold (unicode_escape)
        raise Refusal(400, "bad_request", "the form is not in UTF-8; send it without a charset")
    form = await MultiPartParser(request.headers, stream(), max_files=0, max_fields=FIELDS).parse()
    return [(name, value) for name, value in form.multi_items() if isinstance(value, str)]


async def translate(request: Request) -> Response:
    service = service_of(request)
    fields = _only(LibreTranslateRequest, await _content(request))
    service.admit(request, _text(fields.get("api_key")))
    asked = parsed(LibreTranslateRequest, fields, service.config.limits)
    asked.check(service.config.limits)
    auto = asked.source == AUTO
    guessed = [_guessed(service, asked, text) for text in asked.texts] if auto else []
    sources = [guess["language"] for guess in guessed] if auto else [asked.source] * len(asked.texts)
    made = await unless_gone(request, _translations(service, asked, sources), service.config.timeout)
    answer: dict[str, Any] = {"translatedText": [texts[0] for texts in made]}
    if auto:
        answer["detectedLanguage"] = guessed
    if asked.alternatives:
        answer["alternatives"] = [texts[1:] for texts in made]
    one = isinstance(asked.q, str)
    return Answer({name: value[0] for name, value in answer.items()} if one else answer)


def _only(kind: Any, content: dict[str, Any]) -> dict[str, Any]:
    """Its fields alone: newer clients may send what is not known here."""
    return {name: content[name] for name in kind.__dataclass_fields__ if name in content}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _guessed(service: Service, asked: LibreTranslateRequest, text: str) -> dict[str, Any]:
    """The likeliest of the languages that can be translated from; into itself nothing need be."""
    able = [one["code"] for one in _languages(service) if asked.target in one["targets"] or one["code"] == asked.target]
    return _as_guess(known.guesses(text, able)[0]) if able else {"confidence": 0.0, "language": "en"}


def _as_guess(guess: tuple[str, float]) -> dict[str, Any]:
    return {"confidence": round(100 * guess[1], 1), "language": guess[0]}


async def _translations(service: Service, asked: LibreTranslateRequest, sources: Sequence[str]) -> list[list[str]]:
    """Of each text the best translation and the others asked for."""
    made: dict[int, list[str]] = {}
    for source in dict.fromkeys(sources):
        which = [at for at, one in enumerate(sources) if one == source]
        texts = [asked.texts[at] for at in which]
        every = [[text] for text in texts] if source == asked.target else await _from(service, source, asked, texts)
        made |= zip(which, every, strict=True)
    return [made[at] for at in range(len(sources))]


async def _from(service: Service, source: str, asked: LibreTranslateRequest, texts: Sequence[str]) -> list[list[str]]:
    """Texts of one language."""
    try:
        worker = service.models.chosen(Which(source=source, target=asked.target))
    except Refusal as refusal:  # as LibreTranslate does
        status = 400 if refusal.status == 404 else refusal.status
        raise Refusal(status, refusal.code, refusal.sentence, again=refusal.again) from None
    marked = [markup(text) if asked.format == "html" else plain(text) for text in texts]
    flat = tuple(text for one in marked for text in one.texts)
    question = TranslateRequest(text=flat, nbest=1 + asked.alternatives)
    found = await asyncio.to_thread(documents, worker.model, question, service.config)
    made = iter(await translated(service, worker, found))
    every = []
    for one in marked:
        parts = [next(made) for _ in one.texts]
        ranks = (
            one.filled([_ranked(text, part, rank) for text, part in zip(one.texts, parts, strict=True)])
            for rank in range(1 + asked.alternatives)
        )
        every.append(list(dict.fromkeys(ranks)))
    return every


def _ranked(source: str, made: dict[str, Any], rank: int) -> str:
    """A text whose sentences are all the n-th best; a sentence with fewer takes its last."""
    parts, end = [], 0
    for one in made["sentences"]:
        every = [one["text"], *(other["text"] for other in one["alternatives"])]
        parts += [source[end : one["start"]], every[min(rank, len(every) - 1)]]
        end = one["end"]
    return "".join([*parts, source[end:]])


def _languages(service: Service) -> list[dict[str, Any]]:
    """Every language that is translated from or into, and into which."""
    targets: dict[str, list[str]] = {}
    for model in service.models.told():
        if model["task"] == "pairs" and model["source_language"] and model["target_language"]:
            targets.setdefault(model["source_language"], []).append(model["target_language"])
            targets.setdefault(model["target_language"], [])
    return [
        {"code": code, "name": known.name(code), "targets": list(dict.fromkeys([*into, code]))}
        for code, into in sorted(targets.items())
    ]


async def languages(request: Request) -> Response:
    return Answer(_languages(service_of(request)))


async def detect(request: Request) -> Response:
    service = service_of(request)
    fields = _only(DetectRequest, await _content(request))
    service.admit(request, _text(fields.get("api_key")))
    asked = parsed(DetectRequest, fields, service.config.limits)
    asked.check(service.config.limits)
    guesses = known.guesses(asked.q, [one["code"] for one in _languages(service)])
    return Answer([_as_guess(one) for one in guesses])


async def health(_: Request) -> Response:
    return Answer({"status": "ok"})


async def settings(request: Request) -> Response:
    service = service_of(request)
    offered = [one for one in _languages(service) if len(one["targets"]) > 1] or [{"code": "en", "targets": ["en"]}]
    source, target = offered[0]["code"], offered[0]["targets"][0]
    return Answer(
        {
            "apiKeys": service.keys.wanted,
            "keyRequired": service.keys.wanted,
            "charLimit": service.config.limits.characters,
            "frontendTimeout": 500,
            "suggestions": False,
            "filesTranslation": False,
            "supportedFilesFormat": [],
            "language": {
                "source": {"code": source, "name": known.name(source)},
                "target": {"code": target, "name": known.name(target)},
            },
        }
    )
