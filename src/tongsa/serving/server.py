"""The process: an open port, signals, and an end that loses nothing."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable, Sequence

import uvicorn

from tongsa.errors import InputError
from tongsa.serving.app import application
from tongsa.serving.config import ServingConfig
from tongsa.serving.keys import Keys
from tongsa.serving.limits import Rates
from tongsa.serving.metrics import Metrics
from tongsa.serving.models import Models, Place
from tongsa.serving.record import to_stderr
from tongsa.serving.service import Service

LOG = logging.getLogger("tongsa.serving")
CONNECTIONS = 2000
"""Open at once, in use or at rest; beyond, uvicorn itself refuses in plain text: the last resort."""
KEEP_ALIVE = 15
"""Seconds that a connection may rest."""


def service(places: Sequence[Place], config: ServingConfig) -> Service:
    metrics = Metrics()
    return Service(config, Models(places, config, metrics), metrics, Keys(config.keys), Rates(config.rate))


def serve(places: Sequence[Place], config: ServingConfig) -> None:
    """Answer until SIGINT or SIGTERM; what was accepted before is answered. SIGHUP loads models and keys again."""
    failures: list[Exception] = []
    made = service(places, config)

    def fail(error: Exception) -> None:
        failures.append(error)
        server.should_exit = True

    server = uvicorn.Server(settings(application(made, fail), config))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn gives a signal on when it is done
    with to_stderr(), opened(config) as listener:
        LOG.info("listening", extra={"address": address(listener)})
        asyncio.run(_run(server, listener, lambda: reload(made)))
    if failures:
        raise failures[0]


def settings(app: object, config: ServingConfig) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        limit_concurrency=max(CONNECTIONS, 2 * config.requests),  # our own refusal comes first
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=round(config.timeout + config.patience),
        proxy_headers=bool(config.proxies),
        forwarded_allow_ips=list(config.proxies),
    )


def opened(config: ServingConfig) -> socket.socket:
    """The port, or a sentence about why it cannot be had."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        listener = socket.create_server((config.host, config.port), family=family, backlog=CONNECTIONS)
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"{config.host}:{config.port}: {why}; choose another with --host and --port") from None
    # connections inherit it; asyncio sets it on sockets of its own alone, and without it an answer waits some 40 ms
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # else a client that takes nothing keeps a connection, and its answer
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * config.patience))
    return listener


def address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _run(server: uvicorn.Server, listener: socket.socket, again: Callable[[], None]) -> None:
    if hasattr(signal, "SIGHUP"):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, one_at_a_time(again))
    await server.serve(sockets=[listener])


def one_at_a_time(work: Callable[[], None]) -> Callable[[], None]:
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


def reload(made: Service) -> None:
    """Keys and models as they are on disk now; what cannot be read stays as it was."""
    try:
        made.keys.again()  # first: a key that opens nothing any more does not wait for models
    except InputError as error:
        LOG.error("keys kept as they were", extra={"reason": str(error)})
    made.models.load()
