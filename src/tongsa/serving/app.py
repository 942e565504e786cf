"""The application: routes → a value that any ASGI server can run."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tongsa.errors import InputError
from tongsa.serving import libretranslate, native, openapi, pages
from tongsa.serving.exchange import Answer
from tongsa.serving.record import Record
from tongsa.serving.refusal import Error, Refusal, bad, busy
from tongsa.serving.service import Service, service_of

LOG = logging.getLogger("tongsa.serving")


async def healthz(_: Request) -> Response:
    return Answer({"status": "ok"})


async def readyz(request: Request) -> Response:
    if not service_of(request).models.ready:
        raise busy("the models are still being loaded", again=3.0)
    return Answer({"status": "ready"})


async def metrics(request: Request) -> Response:
    service_of(request).admit(request)
    return Response(service_of(request).metrics.page, media_type="text/plain; version=0.0.4")


ROUTES = [
    Route("/healthz", healthz),
    Route("/readyz", readyz),
    Route("/metrics", metrics),
    Route("/", pages.index),
    Route("/static/{name}", pages.static),
    Route("/v1/models", native.models),
    Route("/v1/translate", native.translate, methods=["POST"]),
    Route("/v1/alternatives", native.alternatives, methods=["POST"]),
    Route("/v1/score", native.score, methods=["POST"]),
    Route("/v1/attention", native.attention, methods=["POST"]),
    Route("/v1/tree", native.tree, methods=["POST"]),
    Route("/v1/positions", native.positions, methods=["POST"]),
    Route("/v1/curves", native.curves, methods=["POST"]),
    Route("/v1/classify", native.classify, methods=["POST"]),
    Route("/v1/openapi.json", openapi.document),
    Route("/docs", openapi.page),
    Route("/translate", libretranslate.translate, methods=["POST"]),
    Route("/detect", libretranslate.detect, methods=["POST"]),
    Route("/languages", libretranslate.languages),
    Route("/health", libretranslate.health),
    Route("/frontend/settings", libretranslate.settings),
]


async def refused(_: Request, error: Refusal) -> Response:
    """Not a plain function: that would go through one of forty threads, each with its own memory."""
    return Answer(error.body, error.status, headers=error.headers)


async def unknown(_: Request, error: HTTPException) -> Response:
    """What the router refuses: no such path, or another method."""
    body: Error = {"error": "this request cannot be read", "code": "bad_request"}
    if error.status_code == 404:
        body = {"error": "no such address; /docs lists them all", "code": "not_found"}
    if error.status_code == 405:
        body = {"error": "another method is wanted here; see /docs", "code": "bad_method"}
    return Answer(body, error.status_code, headers=error.headers)


async def explained(request: Request, error: InputError) -> Response:
    return await refused(request, bad(str(error)))


HANDLERS: dict[Any, Any] = {Refusal: refused, InputError: explained, HTTPException: unknown}


def _middleware(service: Service) -> list[Middleware]:
    config, found = service.config, [Middleware(Record, config=service.config, metrics=service.metrics)]
    if config.origins:
        headers = ["Authorization", "Content-Type", "X-API-Key"]
        found.append(
            Middleware(
                CORSMiddleware, allow_origins=config.origins, allow_methods=["GET", "POST"], allow_headers=headers
            )
        )
    return found


def application(service: Service, fail: Callable[[Exception], None]) -> Starlette:
    """Models are loaded when it starts, beside the open port; `fail` is told when one cannot be."""

    async def load() -> None:
        try:
            await asyncio.to_thread(service.models.load)
        except Exception as error:  # noqa: BLE001 - whoever started the server is told
            fail(error)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        loading = asyncio.create_task(load())
        yield
        loading.cancel()
        await asyncio.to_thread(service.models.finish)

    app = Starlette(
        routes=ROUTES,
        middleware=_middleware(service),
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    app.state.service = service
    return app
