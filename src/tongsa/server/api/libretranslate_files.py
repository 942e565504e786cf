"""LibreTranslate's /translate_file and /download_file: a document is translated, then fetched under a random name."""

import re
from contextlib import AsyncExitStack, ExitStack
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from tongsa.errors import InputError
from tongsa.server.api import documents, libretranslate
from tongsa.server.api.validation import parse_request
from tongsa.server.auth import key_from_headers
from tongsa.server.document_process import open_document
from tongsa.server.errors import APIError, documented
from tongsa.server.http import (
    JSONResponse,
    ServerContext,
    get_context,
    request_deadline,
    run_unless_disconnected,
)

_KEY_NAME = re.compile(rb'[; ]name="?api_key\b')
"""In a header of the field of a form that holds the key."""


class TranslateFileRequest(libretranslate.LibreTranslateModel):
    file: bytes
    """The document. Its name decides the format."""
    source: str
    """Language of the document, or auto."""
    target: str
    """Language of the translation."""
    api_key: str = ""


@documented
class TranslateFileResponse(TypedDict):
    translatedFileUrl: str
    """Address of the translated file; it expires."""


async def translate_file(request: Request) -> Response:
    context = get_context(request)
    with ExitStack() as slot:

        def enter(key: str = "") -> None:
            context.authorize(request, key)
            slot.enter_context(context.document_slots.take())

        # The key may be a field of the form. A large document is not read, and has no slot, before its key is known.
        is_key_in_form = context.keys.required and not key_from_headers(request)
        if not is_key_in_form:
            enter()
        has_entered = not is_key_in_form

        def enter_early(beginning: bytes) -> None:
            nonlocal has_entered
            enter(key_in_form(beginning))
            has_entered = True

        upload, fields = await documents.read_form(request, enter_early if is_key_in_form else None)
        if not has_entered:
            key = fields.get("api_key")
            enter(key if isinstance(key, str) else "")
        query = parse_request(TranslateFileRequest, fields | {"file": upload.content}, context.config.limits)
        name = documents.clean_name(upload.name)
        work = _translate(context, query, name, request_deadline(request).time)
        translated_name, content = await run_unless_disconnected(request, work)
    token = context.translated_files.add(translated_name, content)
    url = f"{request.base_url}download_file/{token}.{quote(translated_name, safe='')}"
    return JSONResponse({"translatedFileUrl": url})


def key_in_form(beginning: bytes) -> str:
    """Return the key in the first bytes of a form, empty without one; in linear time, since anybody may send them."""
    lines = iter(beginning.split(b"\r\n")[:-1])  # the last one may be incomplete
    if any(_KEY_NAME.search(line) for line in lines) and any(not line for line in lines):  # an empty line ends headers
        return next(lines, b"").decode("utf-8", "replace")
    return ""


async def _translate(
    context: ServerContext, query: TranslateFileRequest, name: str, deadline: float
) -> tuple[str, bytes]:
    """Return the name and the content of the translated file."""
    async with AsyncExitStack() as stack:
        try:
            document = await stack.enter_async_context(open_document(query.file, name, context.config.limits))
        except InputError as error:
            raise APIError(400, "bad_request", str(error)) from None  # LibreTranslate's status
        source = query.source
        if source == libretranslate.AUTO_DETECT:
            source = libretranslate.detect_source(context, query.target, document.beginning)["language"]
        if source == query.target:
            return name, query.file
        queue = libretranslate.select_model(context, source, query.target)
        translated = await documents.translate_document(context, queue, document, (), deadline)
        return documents.translated_name(name, queue.model), translated.content


async def download_file(request: Request) -> Response:
    """Return a translated file. Its random name is the permission to read it."""
    token, _, name = str(request.path_params["name"]).partition(".")
    file = get_context(request).translated_files.get(token)
    if file is None or file.name != name:
        message = "No such file, or it has expired. Send the document to /translate_file again."
        raise APIError(404, "not_found", message)
    return documents.file_response(file.name, file.content)
