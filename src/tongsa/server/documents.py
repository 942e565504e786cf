"""A text of any number of sentences: taken apart, answered in order, put together with its own white space."""

import math
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from tongsa.data.normalize import normalize
from tongsa.data.sentence_splitter import Span, split_in_half, split_sentences
from tongsa.decoding.glossary import Glossary
from tongsa.server import answers
from tongsa.server.api.requests import TranslateRequest
from tongsa.server.batch_tasks import TranslateTask
from tongsa.server.config import ServerConfig
from tongsa.server.errors import bad_request_error
from tongsa.server.looks import check_prefix_fits
from tongsa.server.model_pool import LoadedModel, ModelPool
from tongsa.server.queue import QueuedSentence


@dataclass(frozen=True)
class Document:
    """A text, where its sentences are, and a job for each."""

    text: str
    spans: Sequence[Span]
    sentences: Sequence[QueuedSentence]


def create_documents(model: LoadedModel, request: TranslateRequest, config: ServerConfig) -> list[Document]:
    """The texts of a request, ready to be queued."""
    glossary = Glossary.from_pairs((term.source, term.target) for term in request.glossary)
    details = frozenset(name for name in answers.DETAILS if getattr(request, name))
    most = min(config.max_sentence_tokens, model.text_model.longest - 1)
    found = []
    for text in request.texts:
        spans = [
            part
            for span in split_sentences(text, model.source_language)
            for part in split_to_fit(model, text, span, most)
        ]
        jobs = [
            _create_sentence(model, request, glossary, text[slice(*span)], details, config.output_checks)
            for span in spans
        ]
        found.append(Document(text, spans, jobs))
    if request.prefix and [len(document.sentences) for document in found] != [1]:
        raise bad_request_error("prefix: goes with one text of one sentence; send one, or leave the prefix out")
    if request.prefix:
        check_prefix_fits(model.text_model, found[0].sentences[0].text, request.prefix)
    return found


def split_to_fit(model: LoadedModel, text: str, span: Span, max_tokens: int) -> list[Span]:
    """A sentence, or its parts where it is longer than is translated at once: nothing of it is lost."""
    if model.count_tokens(text[slice(*span)]) <= max_tokens + 1 or span.end - span.start < 2:
        return [span]
    return [
        part
        for half in split_in_half(text, span)
        if half.end > half.start
        for part in split_to_fit(model, text, half, max_tokens)
    ]


def _create_sentence(
    model: LoadedModel,
    request: TranslateRequest,
    glossary: Glossary,
    text: str,
    details: frozenset[str],
    check_outputs: bool,
) -> QueuedSentence:
    size, own = model.count_tokens(text), model.text_model.config.beam
    terms = tuple(dict.fromkeys((one.term.source, one.term.target) for one in glossary.requirements(normalize(text))))
    order = TranslateTask(
        nbest=request.nbest,
        beam=request.beam,
        glossary_terms=terms,
        has_prefix=bool(request.prefix),
        use_engine=model.engine_supports(size),
        check_outputs=check_outputs,
    )
    width = math.ceil(max(request.beam or own, request.nbest) / own)
    return QueuedSentence(order, text, size, width, prefix=request.prefix, details=details)


async def stream_results(
    pool: ModelPool, model_name: str, queued_sentences: Sequence[QueuedSentence], max_inflight: int
) -> AsyncIterator[Any]:
    """Their answers as they come, so many queued at a time. Whoever stops reading takes the rest out of the queue."""
    try:
        pool.submit(model_name, queued_sentences[:max_inflight])
        for at, job in enumerate(queued_sentences):
            answer = await job.result()
            if ahead := queued_sentences[at + max_inflight : at + max_inflight + 1]:
                pool.submit(model_name, ahead)
            yield answer
    finally:
        for job in queued_sentences:
            job.future.cancel()


async def stream_sentences(
    pool: ModelPool, model_name: str, documents: Sequence[Document], max_inflight: int
) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    """Every sentence of every text, in order, with its place in its text and in its translation."""
    places = _sentence_positions(documents)
    jobs = [job for document in documents for job in document.sentences]
    length, text = 0, -1
    async with aclosing(stream_results(pool, model_name, jobs, max_inflight)) as stream:  # type: ignore[type-var]
        async for answer in stream:
            index, span, before = next(places)
            length = (0 if index != text else length) + len(before)
            text = index
            end = length + len(answer["text"])
            position = {"start": span.start, "end": span.end, "target_start": length, "target_end": end}
            length = end
            yield index, answer | position


def _sentence_positions(documents: Sequence[Document]) -> Iterator[tuple[int, Span, str]]:
    """Of every sentence the text it is in, its place there, and the white space before it."""
    for index, document in enumerate(documents):
        end = 0
        for span in document.spans:
            yield index, span, document.text[end : span.start]
            end = span.end


def assemble(document: Document, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The translation of a whole text: its sentences, with what stood between them."""
    parts, end = [], 0
    for span, one in zip(document.spans, results, strict=True):
        parts += [document.text[end : span.start], one["text"]]
        end = span.end
    return {"text": "".join([*parts, document.text[end:]]), "sentences": list(results)}
