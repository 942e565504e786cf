"""One request and its answer on the wire: read within limits, given up when the client is gone or time is over."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tongsa.serving.config import ServingConfig
from tongsa.serving.refusal import Refusal, failed, too_long

T = TypeVar("T")
GONE = 499
"""What is counted when nobody is there any more to read a status."""


class ClientGone(Exception):  # noqa: N818 - they may go
    """The client went away before its answer was there."""


async def received(request: Request, config: ServingConfig) -> bytes:
    """The body, if it is short enough and comes in time."""
    most, body = config.limits.body_bytes, bytearray()
    sentence = f"more than {most:,} bytes in one request; send it in several"
    stated = request.headers.get("content-length", "")
    if stated.isdigit() and int(stated[:20]) > most:
        raise too_long(sentence)
    try:
        async with asyncio.timeout(config.patience):
            async for part in request.stream():
                body += part
                if len(body) > most:
                    raise too_long(sentence)
    except TimeoutError:
        raise Refusal(408, "slow", f"the request did not arrive within {config.patience:g} seconds") from None
    except ClientDisconnect:
        raise ClientGone from None
    return bytes(body)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def late(seconds: float) -> Refusal:
    return Refusal(503, "timeout", f"not done within {seconds:g} seconds; send less at a time", again=5.0)


async def within(work: Awaitable[T], seconds: float) -> T:
    """What the work gives, if it does so in time."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise late(seconds) from None


async def unless_gone(request: Request, work: Coroutine[Any, Any, T], seconds: float) -> T:
    """What the work gives; it is given up when the client goes away, or when it takes too long."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_gone(request.receive))
    try:
        done, _ = await asyncio.wait({task, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task in done:
            return task.result()
        if gone in done:
            raise ClientGone
        raise late(seconds)
    finally:
        gone.cancel()
        task.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


class Answer(Response):
    """JSON, with Hangul as Hangul."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return written(content)


def written(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


class Lines(Response):
    """One JSON object a line, each sent as soon as it is there. An error in the middle is a line, too."""

    media_type = "application/x-ndjson"

    def __init__(self, lines: AsyncIterator[Any]) -> None:
        self.lines = lines
        self.status_code, self.background = 200, None
        self.init_headers({"X-Accel-Buffering": "no", "Cache-Control": "no-store"})

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        sending, gone = asyncio.ensure_future(self._send(send)), asyncio.ensure_future(_gone(receive))
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
        async with aclosing(self._safe()) as lines:  # type: ignore[type-var]
            async for line in lines:
                body = written(line) + b"\n"
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _safe(self) -> AsyncIterator[Any]:
        """The lines, and a line about what went wrong in the middle of them."""
        try:
            async with aclosing(self.lines) as lines:  # type: ignore[type-var]
                async for line in lines:
                    yield line
        except Refusal as refusal:
            yield refusal.body
        except Exception:  # noqa: BLE001 - the status is sent already
            yield failed("the server failed in the middle; ask again").body
