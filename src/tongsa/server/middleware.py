"""Around every request: whose pages may ask, what browsers are told, what is counted and written down.

A line of the log holds the route, the status and the time, and never a text, an address or a path as it was sent.
"""

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tongsa.server.config import ServerConfig
from tongsa.server.errors import APIError, ErrorBody, busy_error
from tongsa.server.http import CLIENT_CLOSED_REQUEST, ClientDisconnected, JSONResponse
from tongsa.server.metrics import ServerMetrics

LOG = logging.getLogger("tongsa.server")
PROBE_PATHS = frozenset({"/healthz", "/readyz", "/health", "/metrics"})
"""Asked every few seconds by machines."""
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


class RequestMiddleware:
    """Middleware in plain ASGI: answers pass through as they are made."""

    def __init__(self, app: ASGIApp, config: ServerConfig, metrics: ServerMetrics) -> None:
        self.app, self.config, self.metrics = app, config, metrics
        self._in_progress = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status, name = time.monotonic(), 0, secrets.token_hex(8)

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_security_headers(MutableHeaders(scope=message), name)
            try:
                async with asyncio.timeout(self.config.client_timeout):
                    await send(message)
            except TimeoutError:  # it takes nothing any more
                raise ClientDisconnected from None

        self.metrics.requests_in_progress.inc()
        self._in_progress += 1
        try:
            await self._handle(scope, receive, told)
        except ClientDisconnected:
            status = CLIENT_CLOSED_REQUEST
        except Exception as error:  # noqa: BLE001 - said as it is, without what a user wrote
            LOG.error(
                "internal error", extra={"request": name, "kind": type(error).__name__, "at": _error_location(error)}
            )
            if not status:
                body: ErrorBody = {"error": "the server failed; ask again", "code": "internal"}
                await JSONResponse(body, 500)(scope, receive, told)
            status = 500
        finally:
            self.metrics.requests_in_progress.dec()
            self._in_progress -= 1
            self._log_request(scope, status or CLIENT_CLOSED_REQUEST, time.monotonic() - start, name)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            check_origin(Headers(scope=scope), self.config)
            self._check_capacity(scope["path"])
        except APIError as refusal:
            await JSONResponse(refusal.body, refusal.status, headers=refusal.headers)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _check_capacity(self, path: str) -> None:
        if (
            self._in_progress > self.config.max_concurrent_requests and path not in PROBE_PATHS
        ):  # who is busy is not ill
            raise busy_error("too many requests at a time; ask again in a moment", retry_after=2.0)

    def _log_request(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        self.metrics.record_response(route, status, seconds)
        extra = {"request": request_id, "route": route, "status": status, "ms": round(1000 * seconds, 1)}
        level = logging.DEBUG if route in PROBE_PATHS else logging.INFO
        LOG.log(level, "request", extra=extra | ({"key": scope["tongsa.key"]} if "tongsa.key" in scope else {}))


def _add_security_headers(headers: MutableHeaders, request_id: str) -> None:
    for key, value in SECURITY_HEADERS.items():
        headers.setdefault(key, value)
    headers.setdefault("Cache-Control", "no-store")
    headers["X-Request-ID"] = request_id


def _error_location(error: BaseException) -> str:
    """Where it was raised: a place in the code says enough, and nothing that anybody wrote."""
    last = error.__traceback__
    while last and last.tb_next:
        last = last.tb_next
    return f"{last.tb_frame.f_code.co_qualname}:{last.tb_lineno}" if last else ""


def check_origin(headers: Headers, config: ServerConfig) -> None:
    """Refuse pages of other sites, and, on loopback, names of other hosts that lead here (DNS rebinding)."""
    host = headers.get("host", "")
    try:
        named = urlsplit(f"//{host}").hostname or ""
        origin = headers.get("origin", "")
        strange = origin not in ("", *config.origins) and urlsplit(origin).netloc != host
        ours = LOOPBACK_HOSTS.union(urlsplit(one).hostname for one in config.origins)
    except ValueError:
        raise APIError(400, "bad_request", "Host or Origin cannot be read") from None
    if config.host in LOOPBACK_HOSTS and named not in ours:
        raise APIError(421, "wrong_host", "this server is for this machine alone; ask for http://127.0.0.1")
    if strange and "*" not in config.origins:
        raise APIError(
            403, "wrong_origin", "pages of other sites may not ask here; the owner can allow it with origins"
        )


class JSONLogFormatter(logging.Formatter):
    """One JSON object a line."""

    EXTRA_FIELDS = ("model", "reason", "kind", "at", "request", "route", "status", "ms", "key", "address")

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line |= {name: value for name in self.EXTRA_FIELDS if (value := getattr(record, name, None)) is not None}
        return json.dumps(line, ensure_ascii=False)


@contextmanager
def log_to_stderr() -> Iterator[None]:
    """Log our lines, and of the web server's what is worse than a remark; afterwards the loggers are as they were."""
    handler = logging.StreamHandler()
    handler.setFormatter(JSONLogFormatter())
    wanted = {logging.getLogger("tongsa.server"): logging.INFO, logging.getLogger("uvicorn"): logging.WARNING}
    before = [(logger, logger.handlers, logger.propagate, logger.level) for logger in wanted]
    for logger, level in wanted.items():
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    try:
        yield
    finally:  # whoever called may close the stream that was standard error then
        for logger, handlers, propagate, level in before:
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
