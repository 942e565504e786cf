"""The application: routes → a value that any ASGI server can run."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tongsa.errors import InputError
from tongsa.serving import native, pages
from tongsa.serving.exchange import GONE, Answer, ClientGone
from tongsa.serving.refusal import Refusal, busy
from tongsa.serving.service import Service, service_of

LOG = logging.getLogger("tongsa.serving")


async def healthz(_: Request) -> Response:
    return Answer({"status": "ok"})


async def readyz(request: Request) -> Response:
    if not service_of(request).models.ready:
        raise busy("the models are still being loaded", again=3.0)
    return Answer({"status": "ready"})


async def metrics(request: Request) -> Response:
    return Response(service_of(request).metrics.page, media_type="text/plain; version=0.0.4")


ROUTES = [
    Route("/healthz", healthz),
    Route("/readyz", readyz),
    Route("/metrics", metrics),
    Route("/", pages.index),
    Route("/static/{name}", pages.static),
    Route("/v1/models", native.models),
    Route("/v1/translate", native.translate, methods=["POST"]),
    Route("/v1/classify", native.classify, methods=["POST"]),
]


def refused(_: Request, error: Refusal) -> Response:
    return Answer(error.body, error.status, headers=error.headers)


def unknown(_: Request, error: HTTPException) -> Response:
    """What the router refuses: no such path, or another method."""
    code = {404: "not_found", 405: "bad_method"}.get(error.status_code, "bad_request")
    sentence = {404: "no such address; /docs lists them all", 405: "another method is wanted here; see /docs"}
    body = {"error": sentence.get(error.status_code, "this request cannot be read"), "code": code}
    return Answer(body, error.status_code, headers=error.headers)


def gone(_: Request, __: Exception) -> Response:
    return Response(status_code=GONE)


HANDLERS: dict[Any, Any] = {Refusal: refused, HTTPException: unknown, ClientGone: gone}


def application(service: Service, fail: Callable[[InputError], None]) -> Starlette:
    """Models are loaded when it starts, beside the open port; `fail` is told when one cannot be."""

    async def load() -> None:
        try:
            await asyncio.to_thread(service.models.load)
        except InputError as error:
            fail(error)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        loading = asyncio.create_task(load())
        yield
        loading.cancel()
        await asyncio.to_thread(service.models.finish)

    app = Starlette(
        routes=ROUTES,
        middleware=list[Middleware](),
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    app.state.service = service
    return app
