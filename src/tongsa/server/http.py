"""HTTP layer: server context, authorization, cancellation, JSON and NDJSON responses."""

import asyncio
import json
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tongsa.server.auth import APIKeys, RateLimiter, client_network, key_from_headers
from tongsa.server.config import ServerConfig
from tongsa.server.errors import APIError, busy_error, failed_error, timeout_error
from tongsa.server.metrics import ServerMetrics
from tongsa.server.model_pool import ModelPool
from tongsa.server.translated_files import TranslatedFiles

T = TypeVar("T")
TIMEOUT_HEADER = b"x-request-timeout"
"""Header of a request: seconds after which its client does not wait any more."""
MAX_TIMEOUT_BYTES = 20
CLIENT_CLOSED_REQUEST = 499
"""Status in logs and metrics of a request whose client disconnected."""


class ClientDisconnected(Exception):  # noqa: N818 - not an error of ours
    """The client closed the connection before its response was complete."""


@dataclass(frozen=True)
class ServerContext:
    """Everything a route needs."""

    config: ServerConfig
    models: ModelPool
    metrics: ServerMetrics
    keys: APIKeys
    rate_limiter: RateLimiter

    @cached_property
    def document_slots(self) -> "Slots":
        """Limit of the documents that are translated at the same time."""
        return Slots(self.config.max_concurrent_documents)

    @cached_property
    def translated_files(self) -> TranslatedFiles:
        """Files that LibreTranslate's clients have not fetched yet."""
        config = self.config
        return TranslatedFiles(config.max_kept_files, config.max_kept_file_bytes, config.kept_file_seconds)

    def authorize(self, request: Request, key: str = "") -> None:
        """Check the API key and the rate limit. LibreTranslate's clients send the key in the body (`key`)."""
        if not self.keys.required:
            self.rate_limiter.take(client_network(request.client.host if request.client else ""))
            return
        key = key or key_from_headers(request)
        owner = self.keys.find_owner(key) if key else None
        if owner is None:  # attempts count for the address, under a name that no owner of a key can have
            self.rate_limiter.take(f"without key: {client_network(request.client.host if request.client else '')}")
        if not key:
            raise APIError(401, "no_key", "No API key. Send the header Authorization: Bearer KEY.")
        if owner is None:
            raise APIError(403, "wrong_key", "Unknown API key. Ask the owner of this server for a key.")
        request.scope["tongsa.key"] = owner
        self.rate_limiter.take(owner)


class Slots:
    """Limited number of slots. Only the event loop's thread uses them."""

    def __init__(self, count: int) -> None:
        self.free = count

    @contextmanager
    def take(self) -> Iterator[None]:
        """Hold a slot. Raise 503 if none is free."""
        if not self.free:
            raise busy_error("Too many documents at the same time. Send it again in a moment.", retry_after=5.0)
        self.free -= 1
        try:
            yield
        finally:
            self.free += 1


def get_context(request: Request) -> ServerContext:
    return cast(ServerContext, request.app.state.context)


async def run_in_thread(work: Callable[..., T], *arguments: Any, stop: Callable[[], None] | None = None) -> T:
    """Run work in a thread, because the event loop serves all clients. When cancelled, wait for its end.

    A thread cannot be stopped from outside: its memory counts until it ends, and so does the slot of its document.
    `stop` is called first; it may make the work end early.
    """
    future = asyncio.get_running_loop().run_in_executor(None, work, *arguments)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if stop:
            stop()
        await asyncio.gather(future, return_exceptions=True)
        raise


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Deadline(NamedTuple):
    """When a request is cancelled."""

    time: float
    """On the monotonic clock."""
    seconds: float
    """From its arrival: the server's limit, or that of the client if it is shorter."""

    async def limit(self, work: Awaitable[T]) -> T:
        """Await the work until the deadline. Raise 503 then."""
        try:
            async with asyncio.timeout(self.time - time.monotonic()):
                return await work
        except TimeoutError:
            raise timeout_error(self.seconds) from None


def client_timeout(headers: Sequence[tuple[bytes, bytes]]) -> float:
    """Return the seconds of TIMEOUT_HEADER, infinite without it. Raise 400 if they are no positive number."""
    value = next((value for name, value in headers if name == TIMEOUT_HEADER), None)
    if value is None:
        return math.inf
    try:
        seconds = float(value[:MAX_TIMEOUT_BYTES])
    except ValueError:
        seconds = math.nan
    if not seconds > 0:
        raise APIError(400, "bad_request", "X-Request-Timeout: not a number of seconds. Send one such as 5.")
    return seconds


def request_deadline(request: Request) -> Deadline:
    return cast(Deadline, request.scope["tongsa.deadline"])


async def run_unless_disconnected(request: Request, work: Awaitable[T]) -> T:
    """Await the work. Cancel it when the client disconnects, or at the deadline of the request."""
    task = cast("asyncio.Task[Any]", asyncio.current_task())
    disconnect = asyncio.ensure_future(_wait_for_disconnect(request.receive))

    def cancel(_: object) -> None:
        task.cancel()

    disconnect.add_done_callback(cancel)
    try:
        return await request_deadline(request).limit(work)
    except asyncio.CancelledError:
        if not disconnect.done():  # cancelled by the server, not by `cancel`
            raise
        task.uncancel()
        raise ClientDisconnected from None
    finally:
        disconnect.remove_done_callback(cancel)
        disconnect.cancel()


class JSONResponse(Response):
    """JSON in UTF-8: letters of all languages are sent as they are."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return encode_json(content)


def encode_json(content: Any) -> bytes:
    return _dump(content).encode("utf-8")


def _dump(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode_json_in_parts(content: Any, levels: int = 5) -> bytes:
    """Encode JSON in a thread: part by part, because json.dumps stops all other threads until it returns."""
    encoded = bytearray()  # encoded part by part, too
    for part in _json_parts(content, levels):
        encoded += part.encode("utf-8")
    return bytes(encoded)


def _json_parts(value: Any, levels: int) -> Iterator[str]:
    if not levels or not value or not isinstance(value, dict | list):
        yield _dump(value)
        return
    items = [(f"{_dump(key)}:", item) for key, item in value.items()] if isinstance(value, dict) else None
    opening, closing = "[]" if items is None else "{}"
    yield opening
    for i, (name, item) in enumerate(items or (("", item) for item in value)):
        yield f",{name}" if i else name
        yield from _json_parts(item, levels - 1)
    yield closing


async def encoded_response(content: Any) -> Response:
    """Return a response with JSON that may be large: it is encoded in a thread."""
    return Response(await run_in_thread(encode_json_in_parts, content), media_type=JSONResponse.media_type)


class NDJSONResponse(Response):
    """Stream of JSON objects, one per line. An error after the first line is sent as the last line."""

    media_type = "application/x-ndjson"

    def __init__(self, first: Any, others: AsyncGenerator[Any, None]) -> None:
        self.first, self.others = first, others
        self.status_code, self.background = 200, None
        self.init_headers({"X-Accel-Buffering": "no", "Cache-Control": "no-store"})

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(send))
        disconnect = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            await asyncio.wait({sending, disconnect}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            disconnect.cancel()
            sending.cancel()
            await asyncio.gather(sending, disconnect, return_exceptions=True)
            await self.others.aclose()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with aclosing(self._lines()) as lines:
            async for line in lines:
                body = encode_json(line) + b"\n"
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _lines(self) -> AsyncGenerator[Any, None]:
        """Yield the lines; turn an exception into a last line, because the status is sent already."""
        yield self.first
        try:
            async for line in self.others:
                yield line
        except APIError as error:
            yield error.body
        except Exception:  # noqa: BLE001 - the client must learn that the stream is incomplete
            yield failed_error("The server failed in the middle of the stream. Send the request again.").body
