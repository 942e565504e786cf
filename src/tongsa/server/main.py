"""Server process: open the port, load the models, handle signals, shut down without losing requests."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable, Sequence

import uvicorn

from tongsa.errors import InputError
from tongsa.server.app import create_app
from tongsa.server.auth import APIKeys, RateLimiter
from tongsa.server.collection import freeze_objects
from tongsa.server.config import ServerConfig
from tongsa.server.connection import connection_class
from tongsa.server.http import ServerContext
from tongsa.server.logs import log_to_stderr
from tongsa.server.metrics import ServerMetrics
from tongsa.server.model_pool import ModelPool, ModelSource
from tongsa.system import allow_open_files

LOG = logging.getLogger("tongsa.server")
MAX_CONNECTIONS = 2000
"""Open connections, active or idle. Above that uvicorn itself answers 503 in plain text."""
KEEP_ALIVE_SECONDS = 15
"""Seconds until an idle connection is closed."""


def create_context(sources: Sequence[ModelSource], config: ServerConfig) -> ServerContext:
    metrics = ServerMetrics()
    return ServerContext(
        config, ModelPool(sources, config, metrics), metrics, APIKeys(config.keys), RateLimiter(config.rate)
    )


def serve(sources: Sequence[ModelSource], config: ServerConfig) -> None:
    """Serve until SIGINT or SIGTERM; accepted requests are completed. SIGHUP reloads models and keys."""
    failures: list[Exception] = []
    context = create_context(sources, config)

    def on_load_error(error: Exception) -> None:
        failures.append(error)
        server.should_exit = True

    def reload_models() -> None:
        reload(context)
        freeze_objects()

    server = uvicorn.Server(uvicorn_config(create_app(context, on_load_error, freeze_objects), config))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn raises the signal again after its shutdown
    allow_open_files(2 * MAX_CONNECTIONS)
    with log_to_stderr(), open_listener(config) as listener:
        LOG.info("listening", extra={"address": listener_url(listener)})
        asyncio.run(_run(server, listener, reload_models))
    if failures:
        raise failures[0]


def uvicorn_config(app: object, config: ServerConfig) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_config=None,
        access_log=False,
        server_header=False,
        http=connection_class(config.client_timeout),
        ws="none",
        # above our own limit, so that clients get our JSON error and not uvicorn's plain text
        limit_concurrency=max(MAX_CONNECTIONS, 2 * config.max_concurrent_requests),
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=round(config.timeout + config.client_timeout),
        proxy_headers=bool(config.proxies),
        forwarded_allow_ips=list(config.proxies),
    )


def open_listener(config: ServerConfig) -> socket.socket:
    """Open the port. Raise InputError when it is not available."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        listener = socket.create_server((config.host, config.port), family=family, backlog=MAX_CONNECTIONS)
    except OSError as error:
        problem = error.strerror or error
        raise InputError(f"{config.host}:{config.port}: {problem}. Choose another with --host and --port.") from None
    # Connections inherit this option. asyncio sets it only on sockets that it opens; without it responses wait 40 ms
    # (Nagle's algorithm together with delayed acknowledgements).
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # else a client that never reads keeps its connection and its response
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
    """Return a function that runs `work` in a thread. Calls during a run lead to one more run, not to one each."""
    lock, tasks = asyncio.Lock(), set[asyncio.Task[None]]()

    async def run() -> None:
        async with lock:  # waits here, not in a thread: requests need the threads
            await asyncio.to_thread(work)

    def start() -> None:
        if len(tasks) < 2:  # one running, one waiting
            task = asyncio.get_running_loop().create_task(run())
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    return start


def reload(context: ServerContext) -> None:
    """Read keys and models from disk again; keep the old ones where that fails."""
    try:
        context.keys.reload()  # first: a revoked key must not work until all models are loaded
    except InputError as error:
        LOG.error("keys not reloaded", extra={"reason": str(error)})
    context.models.load()
