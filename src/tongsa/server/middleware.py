"""Middleware around all requests: admission, origin check, security headers, metrics, one log line per request.

A log line holds the route, the status and the time. It never holds a text, an address or the path as it was sent.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tongsa.server.admission import QUEUED_PATHS, Admission
from tongsa.server.config import ServerConfig
from tongsa.server.errors import APIError, ErrorBody, busy_error
from tongsa.server.http import (
    CLIENT_CLOSED_REQUEST,
    ClientDisconnected,
    Deadline,
    JSONResponse,
    client_timeout,
    encode_json,
)
from tongsa.server.metrics import ServerMetrics

LOG = logging.getLogger("tongsa.server")
PROBE_PATHS = frozenset({"/healthz", "/readyz", "/health", "/metrics"})
"""Paths that monitoring requests every few seconds."""
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


RAW_SECURITY_HEADERS = [
    *((name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()),
    (b"cache-control", b"no-store"),
]
BUSY = busy_error("Too many requests are waiting. Send the request again in a moment.", retry_after=2.0)
BUSY_BODY = encode_json(BUSY.body)
BUSY_HEADERS = [
    (b"content-type", b"application/json"),
    (b"content-length", str(len(BUSY_BODY)).encode()),
    *((name.lower().encode(), value.encode()) for name, value in BUSY.headers.items()),
    *RAW_SECURITY_HEADERS,
]
"""The response to a request that is not admitted, made once."""
MAX_DISCARDED_BYTES = 65_536
"""A connection with a larger body that nobody reads is closed: its next request would have to wait for the body."""


class RequestMiddleware:
    """Plain ASGI middleware: responses are passed on chunk by chunk."""

    def __init__(self, app: ASGIApp, config: ServerConfig, metrics: ServerMetrics, admission: Admission) -> None:
        self.app, self.config, self.metrics, self.admission = app, config, metrics, admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path, start = scope["path"], time.monotonic()
        deadline = scope["tongsa.deadline"] = self._deadline(scope, start)
        self.metrics.requests_in_progress.inc()
        try:
            if path in PROBE_PATHS:  # a busy server is healthy: probes are always answered
                await self._respond(scope, receive, send, start)
            elif await self.admission.admit(path, deadline.time):
                try:
                    await self._respond(scope, receive, send, start)
                finally:
                    self.admission.release(path)
            else:
                await refuse(scope, send)
                route = path if path in QUEUED_PATHS else "unknown"
                self.metrics.record_response(route, BUSY.status, time.monotonic() - start)
        finally:
            self.metrics.requests_in_progress.dec()

    def _deadline(self, scope: Scope, start: float) -> Deadline:
        seconds = self.config.timeout
        with suppress(APIError):  # raised again when the request is handled
            seconds = min(seconds, client_timeout(scope["headers"]))
        return Deadline(start + seconds, seconds)

    async def _respond(self, scope: Scope, receive: Receive, send: Send, start: float) -> None:
        """Handle a request, add headers to its response, and log it."""
        status, request_id = 0, secrets.token_hex(8)

        async def send_with_timeout(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = with_security_headers(message.get("headers", ()), request_id)
            try:
                async with asyncio.timeout(self.config.client_timeout):
                    await send(message)
            except TimeoutError:  # the client does not read its response
                raise ClientDisconnected from None

        try:
            await self._handle(scope, receive, send_with_timeout)
        except ClientDisconnected:
            status = CLIENT_CLOSED_REQUEST
        except Exception as error:  # noqa: BLE001 - logged by type and location, because its text may quote a user
            extra = {"request": request_id, "kind": type(error).__name__, "location": _error_location(error)}
            LOG.error("internal error", extra=extra)
            if not status:
                body: ErrorBody = {"error": "The server failed. Send the request again.", "code": "internal"}
                await JSONResponse(body, 500)(scope, receive, send_with_timeout)
            status = 500
        finally:
            self._log_request(scope, status or CLIENT_CLOSED_REQUEST, time.monotonic() - start, request_id)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            check_origin(Headers(scope=scope), self.config)
            client_timeout(scope["headers"])
        except APIError as error:
            await JSONResponse(error.body, error.status, headers=error.headers)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _log_request(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        self.metrics.record_response(route, status, seconds)
        extra = {"request": request_id, "route": route, "status": status, "ms": round(1000 * seconds, 1)}
        level = logging.DEBUG if route in PROBE_PATHS else logging.INFO
        LOG.log(level, "request", extra=extra | ({"key": scope["tongsa.key"]} if "tongsa.key" in scope else {}))


async def refuse(scope: Scope, send: Send) -> None:
    """Send the 503 of a request that is not admitted. Its body is not read: the server discards it, if it is short."""
    headers = [*BUSY_HEADERS, (b"x-request-id", secrets.token_hex(8).encode())]
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    if scope["method"] == "POST" and not (length.isdigit() and int(length[:20]) <= MAX_DISCARDED_BYTES):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": BUSY.status, "headers": headers})
    await send({"type": "http.response.body", "body": BUSY_BODY})


def with_security_headers(headers: Iterable[tuple[bytes, bytes]], request_id: str) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response and the security headers that it does not have itself."""
    headers = list(headers)
    names = {name for name, _ in headers}
    headers += [header for header in RAW_SECURITY_HEADERS if header[0] not in names]
    return [*headers, (b"x-request-id", request_id.encode())]


def _error_location(error: BaseException) -> str:
    """Return function and line of the innermost frame; they identify a bug and quote nothing a user wrote."""
    last = error.__traceback__
    while last and last.tb_next:
        last = last.tb_next
    return f"{last.tb_frame.f_code.co_qualname}:{last.tb_lineno}" if last else ""


def check_origin(headers: Headers, config: ServerConfig) -> None:
    """Reject pages of other sites and, on loopback, other host names that resolve to this machine (DNS rebinding)."""
    host = headers.get("host", "")
    try:
        hostname = urlsplit(f"//{host}").hostname or ""
        origin = headers.get("origin", "")
        is_foreign = origin not in ("", *config.origins) and urlsplit(origin).netloc != host
        allowed_hosts = LOOPBACK_HOSTS.union(urlsplit(allowed).hostname for allowed in config.origins)
    except ValueError:
        raise APIError(400, "bad_request", "Host or Origin is malformed. Send them as a browser does.") from None
    if config.host in LOOPBACK_HOSTS and hostname not in allowed_hosts:
        message = "This server accepts requests from its own machine only. Use http://127.0.0.1 as the address."
        raise APIError(421, "wrong_host", message)
    if is_foreign and "*" not in config.origins:
        message = "Pages of other sites have no access. The owner can allow a site with the setting origins."
        raise APIError(403, "wrong_origin", message)
