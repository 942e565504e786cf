"""The ASGI application: routes, exception handlers, middleware, lifespan."""

import asyncio
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
from tongsa.server import static_files
from tongsa.server.admission import Admission
from tongsa.server.api import corrections, documents, libretranslate, libretranslate_files, openapi, trace, v1
from tongsa.server.errors import APIError, ErrorBody, bad_request_error, busy_error
from tongsa.server.http import JSONResponse, ServerContext, get_context
from tongsa.server.middleware import RequestMiddleware


async def healthz(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def readyz(request: Request) -> Response:
    if not get_context(request).models.is_ready:
        raise busy_error("The models are still being loaded. Send the request again in a moment.", retry_after=3.0)
    return JSONResponse({"status": "ready"})


async def metrics(request: Request) -> Response:
    get_context(request).authorize(request)
    return Response(get_context(request).metrics.exposition, media_type="text/plain; version=0.0.4")


ROUTES = [
    Route("/healthz", healthz),
    Route("/readyz", readyz),
    Route("/metrics", metrics),
    Route("/", static_files.index),
    Route("/static/{name}", static_files.static),
    Route("/static/{version}/{name}", static_files.static),
    Route("/v1/models", v1.models),
    Route("/v1/translate", v1.translate, methods=["POST"]),
    Route("/v1/documents", documents.translate, methods=["POST"]),
    Route("/v1/formats", documents.formats),
    Route("/v1/alternatives", v1.alternatives, methods=["POST"]),
    Route("/v1/score", v1.score, methods=["POST"]),
    Route("/v1/continue", v1.continue_text, methods=["POST"]),
    Route("/v1/corrections", corrections.corrections, methods=["POST"]),
    Route("/v1/attention", v1.attention, methods=["POST"]),
    Route("/v1/tree", v1.search_tree, methods=["POST"]),
    Route("/v1/trace", trace.trace, methods=["POST"]),
    Route("/v1/positions", v1.positions, methods=["POST"]),
    Route("/v1/curves", v1.curves, methods=["POST"]),
    Route("/v1/classify", v1.classify, methods=["POST"]),
    Route("/v1/openapi.json", openapi.openapi_json),
    Route("/docs", openapi.docs_page),
    Route("/translate", libretranslate.translate, methods=["POST"]),
    Route("/translate_file", libretranslate_files.translate_file, methods=["POST"]),
    Route("/download_file/{name}", libretranslate_files.download_file),
    Route("/detect", libretranslate.detect, methods=["POST"]),
    Route("/languages", libretranslate.languages),
    Route("/health", healthz),
    Route("/frontend/settings", libretranslate.frontend_settings),
]


# Handlers are coroutines: Starlette runs plain functions in one of forty threads, each with its own memory.
async def handle_api_error(_: Request, error: APIError) -> Response:
    return JSONResponse(error.body, error.status, headers=error.headers)


async def handle_http_exception(_: Request, error: HTTPException) -> Response:
    """Answer requests that no route accepts: unknown path, wrong method."""
    body: ErrorBody = {"error": "The request cannot be read. See /docs.", "code": "bad_request"}
    if error.status_code == 404:
        body = {"error": "No such path. /docs lists all of them.", "code": "not_found"}
    if error.status_code == 405:
        body = {"error": "This path does not accept the method. See /docs.", "code": "bad_method"}
    return JSONResponse(body, error.status_code, headers=error.headers)


async def handle_input_error(request: Request, error: InputError) -> Response:
    return await handle_api_error(request, bad_request_error(str(error)))


EXCEPTION_HANDLERS: dict[Any, Any] = {
    APIError: handle_api_error,
    InputError: handle_input_error,
    HTTPException: handle_http_exception,
}


def _middleware(context: ServerContext) -> list[Middleware]:
    config = context.config
    admission = Admission(config, context.models, context.metrics)
    middleware = [Middleware(RequestMiddleware, config=config, metrics=context.metrics, admission=admission)]
    if config.origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=config.origins,
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type", "X-API-Key", "X-Request-Timeout"],
            )
        )
    return middleware


def create_app(
    context: ServerContext, on_load_error: Callable[[Exception], None], on_load: Callable[[], None] = lambda: None
) -> Starlette:
    """Create the application. It loads its models at startup, while the port is already open."""

    async def load() -> None:
        try:
            await asyncio.to_thread(context.models.load)
            await asyncio.to_thread(on_load)
        except Exception as error:  # noqa: BLE001 - the caller decides what to do
            on_load_error(error)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        loading = asyncio.create_task(load())
        yield
        loading.cancel()
        await asyncio.to_thread(context.models.drain)

    app = Starlette(
        routes=ROUTES,
        middleware=_middleware(context),
        exception_handlers=EXCEPTION_HANDLERS,
        lifespan=lifespan,
    )
    app.state.context = context
    return app
