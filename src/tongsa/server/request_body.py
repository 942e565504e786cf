"""Bodies of requests, read within limits of size and time, and the forms in them."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import NamedTuple

from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartParser
from starlette.requests import ClientDisconnect, Request

from tongsa.server.config import ServerConfig
from tongsa.server.errors import APIError, too_long_error
from tongsa.server.http import ClientDisconnected

MAX_FORM_FIELDS = 50


async def read_body(
    request: Request,
    config: ServerConfig,
    max_bytes: int | None = None,
    before_large: Callable[[bytes], None] | None = None,
) -> bytes:
    """Read the body. Raise 413 above the size limit and 408 when it does not arrive in time.

    `before_large` is called once with the beginning of a body of more than `limits.body_bytes`, and may raise an error.
    """
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        # a few bytes may become many, and no client needs it
        raise APIError(400, "bad_request", "Content-Encoding: not supported. Send the body without compression.")
    limit, body = max_bytes or config.limits.body_bytes, bytearray()
    error = too_long_error(f"The body has more than {limit:,} bytes. Send several smaller requests.")
    content_length = request.headers.get("content-length", "")
    if content_length.isdigit() and int(content_length[:20]) > limit:
        raise error
    try:
        async with asyncio.timeout(config.client_timeout):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise error
                if before_large and len(body) > config.limits.body_bytes:
                    before_large(bytes(body))
                    before_large = None
    except TimeoutError:
        message = f"The request did not arrive within {config.client_timeout:g} seconds. Send it again."
        raise APIError(408, "slow", message) from None
    except ClientDisconnect:
        raise ClientDisconnected from None
    return bytes(body)


class InMemoryMultiPartParser(MultiPartParser):
    """Parser of forms that writes no file to the disk: the size of the body is limited."""

    spool_max_size = 0  # 0: no limit


class UploadedFile(NamedTuple):
    """A file in a form."""

    name: str
    content: bytes


async def parse_multipart(headers: Headers, body: bytes, max_files: int) -> list[tuple[str, str | UploadedFile]]:
    """Return the fields and files of a form, in order. A large form takes long: see `run_in_thread`."""

    async def stream() -> AsyncGenerator[bytes, None]:
        yield body
        yield b""

    _, options = parse_options_header(headers["content-type"])
    if options.get(b"charset", b"utf-8").lower() not in (b"utf-8", b"utf8"):
        # decoding others may take minutes (punycode) or give text that UTF-8 cannot encode (unicode_escape)
        raise APIError(400, "bad_request", "The form is not in UTF-8. Send it without a charset.")
    parser = InMemoryMultiPartParser(headers, stream(), max_files=max_files, max_fields=MAX_FORM_FIELDS)
    form = await parser.parse()
    items = [
        (field, value if isinstance(value, str) else UploadedFile(value.filename or "", value.file.read()))
        for field, value in form.multi_items()
    ]
    await form.close()
    return items
