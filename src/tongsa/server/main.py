"""The process: an open port, signals, and an end that loses nothing."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable, Sequence

import uvicorn

from tongsa.errors import InputError
from tongsa.server.app import create_app
from tongsa.server.auth import APIKeys
from tongsa.server.config import ServerConfig
from tongsa.server.context import ServerContext
from tongsa.server.metrics import ServerMetrics
from tongsa.server.middleware import log_to_stderr
from tongsa.server.model_pool import ModelPool, ModelSource
from tongsa.server.rate_limit import RateLimiter

LOG = logging.getLogger("tongsa.server")
MAX_CONNECTIONS = 2000
"""Open at once, in use or at rest; beyond, uvicorn itself refuses in plain text: the last resort."""
KEEP_ALIVE_SECONDS = 15
"""Seconds that a connection may rest."""


def create_context(sources: Sequence[ModelSource], config: ServerConfig) -> ServerContext:
    metrics = ServerMetrics()
    return ServerContext(
        config, ModelPool(sources, config, metrics), metrics, APIKeys(config.keys), RateLimiter(config.rate)
    )


def serve(sources: Sequence[ModelSource], config: ServerConfig) -> None:
    """Answer until SIGINT or SIGTERM; what was accepted before is answered. SIGHUP loads models and keys again."""
    failures: list[Exception] = []
    made = create_context(sources, config)

    def fail(error: Exception) -> None:
        failures.append(error)
        server.should_exit = True

    server = uvicorn.Server(uvicorn_config(create_app(made, fail), config))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn gives a signal on when it is done
    with log_to_stderr(), open_listener(config) as listener:
        LOG.info("listening", extra={"address": listener_url(listener)})
        asyncio.run(_run(server, listener, lambda: reload(made)))
    if failures:
        raise failures[0]


def uvicorn_config(app: object, config: ServerConfig) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        limit_concurrency=max(MAX_CONNECTIONS, 2 * config.max_concurrent_requests),  # our own refusal comes first
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=round(config.timeout + config.client_timeout),
        proxy_headers=bool(config.proxies),
        forwarded_allow_ips=list(config.proxies),
    )


def open_listener(config: ServerConfig) -> socket.socket:
    """The port, or a sentence about why it cannot be had."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        listener = socket.create_server((config.host, config.port), family=family, backlog=MAX_CONNECTIONS)
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"{config.host}:{config.port}: {why}; choose another with --host and --port") from None
    # connections inherit it; asyncio sets it on sockets of its own alone, and without it an answer waits some 40 ms
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # else a client that takes nothing keeps a connection, and its answer
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * config.client_timeout))
    return listener


def listener_url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _run(server: uvicorn.Server, listener: socket.socket, on_reload: Callable[[], None]) -> None:
    if hasattr(signal, "SIGHUP"):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, coalesce(on_reload))
    await server.serve(sockets=[listener])


def coalesce(work: Callable[[], None]) -> Callable[[], None]:
    """What begins the work in a thread; however often it is asked meanwhile, the work is done once more."""
    turn, pending = asyncio.Lock(), set[asyncio.Task[None]]()

    async def done() -> None:
        async with turn:  # and not in a thread: requests need those
            await asyncio.to_thread(work)

    def begin() -> None:
        if len(pending) < 2:
            task = asyncio.get_running_loop().create_task(done())
            pending.add(task)
            task.add_done_callback(pending.discard)

    return begin


def reload(context: ServerContext) -> None:
    """Keys and models as they are on disk now; what cannot be read stays as it was."""
    try:
        context.keys.reload()  # first: a key that opens nothing any more does not wait for models
    except InputError as error:
        LOG.error("keys kept as they were", extra={"reason": str(error)})
    context.models.load()
