"""A text of any number of sentences: taken apart, answered in order, put together with its own white space."""

import math
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from tongsa.decoding.terminology import Glossary
from tongsa.serving import answers
from tongsa.serving.batching import Job
from tongsa.serving.config import ServingConfig
from tongsa.serving.looks import check_prefix
from tongsa.serving.models import Models, Served
from tongsa.serving.orders import Translate
from tongsa.serving.refusal import bad
from tongsa.serving.requests import TranslateRequest
from tongsa.text.normalise import normalise
from tongsa.text.sentences import Span, halves, sentences


@dataclass(frozen=True)
class Document:
    """A text, where its sentences are, and a job for each."""

    text: str
    spans: Sequence[Span]
    jobs: Sequence[Job]


def documents(served: Served, asked: TranslateRequest, config: ServingConfig) -> list[Document]:
    """The texts of a request, ready to be queued."""
    glossary = Glossary.of((term.source, term.target) for term in asked.terms)
    details = frozenset(name for name in answers.DETAILS if getattr(asked, name))
    most = min(config.sentence_pieces, served.reader.longest - 1)
    found = []
    for text in asked.texts:
        spans = [part for span in sentences(text, served.source_language) for part in fitting(served, text, span, most)]
        jobs = [_job(served, asked, glossary, text[slice(*span)], details, config.guard) for span in spans]
        found.append(Document(text, spans, jobs))
    if asked.prefix and [len(document.jobs) for document in found] != [1]:
        raise bad("prefix: goes with one text of one sentence; send one, or leave the prefix out")
    if asked.prefix:
        check_prefix(served.reader, found[0].jobs[0].text, asked.prefix)
    return found


def fitting(served: Served, text: str, span: Span, most: int) -> list[Span]:
    """A sentence, or its parts where it is longer than is translated at once: nothing of it is lost."""
    if served.size(text[slice(*span)]) <= most + 1 or span.end - span.start < 2:
        return [span]
    return [part for half in halves(text, span) if half.end > half.start for part in fitting(served, text, half, most)]


def _job(
    served: Served, asked: TranslateRequest, glossary: Glossary, text: str, details: frozenset[str], guarded: bool
) -> Job:
    size, own = served.size(text), served.reader.config.beam
    terms = tuple(dict.fromkeys((one.term.source, one.term.target) for one in glossary.wanted(normalise(text))))
    order = Translate(
        nbest=asked.nbest,
        beam=asked.beam,
        terms=terms,
        prefixed=bool(asked.prefix),
        quick=served.quick(size),
        guarded=guarded,
    )
    width = math.ceil(max(asked.beam or own, asked.nbest) / own)
    return Job(order, text, size, width, prefix=asked.prefix, details=details)


async def in_order(models: Models, name: str, jobs: Sequence[Job], window: int) -> AsyncIterator[Any]:
    """Their answers as they come, so many queued at a time. Whoever stops reading takes the rest out of the queue."""
    try:
        models.submit(name, jobs[:window])
        for at, job in enumerate(jobs):
            answer = await job.answered()
            if ahead := jobs[at + window : at + window + 1]:
                models.submit(name, ahead)
            yield answer
    finally:
        for job in jobs:
            job.answer.cancel()


async def placed(
    models: Models, name: str, found: Sequence[Document], window: int
) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    """Every sentence of every text, in order, with its place in its text and in its translation."""
    places = _places(found)
    jobs = [job for document in found for job in document.jobs]
    length, text = 0, -1
    async with aclosing(in_order(models, name, jobs, window)) as stream:  # type: ignore[type-var]
        async for answer in stream:
            index, span, before = next(places)
            length = (0 if index != text else length) + len(before)
            text = index
            end = length + len(answer["text"])
            position = {"start": span.start, "end": span.end, "target_start": length, "target_end": end}
            length = end
            yield index, answer | position


def _places(found: Sequence[Document]) -> Iterator[tuple[int, Span, str]]:
    """Of every sentence the text it is in, its place there, and the white space before it."""
    for index, document in enumerate(found):
        end = 0
        for span in document.spans:
            yield index, span, document.text[end : span.start]
            end = span.end


def assembled(document: Document, made: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The translation of a whole text: its sentences, with what stood between them."""
    parts, end = [], 0
    for span, one in zip(document.spans, made, strict=True):
        parts += [document.text[end : span.start], one["text"]]
        end = span.end
    return {"text": "".join([*parts, document.text[end:]]), "sentences": list(made)}
