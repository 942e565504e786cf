"""Routes under /v1: translate, classify, score, alternatives, and the views of a model."""

import math
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from tongsa.data.normalize import normalize
from tongsa.decoding.documents import missing_stop
from tongsa.errors import InputError
from tongsa.server.api.schemas import (
    AlternativesRequest,
    AttentionRequest,
    ClassifyRequest,
    ContinueRequest,
    ModelRequest,
    ScoreRequest,
    SearchTreeRequest,
    TranslateRequest,
)
from tongsa.server.api.validation import RequestModel, parse_json_object, parse_request
from tongsa.server.batch_tasks import ClassifyTask, UnbatchedTask, term_response
from tongsa.server.documents import (
    QueuedDocument,
    check_prefix_fits,
    split_documents,
    stream_results,
    stream_sentences,
    translate_documents,
)
from tongsa.server.errors import bad_request_error, too_long_error
from tongsa.server.http import (
    Deadline,
    JSONResponse,
    NDJSONResponse,
    ServerContext,
    encoded_response,
    get_context,
    request_deadline,
    run_in_thread,
    run_unless_disconnected,
)
from tongsa.server.queue import ModelQueue
from tongsa.server.queued_sentence import QueuedSentence
from tongsa.server.request_body import read_body

if TYPE_CHECKING:
    from tongsa.decoding.generator import TextGenerator
    from tongsa.decoding.results import Translation
    from tongsa.decoding.text_model import TextModel
    from tongsa.decoding.translator import Translator
    from tongsa.visualize.attention import AttentionExample

MAX_INLINE_SENTENCES = 10
"""Sentences whose response is encoded in the event loop: a thread would cost more."""
ALL_TASKS = ("seq2seq", "classification", "language_model")
R = TypeVar("R", bound=RequestModel)


async def read_request(request: Request, request_type: type[R]) -> R:
    """Authorize, read and validate a request."""
    context = get_context(request)
    context.authorize(request)
    body = await read_body(request, context.config)
    return parse_request(request_type, parse_json_object(body), context.config.limits)


async def models(request: Request) -> Response:
    context = get_context(request)
    return JSONResponse(
        {
            "models": context.models.list_models(),
            "limits": asdict(context.config.limits),
            "corrections": bool(context.config.corrections),
        }
    )


async def translate(request: Request) -> Response:
    context, query = get_context(request), await read_request(request, TranslateRequest)
    queue = context.models.select(query.model, query.languages)
    splitting = split_documents(queue.model, query, context.config)
    documents = await run_unless_disconnected(request, splitting)
    if query.stream:
        lines = stream_lines(context, queue, documents, request_deadline(request))
        # the status is sent with the first line: a request that gets no room is refused before, with a 503
        return NDJSONResponse(await run_unless_disconnected(request, anext(lines)), lines)
    work = translate_documents(context, queue, documents, request_deadline(request).time)
    translations = await run_unless_disconnected(request, work)
    response = {"model": queue.name, "translations": translations}
    is_small = sum(len(document.sentences) for document in documents) <= MAX_INLINE_SENTENCES and not query.has_details
    return JSONResponse(response) if is_small else await encoded_response(response)


async def stream_lines(
    context: ServerContext, queue: ModelQueue, documents: list[QueuedDocument], deadline: Deadline
) -> AsyncGenerator[dict[str, Any], None]:
    async with aclosing(stream_sentences(context, queue, documents, deadline.time)) as sentences:
        while item := await deadline.limit(anext(sentences, None)):
            index, sentence = item
            yield {"index": index, "sentence": sentence}
    yield {"done": True}


async def classify(request: Request) -> Response:
    context, query = get_context(request), await read_request(request, ClassifyRequest)
    queue = context.models.select(query.model, tasks=("classification",))
    lengths = await run_in_thread(lambda: queue.model.count_tokens(query.text))
    pairs = zip(query.text, lengths, strict=True)
    sentences = [QueuedSentence(ClassifyTask(), text, length) for text, length in pairs]
    _check_token_count(max(sentence.token_count for sentence in sentences), context.config.batch_tokens)
    max_inflight = context.config.max_inflight_per_request

    async def labels() -> list[Any]:
        await context.models.wait_for_room(queue.name, min(max_inflight, len(sentences)))
        stream = stream_results(context.models, queue.name, sentences, max_inflight, request_deadline(request).time)
        async with aclosing(stream) as results:
            return [result async for result in results]

    return await encoded_response({"labels": await run_unless_disconnected(request, labels())})


# Requests about one sentence run alone, as a function of the text model in the model's thread.


async def _run_unbatched(
    request: Request, queue: ModelQueue, function: Callable[[Any], Any], source: str, target: str = ""
) -> Response:
    context, text_model = get_context(request), queue.model.text_model
    sides = [(text_model.source_tokenizer, source)]
    if text_model.task != "classification":  # there the target is a label
        sides.append((text_model.target_tokenizer, target))
    # the limit in characters is not enough: a rare character may take one token per byte
    for tokenizer, text in sides:
        _check_token_count(len(tokenizer.encode_all([normalize(text)])[0]), context.config.max_sentence_tokens)

    async def result() -> Any:
        await context.models.wait_for_room(queue.name, 1)
        sentence = QueuedSentence(UnbatchedTask(function), source, 1)
        stream = stream_results(context.models, queue.name, [sentence], 1, request_deadline(request).time)
        async with aclosing(stream) as results:
            return await anext(results)

    return await encoded_response(await run_unless_disconnected(request, result()))


def _check_token_count(token_count: int, max_tokens: int) -> None:
    """Raise 413 above the limit: time and memory grow quadratically, and a running search cannot be stopped."""
    if token_count > max_tokens:
        raise too_long_error(f"{token_count:,} tokens in one text, but at most {max_tokens:,} here. Send it in parts.")


async def alternatives(request: Request) -> Response:
    query = await read_request(request, AlternativesRequest)

    def find(translator: "Translator") -> Any:
        from tongsa.decoding.glossary import Glossary

        check_prefix_fits(translator, query.text, query.prefix)
        prefix = normalize(query.prefix)
        position = len(translator.target_tokenizer.encode_all([prefix])[0])  # of the token that differs
        glossary = Glossary.from_pairs((term.source, term.target) for term in query.glossary)
        translations = translator.alternatives(query.text, prefix, count=query.count, glossary=glossary)
        return {
            "alternatives": [
                continuation_response(translation, prefix, position)
                | {"final_punctuation": missing_stop(query.text, translation.text)}
                for translation in translations
            ]
        }

    queue = get_context(request).models.select(query.model, query.languages)
    return await _run_unbatched(request, queue, find, query.text)


def continuation_response(translation: "Translation", prefix: str, position: int) -> dict[str, Any]:
    """Return a continuation of a prefix; `position` is that of the first token after it."""
    log_probs = translation.token_log_probs
    response: dict[str, Any] = {
        "text": translation.text,
        "score": translation.score,
        # with a term the prefix may have fewer tokens, if it ends within a word
        "probability": math.exp(log_probs[min(position, len(log_probs) - 1)]),
        "is_finished": translation.text == prefix,
    }
    return response | ({"terms": [*map(term_response, translation.terms)]} if translation.terms else {})


async def score(request: Request) -> Response:
    query = await read_request(request, ScoreRequest)
    source, target = normalize(query.source), normalize(query.target)

    def compute(text_model: "TextModel") -> Any:
        (log_probs,) = text_model.score([("" if text_model.task == "language_model" else source, target)])
        token_ids = text_model.target_tokenizer.encode_all([target])[0]
        names = [*text_model.target_tokenizer.token_strings(token_ids), "</s>"]  # a label has no </s>
        tokens = [{"token": name, "log_prob": log_prob} for name, log_prob in zip(names, log_probs, strict=False)]
        return {"log_prob": sum(log_probs), "tokens": tokens}

    queue = get_context(request).models.select(query.model, tasks=ALL_TASKS)
    return await _run_unbatched(request, queue, compute, query.source, query.target)


async def continue_text(request: Request) -> Response:
    query = await read_request(request, ContinueRequest)

    def sample(generator: "TextGenerator") -> Any:
        from tongsa.decoding.sampling import SamplingConfig

        sampling = SamplingConfig(temperature=query.temperature, top_p=query.top_p, seed=query.seed)
        text = generator.continue_text(query.text, sampling, max_tokens=query.max_tokens) if query.max_tokens else ""
        tokens = generator.next_tokens(query.text)
        return {
            "text": text or query.text,
            "next_tokens": [{"token": token, "probability": probability} for token, probability in tokens],
        }

    queue = get_context(request).models.select(query.model, tasks=("language_model",))
    return await _run_unbatched(request, queue, sample, "", query.text)


async def attention(request: Request) -> Response:
    query = await read_request(request, AttentionRequest)
    queue = get_context(request).models.select(query.model, tasks=ALL_TASKS)

    def draw(text_model: Any) -> Any:
        from tongsa.visualize.attention import page_data
        from tongsa.visualize.mechanism import attention_mechanisms

        example = _attention_example(text_model, query)
        if not any(map(len, example.weights.values())):
            raise InputError(f"model: {queue.name!r} has no attention. Choose a model whose views have attention.")
        return page_data(queue.name, [example], mechanisms=attention_mechanisms(text_model.model))

    return await _run_unbatched(request, queue, draw, query.text, query.target or "")


def _attention_example(text_model: Any, query: AttentionRequest) -> "AttentionExample":
    """Return the attention along the model's own output, or along the given translation."""
    from tongsa.visualize.attention import AttentionExample
    from tongsa.visualize.examples import (
        classification_example,
        language_model_example,
        translate_sentence,
        translation_example,
    )

    if text_model.task == "classification":
        return classification_example(text_model(query.text), query.text)
    if text_model.task == "language_model":
        return language_model_example(text_model, query.text)
    if query.target is None:
        return translation_example(translate_sentence(text_model, query.text), query.text)
    translator: Translator = text_model
    pair = normalize(query.text), normalize(query.target)
    examples = translator.encode_pairs([pair])
    source_ids, target_ids = examples.source[0].tolist(), examples.target[0].tolist()
    (log_probs,) = translator.score([pair])
    return AttentionExample(
        source_tokens=[*translator.source_tokenizer.token_strings(source_ids), "</s>"],
        target_tokens=[*translator.target_tokenizer.token_strings(target_ids), "</s>"],
        weights=translator.attention(source_ids, target_ids),
        text=query.text,
        translation=pair[1],
        score=sum(log_probs) / translator.config.length_penalty(len(log_probs)),
    )


async def search_tree(request: Request) -> Response:
    query = await read_request(request, SearchTreeRequest)
    queue = get_context(request).models.select(query.model, query.languages)

    def draw(translator: "Translator") -> Any:
        from tongsa.visualize.search_tree import build_search_tree, page_data

        return page_data(queue.name, build_search_tree(translator, query.text, beam=query.beam))

    return await _run_unbatched(request, queue, draw, query.text)


async def positions(request: Request) -> Response:
    return await _static_view(request, "positions", "has no position table")


async def curves(request: Request) -> Response:
    return await _static_view(request, "curves", "has no journal of its training")


async def _static_view(request: Request, view: str, problem: str) -> Response:
    query = await read_request(request, ModelRequest)
    model = get_context(request).models.select(query.model, query.languages, ALL_TASKS).model
    if view not in model.static_views:
        raise bad_request_error(f"model: {model.name!r} {problem}. Choose a model whose views have {view}.")
    return JSONResponse(model.static_views[view])
