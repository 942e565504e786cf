"""The server's own questions, under /v1."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import asdict
from typing import Any, Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from tongsa.serving import looks
from tongsa.serving.batching import Job, Worker
from tongsa.serving.config import Limits
from tongsa.serving.documents import Document, assembled, documents, in_order, placed
from tongsa.serving.exchange import Answer, Lines, received, unless_gone, within
from tongsa.serving.looks import Look
from tongsa.serving.orders import Alone, Classify
from tongsa.serving.refusal import bad, too_long
from tongsa.serving.requests import (
    AlternativesRequest,
    AttentionRequest,
    ClassifyRequest,
    ModelRequest,
    ScoreRequest,
    TranslateRequest,
    TreeRequest,
    Which,
    parsed,
    table,
)
from tongsa.serving.service import Service, service_of
from tongsa.text.normalise import normalise

ANY = ("pairs", "labels", "text")


class Question(Protocol):
    def check(self, limits: Limits) -> None: ...


Q = TypeVar("Q", bound=Question)


async def asked(request: Request, kind: type[Q]) -> Q:
    """What the body asks, within the limits."""
    service = service_of(request)
    service.admit(request)
    config = service.config
    question = parsed(kind, table(await received(request, config)), config.limits)
    question.check(config.limits)
    return question


async def models(request: Request) -> Response:
    service = service_of(request)
    return Answer({"models": service.models.told(), "limits": asdict(service.config.limits)})


async def translate(request: Request) -> Response:
    service, question = service_of(request), await asked(request, TranslateRequest)
    worker = service.models.chosen(question)
    worker.check_room(1)  # before the text is taken apart
    found = await asyncio.to_thread(documents, worker.model, question, service.config)
    if question.stream:
        worker.check_room(_at_once(service, found))
        return Lines(_lines(service, worker, found))
    made = await unless_gone(request, translated(service, worker, found), service.config.timeout)
    return Answer({"model": worker.name, "translations": made})


def _at_once(service: Service, found: list[Document]) -> int:
    """How many sentences of these texts wait at a time."""
    return min(service.config.window, sum(len(document.jobs) for document in found))


async def translated(service: Service, worker: Worker, found: list[Document]) -> list[dict[str, Any]]:
    """Every text's translation."""
    made: list[list[dict[str, Any]]] = [[] for _ in found]
    worker.check_room(_at_once(service, found))
    async with aclosing(placed(service.models, worker.name, found, service.config.window)) as stream:  # type: ignore[type-var]
        async for index, sentence in stream:
            made[index].append(service.metrics.seen(worker.name, sentence))
    return [assembled(*one) for one in zip(found, made, strict=True)]


async def _lines(service: Service, worker: Worker, texts: list[Document]) -> AsyncIterator[dict[str, Any]]:
    worker.check_room(_at_once(service, texts))
    async with aclosing(placed(service.models, worker.name, texts, service.config.window)) as stream:  # type: ignore[type-var]
        while found := await within(anext(stream, None), service.config.timeout):
            index, sentence = found
            yield {"index": index, "sentence": service.metrics.seen(worker.name, sentence)}
    yield {"done": True}


async def _looked(request: Request, worker: Worker, look: Look, source: str, target: str = "") -> Response:
    """The answer to a question that is not batched."""
    service, reader = service_of(request), worker.model.reader
    sides = [(reader.source, source)] if reader.task == "labels" else [(reader.source, source), (reader.target, target)]
    for vocabulary, text in sides:  # of rare characters every byte is a piece
        _check_pieces(len(vocabulary.split_all([normalise(text)])[0]), service.config.sentence_pieces)

    async def answer() -> Any:
        worker.check_room(1)
        async with aclosing(in_order(service.models, worker.name, [Job(Alone(look), source, 1)], 1)) as stream:  # type: ignore[type-var]
            return await anext(stream)

    return Answer(await unless_gone(request, answer(), service.config.timeout))


def _check_pieces(size: int, most: int) -> None:
    """Time and memory grow with the square of them, and nobody can stop a search that has begun."""
    if size > most:
        raise too_long(f"{size:,} pieces in one text: at most {most:,} here; send it in parts")


async def alternatives(request: Request) -> Response:
    question = await asked(request, AlternativesRequest)
    worker = service_of(request).models.chosen(question)
    return await _looked(request, worker, looks.alternatives(question), question.text)


async def score(request: Request) -> Response:
    question = await asked(request, ScoreRequest)
    worker = service_of(request).models.chosen(Which(model=question.model), ANY)
    return await _looked(request, worker, looks.score(question), question.source, question.target)


async def attention(request: Request) -> Response:
    question = await asked(request, AttentionRequest)
    worker = service_of(request).models.chosen(Which(model=question.model), ANY)
    look = looks.attention(question, worker.name)
    return await _looked(request, worker, look, question.text, question.target or "")


async def tree(request: Request) -> Response:
    question = await asked(request, TreeRequest)
    worker = service_of(request).models.chosen(question)
    return await _looked(request, worker, looks.tree(question, worker.name), question.text)


async def positions(request: Request) -> Response:
    return await _drawn(request, "positions", "this model has no table of positions to look at")


async def curves(request: Request) -> Response:
    return await _drawn(request, "curves", "no journal of its training lies beside this model")


async def _drawn(request: Request, view: str, missing: str) -> Response:
    question = await asked(request, ModelRequest)
    drawings = service_of(request).models.chosen(question, ANY).model.drawings
    if view not in drawings:
        raise bad(missing)
    return Answer(drawings[view])


async def classify(request: Request) -> Response:
    service, question = service_of(request), await asked(request, ClassifyRequest)
    worker = service.models.chosen(Which(model=question.model), ("labels",))
    jobs = [Job(Classify(), text, worker.model.size(text)) for text in question.texts]
    _check_pieces(max(job.size for job in jobs), service.config.batch_tokens)

    async def labels() -> list[Any]:
        worker.check_room(min(service.config.window, len(jobs)))
        async with aclosing(in_order(service.models, worker.name, jobs, service.config.window)) as stream:  # type: ignore[type-var]
            return [one async for one in stream]

    return Answer({"labels": await unless_gone(request, labels(), service.config.timeout)})
