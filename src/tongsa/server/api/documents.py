"""Routes for documents whose format is kept: /v1/documents and /v1/formats."""

import asyncio
import base64
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import Field
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from tongsa.document_formats.formats import FORMATS
from tongsa.document_formats.translation import TranslatedDocument
from tongsa.server.api.schemas import GlossaryTerm, ModelRequest
from tongsa.server.api.validation import ListLimit, parse_json, parse_request
from tongsa.server.document_process import OpenDocument, open_document
from tongsa.server.documents import translate_source_texts
from tongsa.server.errors import APIError, bad_request_error, documented, too_long_error
from tongsa.server.http import (
    JSONResponse,
    ServerContext,
    encoded_response,
    get_context,
    request_deadline,
    run_in_thread,
    run_unless_disconnected,
)
from tongsa.server.limited_documents import max_bytes
from tongsa.server.model_pool import LoadedModel
from tongsa.server.queue import ModelQueue
from tongsa.server.request_body import UploadedFile, parse_multipart, read_body

MAX_FORM_BYTES = 200_000
"""Bytes of a form in addition to its file."""
MAX_NAME_CHARACTERS = 120


class DocumentRequest(ModelRequest):
    file: bytes
    """The document. Its name decides the format."""
    columns: str = ""
    """Columns of CSV or TSV, separated by commas: numbers from 1, or names in the first row. By default all."""
    glossary: Annotated[list[GlossaryTerm], ListLimit("glossary_terms")] = Field(default_factory=list)
    """Terms that must be translated in a given way, as JSON."""

    @property
    def column_list(self) -> list[str]:
        return [column.strip() for column in self.columns.split(",") if column.strip()]


@documented
class FlaggedDocumentSegment(TypedDict):
    location: str
    """A line of the document, or a segment of an entry in its archive."""
    source: str
    flags: list[str]
    """Reasons to look at the translation."""


@documented
class DocumentResponse(TypedDict):
    """With `Accept: application/json`; otherwise the response is the translated file."""

    model: str
    name: str
    """Name of the translated file."""
    content: str
    """The translated file, in base64."""
    translated: int
    """Number of translated segments."""
    kept: int
    """Number of segments without letters, or with a translation already."""
    flagged: list[FlaggedDocumentSegment]
    """Translated segments to look at."""


@documented
class FormatInfo(TypedDict):
    name: str
    extensions: list[str]
    max_bytes: int
    has_columns: bool
    """Columns can be chosen."""


@documented
class FormatsResponse(TypedDict):
    formats: list[FormatInfo]


async def formats(request: Request) -> Response:
    limits = get_context(request).config.limits
    return JSONResponse(
        {
            "formats": [
                {
                    "name": document_format.name,
                    "extensions": list(document_format.extensions),
                    "max_bytes": max_bytes(document_format, limits),
                    "has_columns": document_format.has_columns,
                }
                for document_format in FORMATS
            ]
        }
    )


async def translate(request: Request) -> Response:
    context = get_context(request)
    context.authorize(request)
    with context.document_slots.take():  # before the body is read: a document may take much memory
        name, query = await _read_request(request)
        queue = context.models.select(query.model, query.languages)

        async def parse_and_translate() -> TranslatedDocument:
            async with open_document(query.file, name, context.config.limits, query.column_list) as document:
                deadline = request_deadline(request).time
                return await translate_document(context, queue, document, query.glossary, deadline)

        translated = await run_unless_disconnected(request, parse_and_translate())
    return await _response(request, queue.name, translated_name(name, queue.model), translated)


async def _read_request(request: Request) -> tuple[str, DocumentRequest]:
    """Read the form; return the name of the file, and the fields."""
    upload, fields = await read_form(request)
    glossary = fields.get("glossary")
    try:
        fields["glossary"] = parse_json(glossary.encode()) if isinstance(glossary, str) and glossary.strip() else []
    except ValueError:
        raise _wrong_form() from None
    limits = get_context(request).config.limits
    return clean_name(upload.name), parse_request(DocumentRequest, fields | {"file": upload.content}, limits)


def _wrong_form() -> APIError:
    return APIError(400, "bad_request", "The form cannot be read. Send multipart/form-data with a file.")


async def read_form(
    request: Request, before_large: Callable[[bytes], None] | None = None
) -> tuple[UploadedFile, dict[str, Any]]:
    """Read a form with one file; return the file, and all fields. `before_large`: see `read_body`."""
    context = get_context(request)
    max_bytes = context.config.limits.document_bytes
    body = await read_body(request, context.config, max_bytes + MAX_FORM_BYTES, before_large)
    try:
        items = await run_in_thread(lambda: asyncio.run(parse_multipart(request.headers, body, max_files=1)))
    except (MultiPartException, ValueError, KeyError):
        raise _wrong_form() from None
    if sum(len(value) for _, value in items if isinstance(value, str)) > MAX_FORM_BYTES:
        raise too_long_error(f"The fields beside the file have more than {MAX_FORM_BYTES:,} characters. Shorten them.")
    fields: dict[str, Any] = dict(reversed(items))
    upload = fields.get("file")
    if not isinstance(upload, UploadedFile) or not upload.name:
        raise bad_request_error("file: no file with a name. Send the document as the field file of a form.")
    if len(upload.content) > max_bytes:
        raise too_long_error(f"{len(upload.content):,} bytes, but at most {max_bytes:,} in one document. Divide it.")
    return upload, fields


def clean_name(name: str) -> str:
    """Return the name of a file without folders and control characters, and not too long."""
    name = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", "", re.split(r"[\\/]", name)[-1])
    return name[-MAX_NAME_CHARACTERS:]


def translated_name(name: str, model: LoadedModel) -> str:
    """Return the name of the translation: film.srt and film.en.srt become film.ko.srt."""
    stem, dot, extension = name.rpartition(".")
    if model.source_language:
        stem = stem.removesuffix(f".{model.source_language}")
    return f"{stem}.{model.target_language or 'translated'}{dot}{extension}"


async def translate_document(
    context: ServerContext,
    queue: ModelQueue,
    document: OpenDocument,
    glossary: Sequence[GlossaryTerm],
    deadline: float,
) -> TranslatedDocument:
    """Translate a document with the sentences of all requests in one queue."""
    step = await document.advance()
    while not isinstance(step, TranslatedDocument):
        step = await document.advance(await translate_source_texts(context, queue, step, glossary, deadline))
    return step


async def _response(request: Request, model: str, name: str, translated: TranslatedDocument) -> Response:
    report = translated.report
    if "application/json" in request.headers.get("accept", ""):
        response: DocumentResponse = {
            "model": model,
            "name": name,
            "content": await run_in_thread(lambda: base64.b64encode(translated.content).decode()),
            "translated": report.translated,
            "kept": report.kept,
            "flagged": [
                {"location": segment.location, "source": segment.source, "flags": list(segment.flags)}
                for segment in report.flagged
            ],
        }
        return await encoded_response(response)
    counts = {
        "X-Segments-Translated": str(report.translated),
        "X-Segments-Kept": str(report.kept),
        "X-Segments-Flagged": str(len(report.flagged)),
    }
    return file_response(name, translated.content, counts)


def file_response(name: str, content: bytes, headers: Mapping[str, str] | None = None) -> Response:
    """Return a file to save; never text/html: a page that is sent here must not run on this site."""
    disposition = f"attachment; filename*=utf-8''{quote(name, safe='')}"
    headers = {"Content-Disposition": disposition} | dict(headers or {})
    return Response(content, media_type="application/octet-stream", headers=headers)
