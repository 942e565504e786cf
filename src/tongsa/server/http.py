"""One request and its answer on the wire: read within limits, given up when the client is gone or time is over."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tongsa.server.config import ServerConfig
from tongsa.server.errors import APIError, failed_error, too_long_error

T = TypeVar("T")
CLIENT_CLOSED_REQUEST = 499
"""What is counted when nobody is there any more to read a status."""


class ClientDisconnected(Exception):  # noqa: N818 - they may go
    """The client went away before its answer was there."""


async def read_body(request: Request, config: ServerConfig) -> bytes:
    """The body, if it is short enough and comes in time."""
    most, body = config.limits.body_bytes, bytearray()
    sentence = f"more than {most:,} bytes in one request; send it in several"
    stated = request.headers.get("content-length", "")
    if stated.isdigit() and int(stated[:20]) > most:
        raise too_long_error(sentence)
    try:
        async with asyncio.timeout(config.client_timeout):
            async for part in request.stream():
                body += part
                if len(body) > most:
                    raise too_long_error(sentence)
    except TimeoutError:
        raise APIError(408, "slow", f"the request did not arrive within {config.client_timeout:g} seconds") from None
    except ClientDisconnect:
        raise ClientDisconnected from None
    return bytes(body)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def timeout_error(seconds: float) -> APIError:
    return APIError(503, "timeout", f"not done within {seconds:g} seconds; send less at a time", retry_after=5.0)


async def with_timeout(work: Awaitable[T], seconds: float) -> T:
    """What the work gives, if it does so in time."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise timeout_error(seconds) from None


async def run_unless_disconnected(request: Request, work: Coroutine[Any, Any, T], seconds: float) -> T:
    """What the work gives; it is given up when the client goes away, or when it takes too long."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_wait_for_disconnect(request.receive))
    try:
        done, _ = await asyncio.wait({task, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task in done:
            return task.result()
        if gone in done:
            raise ClientDisconnected
        raise timeout_error(seconds)
    finally:
        gone.cancel()
        task.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


class JSONResponse(Response):
    """JSON, with Hangul as Hangul."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return encode_json(content)


def encode_json(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


class NDJSONResponse(Response):
    """One JSON object a line, each sent as soon as it is there. An error in the middle is a line, too."""

    media_type = "application/x-ndjson"

    def __init__(self, lines: AsyncIterator[Any]) -> None:
        self.lines = lines
        self.status_code, self.background = 200, None
        self.init_headers({"X-Accel-Buffering": "no", "Cache-Control": "no-store"})

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        sending, gone = asyncio.ensure_future(self._send(send)), asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            gone.cancel()
            sending.cancel()
            await asyncio.gather(sending, gone, return_exceptions=True)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with aclosing(self._lines_with_errors()) as lines:  # type: ignore[type-var]
            async for line in lines:
                body = encode_json(line) + b"\n"
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _lines_with_errors(self) -> AsyncIterator[Any]:
        """The lines, and a line about what went wrong in the middle of them."""
        try:
            async with aclosing(self.lines) as lines:  # type: ignore[type-var]
                async for line in lines:
                    yield line
        except APIError as refusal:
            yield refusal.body
        except Exception:  # noqa: BLE001 - the status is sent already
            yield failed_error("the server failed in the middle; ask again").body
