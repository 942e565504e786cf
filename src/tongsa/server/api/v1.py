"""The server's own questions, under /v1."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import asdict
from typing import Any, Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from tongsa.data.normalize import normalize
from tongsa.server import looks
from tongsa.server.api.requests import (
    AlternativesRequest,
    AttentionRequest,
    ClassifyRequest,
    ModelRequest,
    ModelSelector,
    ScoreRequest,
    SearchTreeRequest,
    TranslateRequest,
    parse_json_object,
    parse_request,
)
from tongsa.server.batch_tasks import ClassifyTask, UnbatchedTask
from tongsa.server.config import RequestLimits
from tongsa.server.context import ServerContext, get_context
from tongsa.server.documents import Document, assemble, create_documents, stream_results, stream_sentences
from tongsa.server.errors import bad_request_error, too_long_error
from tongsa.server.http import JSONResponse, NDJSONResponse, read_body, run_unless_disconnected, with_timeout
from tongsa.server.looks import ModelFunction
from tongsa.server.queue import ModelQueue, QueuedSentence

ALL_TASKS = ("seq2seq", "classification", "language_model")


class RequestBody(Protocol):
    def check(self, limits: RequestLimits) -> None: ...


R = TypeVar("R", bound=RequestBody)


async def read_request(request: Request, request_type: type[R]) -> R:
    """What the body asks, within the limits."""
    service = get_context(request)
    service.authorize(request)
    config = service.config
    question = parse_request(request_type, parse_json_object(await read_body(request, config)), config.limits)
    question.check(config.limits)
    return question


async def models(request: Request) -> Response:
    service = get_context(request)
    return JSONResponse({"models": service.models.list_models(), "limits": asdict(service.config.limits)})


async def translate(request: Request) -> Response:
    service, question = get_context(request), await read_request(request, TranslateRequest)
    worker = service.models.select(question)
    worker.check_capacity(1)  # before the text is taken apart
    found = await asyncio.to_thread(create_documents, worker.model, question, service.config)
    if question.stream:
        worker.check_capacity(_inflight_count(service, found))
        return NDJSONResponse(_stream_lines(service, worker, found))
    made = await run_unless_disconnected(request, translate_documents(service, worker, found), service.config.timeout)
    return JSONResponse({"model": worker.name, "translations": made})


def _inflight_count(context: ServerContext, documents: list[Document]) -> int:
    """How many sentences of these texts wait at a time."""
    return min(context.config.max_inflight_per_request, sum(len(document.sentences) for document in documents))


async def translate_documents(
    context: ServerContext, queue: ModelQueue, documents: list[Document]
) -> list[dict[str, Any]]:
    """Every text's translation."""
    made: list[list[dict[str, Any]]] = [[] for _ in documents]
    queue.check_capacity(_inflight_count(context, documents))
    async with aclosing(
        stream_sentences(context.models, queue.name, documents, context.config.max_inflight_per_request)
    ) as stream:  # type: ignore[type-var]
        async for index, sentence in stream:
            made[index].append(context.metrics.count_flags(queue.name, sentence))
    return [assemble(*one) for one in zip(documents, made, strict=True)]


async def _stream_lines(
    context: ServerContext, queue: ModelQueue, documents: list[Document]
) -> AsyncIterator[dict[str, Any]]:
    queue.check_capacity(_inflight_count(context, documents))
    async with aclosing(
        stream_sentences(context.models, queue.name, documents, context.config.max_inflight_per_request)
    ) as stream:  # type: ignore[type-var]
        while found := await with_timeout(anext(stream, None), context.config.timeout):
            index, sentence = found
            yield {"index": index, "sentence": context.metrics.count_flags(queue.name, sentence)}
    yield {"done": True}


async def _run_unbatched(
    request: Request, queue: ModelQueue, function: ModelFunction, source: str, target: str = ""
) -> Response:
    """The answer to a question that is not batched."""
    service, reader = get_context(request), queue.model.reader
    sides = (
        [(reader.source, source)]
        if reader.task == "classification"
        else [(reader.source, source), (reader.target, target)]
    )
    for vocabulary, text in sides:  # of rare characters every byte is a piece
        _check_token_count(len(vocabulary.split_all([normalize(text)])[0]), service.config.max_sentence_tokens)

    async def answer() -> Any:
        queue.check_capacity(1)
        async with aclosing(
            stream_results(service.models, queue.name, [QueuedSentence(UnbatchedTask(function), source, 1)], 1)
        ) as stream:  # type: ignore[type-var]
            return await anext(stream)

    return JSONResponse(await run_unless_disconnected(request, answer(), service.config.timeout))


def _check_token_count(token_count: int, max_tokens: int) -> None:
    """Time and memory grow with the square of them, and nobody can stop a search that has begun."""
    if token_count > max_tokens:
        raise too_long_error(f"{token_count:,} pieces in one text: at most {max_tokens:,} here; send it in parts")


async def alternatives(request: Request) -> Response:
    question = await read_request(request, AlternativesRequest)
    worker = get_context(request).models.select(question)
    return await _run_unbatched(request, worker, looks.alternatives_function(question), question.text)


async def score(request: Request) -> Response:
    question = await read_request(request, ScoreRequest)
    worker = get_context(request).models.select(ModelSelector(model=question.model), ALL_TASKS)
    return await _run_unbatched(request, worker, looks.score_function(question), question.source, question.target)


async def attention(request: Request) -> Response:
    question = await read_request(request, AttentionRequest)
    worker = get_context(request).models.select(ModelSelector(model=question.model), ALL_TASKS)
    look = looks.attention_function(question, worker.name)
    return await _run_unbatched(request, worker, look, question.text, question.target or "")


async def search_tree(request: Request) -> Response:
    question = await read_request(request, SearchTreeRequest)
    worker = get_context(request).models.select(question)
    return await _run_unbatched(request, worker, looks.search_tree_function(question, worker.name), question.text)


async def positions(request: Request) -> Response:
    return await _static_view(request, "positions", "this model has no table of positions to look at")


async def curves(request: Request) -> Response:
    return await _static_view(request, "curves", "no journal of its training lies beside this model")


async def _static_view(request: Request, view: str, error_message: str) -> Response:
    question = await read_request(request, ModelRequest)
    drawings = get_context(request).models.select(question, ALL_TASKS).model.drawings
    if view not in drawings:
        raise bad_request_error(error_message)
    return JSONResponse(drawings[view])


async def classify(request: Request) -> Response:
    service, question = get_context(request), await read_request(request, ClassifyRequest)
    worker = service.models.select(ModelSelector(model=question.model), ("classification",))
    jobs = [QueuedSentence(ClassifyTask(), text, worker.model.size(text)) for text in question.texts]
    _check_token_count(max(job.token_count for job in jobs), service.config.batch_tokens)

    async def labels() -> list[Any]:
        worker.check_capacity(min(service.config.max_inflight_per_request, len(jobs)))
        async with aclosing(
            stream_results(service.models, worker.name, jobs, service.config.max_inflight_per_request)
        ) as stream:  # type: ignore[type-var]
            return [one async for one in stream]

    return JSONResponse({"labels": await run_unless_disconnected(request, labels(), service.config.timeout)})
