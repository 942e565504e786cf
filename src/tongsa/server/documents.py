"""Texts of a request: their sentences are queued, and translated in order; decoding/documents.py splits and joins."""

import asyncio
import math
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tongsa.data.normalize import normalize
from tongsa.data.sentence_splitter import Span
from tongsa.decoding.documents import Document
from tongsa.document_formats.mark_positions import WordLink
from tongsa.document_formats.translation import SourceText, TextTranslation
from tongsa.errors import InputError
from tongsa.server.api.schemas import GlossaryTerm, TranslateRequest
from tongsa.server.batch_tasks import DETAILS, TranslateTask
from tongsa.server.config import ServerConfig
from tongsa.server.errors import bad_request_error
from tongsa.server.http import ClientDisconnected, ServerContext
from tongsa.server.model_pool import LoadedModel, ModelPool
from tongsa.server.queue import ModelQueue
from tongsa.server.queued_sentence import QueuedSentence

if TYPE_CHECKING:
    from tongsa.decoding.glossary import Glossary

SENTENCES_PER_CALL = 100
"""Sentences that are tokenized together: single calls would stop the event loop (`SubwordTokenizer.encode`)."""
MAX_INLINE_CHARACTERS = 1000
"""Characters that are split in the event loop: less than a millisecond of work, but a thread would cost a tenth."""


@dataclass(frozen=True)
class QueuedDocument:
    """A text with the spans of its sentences, and a queue entry for each."""

    document: Document
    sentences: Sequence[QueuedSentence]
    control_tag: str = ""
    """Tag before each queued sentence; it is no part of the text."""


def create_documents(
    model: LoadedModel, request: TranslateRequest, config: ServerConfig, abandoned: threading.Event | None = None
) -> list[QueuedDocument]:
    """Split the texts of a request into sentences that can be queued; stop soon after `abandoned` is set."""
    if request.control_tag and request.control_tag not in model.summary.control_tags:
        known = ", ".join(model.summary.control_tags) or "none"
        raise bad_request_error(f"control_tag: {request.control_tag!r} is unknown. {model.name} has: {known}.")
    documents = _create_documents(model, [(request, text) for text in request.text], config, abandoned)
    if request.prefix and [len(document.sentences) for document in documents] != [1]:
        raise bad_request_error("prefix: needs one text of one sentence. Send one sentence, or no prefix.")
    if request.prefix:
        check_prefix_fits(model.text_model, documents[0].sentences[0].text, request.prefix)
    return documents


def _create_documents(
    model: LoadedModel,
    texts: Sequence[tuple[TranslateRequest, str]],
    config: ServerConfig,
    abandoned: threading.Event | None,
) -> list[QueuedDocument]:
    """Split texts into sentences that can be queued, each with the settings of its request."""
    from tongsa.decoding.glossary import Glossary  # imports torch, which is loaded after the port is open

    def check_client() -> None:
        if abandoned and abandoned.is_set():
            raise ClientDisconnected

    documents = list[tuple[TranslateRequest, Document]]()
    for request, text in texts:
        check_client()
        documents.append((request, model.split_text(text, config.max_sentence_tokens)))
    tagged = [_tag(request, sentence) for request, document in documents for sentence in document.sentences]
    token_lists, queued = _tokenize(model, tagged), list[QueuedDocument]()
    last_request, glossary = None, Glossary()
    for request, document in documents:
        if request is not last_request:
            last_request = request
            glossary = Glossary.from_pairs((term.source, term.target) for term in request.glossary)
        create = partial(_create_sentence, model, request, glossary, check_outputs=config.output_checks)
        sentences = []
        for sentence in document.sentences:
            check_client()
            sentences.append(create(sentence, next(token_lists)))
        queued.append(QueuedDocument(document, sentences, request.control_tag))
    return queued


def _tag(request: TranslateRequest, sentence: str) -> str:
    return f"{request.control_tag} {sentence}" if request.control_tag else sentence


def _tokenize(model: LoadedModel, sentences: Sequence[str]) -> Iterator[Sequence[int]]:
    """Yield the tokens of each sentence."""
    for start in range(0, len(sentences), SENTENCES_PER_CALL):
        yield from model.text_model.source_tokenizer.encode_all(sentences[start : start + SENTENCES_PER_CALL])


def check_prefix_fits(translator: Any, text: str, prefix: str) -> None:
    """Raise InputError if a prefix leaves no room for </s> in the longest possible output."""
    source_length = len(translator.source_tokenizer.encode(text)) + 1
    max_length = min(source_length + translator.config.max_extra_tokens, translator.max_positions - 1)
    if prefix and len(translator.target_tokenizer.encode_all([normalize(prefix)])[0]) >= max_length:
        raise InputError("prefix: longer than a translation of this text can be. Shorten it.")


def _create_sentence(
    model: LoadedModel,
    request: TranslateRequest,
    glossary: "Glossary",
    text: str,
    source_tokens: Sequence[int],
    *,
    check_outputs: bool,
) -> QueuedSentence:
    default_beam = model.text_model.config.beam
    terms = [requirement.term for requirement in glossary.requirements(normalize(text))] if glossary.terms else []
    text = _tag(request, text)
    task = TranslateTask(
        nbest=request.nbest,
        beam=request.beam,
        glossary_terms=tuple(dict.fromkeys((term.source, term.target) for term in terms)),
        has_prefix=bool(request.prefix),
        use_engine=model.engine_supports(len(source_tokens) + 1) and not model.copies_words(text),
        check_outputs=check_outputs,
    )
    return QueuedSentence(
        task,
        text,
        len(source_tokens) + 1,
        math.ceil(max(request.beam or default_beam, request.nbest) / default_beam),
        prefix=request.prefix,
        details=frozenset(name for name in DETAILS if getattr(request, name)),
        source_tokens=source_tokens,
    )


async def split_documents(model: LoadedModel, request: TranslateRequest, config: ServerConfig) -> list[QueuedDocument]:
    """Split the texts of a request; in a thread if it may take long, because the event loop serves all clients."""
    if not request.glossary and sum(map(len, request.text)) <= MAX_INLINE_CHARACTERS:
        return create_documents(model, request, config)
    abandoned = threading.Event()
    try:
        return await asyncio.to_thread(create_documents, model, request, config, abandoned)
    finally:  # a thread cannot be cancelled: it is told that nobody waits for it
        abandoned.set()


async def stream_results(
    pool: ModelPool, model_name: str, sentences: Sequence[QueuedSentence], max_inflight: int, deadline: float = math.inf
) -> AsyncGenerator[Any, None]:
    """Yield results in order, with at most `max_inflight` sentences queued. Closing cancels the rest."""
    request, submitted = object(), 0
    for sentence in sentences:
        sentence.request, sentence.deadline = request, deadline

    def submit(first: int) -> None:
        """Queue the next sentences; `first` is the first that may have no result."""
        nonlocal submitted
        # all that have finished make room at once: sentences that are queued one by one would not share a batch
        unfinished = next((i for i in range(first, submitted) if not sentences[i].is_done), submitted)
        if following := sentences[submitted : unfinished + max_inflight]:
            pool.submit(model_name, following)
            submitted += len(following)

    try:
        submit(0)
        for i, sentence in enumerate(sentences):
            result = await sentence.result()
            submit(i + 1)
            yield result
    finally:
        for sentence in sentences:
            sentence.cancel()


async def stream_sentences(
    context: ServerContext, queue: ModelQueue, documents: Sequence[QueuedDocument], deadline: float = math.inf
) -> AsyncGenerator[tuple[int, dict[str, Any]], None]:
    """Yield (index of the text, translated sentence with its positions) for all sentences in order."""
    await context.models.wait_for_room(queue.name, inflight_count(context, documents))
    positions = _sentence_positions(documents)
    sentences = [sentence for document in documents for sentence in document.sentences]
    max_inflight = context.config.max_inflight_per_request
    target_end, text_index = 0, -1
    async with aclosing(stream_results(context.models, queue.name, sentences, max_inflight, deadline)) as results:
        async for result in results:
            index, i, space_before = next(positions)
            span = documents[index].document.spans[i]
            result = remove_control_tag(result, documents[index].control_tag)
            result = complete_sentence(result, documents[index].document, i)
            target_start = (target_end if index == text_index else 0) + len(space_before)
            target_end, text_index = target_start + len(result["text"]), index
            context.metrics.count_flags(queue.name, result)
            yield (
                index,
                result | {"start": span.start, "end": span.end, "target_start": target_start, "target_end": target_end},
            )


def remove_control_tag(sentence: dict[str, Any], tag: str) -> dict[str, Any]:
    """Return a translated sentence without the tag before its source, which is one word."""
    if not tag:
        return sentence
    offset = len(tag) + 1
    result = sentence | {"source": sentence["source"][offset:]}
    result["unseen_words"] = [word for word in sentence["unseen_words"] if word not in tag]
    if alignment := sentence.get("alignment"):
        result["alignment"] = alignment | {
            "source": [(start - offset, end - offset) for start, end in alignment["source"][1:]],
            "links": [(source - 1, target) for source, target in alignment["links"] if source],
        }
    return result


def complete_sentence(sentence: dict[str, Any], document: Document, i: int) -> dict[str, Any]:
    """Return translated sentence `i` of a text, and its alternatives, with the stop that the model did not write."""

    def complete(hypothesis: dict[str, Any]) -> dict[str, Any]:
        text = hypothesis["text"]
        return hypothesis | {
            "text": document.complete(i, text),
            "final_punctuation": document.final_punctuation(i, text),
        }

    return complete(sentence) | {"alternatives": [complete(other) for other in sentence["alternatives"]]}


def inflight_count(context: ServerContext, documents: Sequence[QueuedDocument]) -> int:
    """Return how many sentences of these documents are queued at the same time."""
    return min(context.config.max_inflight_per_request, sum(len(document.sentences) for document in documents))


def _sentence_positions(documents: Sequence[QueuedDocument]) -> Iterator[tuple[int, int, str]]:
    """Yield (index of the text, index of the sentence in it, white space before it) for all sentences in order."""
    for index, queued in enumerate(documents):
        for i, (_, space) in enumerate(queued.document.spans_with_space()):
            yield index, i, space


async def translate_documents(
    context: ServerContext, queue: ModelQueue, documents: Sequence[QueuedDocument], deadline: float
) -> list[dict[str, Any]]:
    """Translate all sentences of the documents and join them to texts; after the deadline nothing is computed."""
    sentences: list[list[dict[str, Any]]] = [[] for _ in documents]
    async with aclosing(stream_sentences(context, queue, documents, deadline)) as stream:
        async for index, sentence in stream:
            sentences[index].append(sentence)
    return [
        {"text": queued.document.join([sentence["text"] for sentence in translated]), "sentences": translated}
        for queued, translated in zip(documents, sentences, strict=True)
    ]


async def translate_source_texts(
    context: ServerContext,
    queue: ModelQueue,
    texts: Sequence[SourceText],
    glossary: Sequence[GlossaryTerm],
    deadline: float,
) -> list[TextTranslation]:
    """Translate the texts of a document with a format; placeholders are terms to copy."""
    abandoned = threading.Event()

    def request_for(text: SourceText) -> TranslateRequest:
        copies = [GlossaryTerm(source=placeholder, target=placeholder) for placeholder in text.placeholders]
        # not validated: a document has its own limits
        return TranslateRequest.model_construct(glossary=[*glossary, *copies], alignments=text.needs_alignment)

    def create() -> list[QueuedDocument]:
        # texts without placeholders share a request: its glossary is not prepared for each of them
        shared = {needs: request_for(SourceText("", (), needs)) for needs in (False, True)}
        requests = [request_for(text) if text.placeholders else shared[text.needs_alignment] for text in texts]
        pairs = [(request, text.text) for request, text in zip(requests, texts, strict=True)]
        return _create_documents(queue.model, pairs, context.config, abandoned)

    try:
        documents = await asyncio.to_thread(create)
    finally:  # a thread cannot be cancelled: it is told that nobody waits for it
        abandoned.set()
    translated = await translate_documents(context, queue, documents, deadline)
    return [_text_translation(result) for result in translated]


def _text_translation(result: dict[str, Any]) -> TextTranslation:
    links, flags = list[WordLink](), list[str]()
    for sentence in result["sentences"]:
        alignment = sentence.get("alignment", {"links": ()})
        for source, target in alignment["links"]:
            source_span = (sentence["start"] + offset for offset in alignment["source"][source])
            target_span = (sentence["target_start"] + offset for offset in alignment["target"][target])
            links.append(WordLink(Span(*source_span), Span(*target_span)))
        flags += [*sentence["flags"], *(["truncated"] if sentence["truncated"] else [])]
    return TextTranslation(result["text"], links, tuple(dict.fromkeys(flags)))
