"""Limits on what one client may cost the others: queue, batch memory, connections, threads, time."""

import asyncio
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tongsa
from export.bundles import random_bundle, save_run
from live_server import (
    WAIT_SECONDS,
    BlockedModel,
    LiveServer,
    live_server,
    looping_model,
    sample_texts,
    wait_for,
)
from tongsa.data.training_profile import TrainingProfile
from tongsa.errors import InputError
from tongsa.models.transformer.classifier import TransformerClassifierConfig
from tongsa.server import auth
from tongsa.server.api.schemas import TranslateRequest
from tongsa.server.api.v1 import stream_lines
from tongsa.server.api.validation import MAX_COMBINING_MARKS, has_too_many_marks
from tongsa.server.config import ServerConfig
from tongsa.server.documents import create_documents
from tongsa.server.http import Deadline
from tongsa.server.main import coalesce, create_context, reload
from tongsa.server.model_pool import parse_model_sources
from tongsa.tokenization.labels import LabelTokenizer

TRANSLATE = "/v1/translate"


def test_a_book_longer_than_the_queue_leaves_room_for_others(run: Path) -> None:
    with (
        live_server(run, max_queued_sentences=8, max_inflight_per_request=2, batch_wait_ms=0) as server,
        ThreadPoolExecutor(2) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        book = clients.submit(server.translate, "\n".join("abcdefg" * 3))
        blocked.wait()
        other = clients.submit(server.post, TRANSLATE, {"text": "a b c"})
        wait_for(lambda: other.done() or server.queue.queued_count)
        blocked.release.set()
        assert other.result().status_code == 200
        assert len(book.result()[0]["sentences"]) == 21


def test_a_stream_that_is_not_read_takes_no_room_in_the_queue(run: Path) -> None:
    with live_server(run, max_queued_sentences=4, max_inflight_per_request=2, batch_wait_ms=0) as server:
        context, queue = server.context, server.queue
        documents = create_documents(queue.model, TranslateRequest(text=["a\nb\nc\nd\ne"]), context.config)

        async def pause_stream() -> tuple[int, int]:
            stream = stream_lines(context, queue, documents, Deadline(math.inf, math.inf))
            await anext(stream)
            response = await asyncio.to_thread(server.post, TRANSLATE, {"text": "a b\nc d\ne f\ng a"})
            rest = [line async for line in stream]
            return response.status_code, len(rest)

        assert asyncio.run(pause_stream()) == (200, 5)


def test_errors_start_no_threads(run: Path) -> None:
    with live_server(run) as server:
        before = set(threading.enumerate())
        statuses = [server.get("/nothing").status_code, server.post(TRANSLATE, {"text": 1}).status_code]
        statuses.append(server.post(TRANSLATE, {"text": "a", "model": "other"}).status_code)
        assert (statuses, set(threading.enumerate()) - before) == ([404, 422, 404], set())


def test_more_requests_than_allowed_get_503(run: Path) -> None:
    with live_server(run, max_concurrent_requests=2, batch_wait_ms=0) as server, ThreadPoolExecutor(2) as clients:
        with BlockedModel(server.queue.model.text_model) as blocked:
            accepted = [clients.submit(server.translate, text) for text in ("a", "b")]
            wait_for(lambda: server.metric("tongsa_requests_in_progress") == 2)
            for rejected in (server.post(TRANSLATE, {"text": "c"}), server.get("/v1/models")):
                assert (rejected.status_code, rejected.json()["code"]) == (503, "busy")
                assert int(rejected.headers["retry-after"]) >= 1
            assert server.get("/readyz").status_code == 200
            blocked.release.set()
            assert all(request.result() for request in accepted)
        wait_for(lambda: server.metric("tongsa_requests_in_progress") == 0)
        assert server.translate("c")


def test_a_wider_beam_takes_more_of_a_batch(run: Path) -> None:
    batch_tokens = {}
    for beam in (4, 8):
        with (
            live_server(run, batch_wait_ms=30, batch_tokens=24) as server,
            BlockedModel(server.queue.model.text_model) as blocked,
        ):
            blocked.release.set()
            (token_count,) = server.queue.model.count_tokens(["a"])
            server.translate("\n".join("a" * 20), beam=beam)
            batch_tokens[beam] = max(map(len, blocked.batches)) * token_count
    assert batch_tokens[8] <= 12 < batch_tokens[4] <= 24


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/tree", {"text": "😀" * 100}),
        ("/v1/trace", {"text": "😀" * 30}),
        ("/v1/trace", {"text": "a", "target": "가 나 다 라 " * 40}),
        ("/v1/trace", {"text": "a", "edits": [{"type": "source_text", "text": "😀" * 30}]}),
        ("/v1/alternatives", {"text": "😀" * 100}),
        ("/v1/attention", {"text": "😀" * 100}),
        ("/v1/attention", {"text": "a", "target": "가 나 다 라 " * 40}),
        ("/v1/score", {"source": "a", "target": "가 나 다 라 " * 40}),
    ],
)
def test_views_limit_the_number_of_tokens(server: LiveServer, path: str, body: dict[str, Any]) -> None:
    response = server.post(path, body)
    assert (response.status_code, response.json()["code"]) == (413, "too_long")
    assert "tokens" in response.json()["error"]


def test_texts_are_classified_and_too_long_ones_rejected(tmp_path: Path) -> None:
    labels = LabelTokenizer(["good", "나쁨"])
    config = TransformerClassifierConfig(width=16, ffn_width=32, heads=4, layers=1, hidden=16)
    profile = TrainingProfile.from_pairs([("c d seen", "good")], longest_source=20)
    bundle = replace(random_bundle("transformer_classifier", config, target=labels), profile=profile)
    run = save_run(tmp_path / "labels", bundle)
    with live_server(run, batch_tokens=64) as server:
        texts = ["a b", "c d new seen", ""]
        results = server.post("/v1/classify", {"text": texts}).json()["labels"]
        expected = tongsa.load(run, task="classification").classify(texts)
        assert [result["label"] for result in results] == [classification.label for classification in expected]
        assert results[1]["probabilities"] == pytest.approx(expected[1].probabilities, abs=1e-5)
        assert [result["unseen_words"] for result in results] == [[], ["new"], []]
        rejected = server.post("/v1/classify", {"text": ["a", "😀" * 20]})
        assert (rejected.status_code, rejected.json()["code"]) == (413, "too_long")
        assert server.post("/v1/attention", {"text": "a b c"}).json()["examples"][0]["is_label"]
        assert len(server.post("/v1/score", {"source": "a", "target": "나쁨"}).json()["tokens"]) == 1
        assert server.post("/v1/score", {"source": "a", "target": "so"}).status_code == 422


@pytest.mark.parametrize("between", ["", "\0", "\ufeff"])
def test_many_combining_marks_are_rejected_before_normalization(server: LiveServer, between: str) -> None:
    text = "a" + between.join("\u0315\u0316" * MAX_COMBINING_MARKS)
    response = server.post(TRANSLATE, {"text": text})
    assert (response.status_code, response.json()["code"]) == (422, "bad_request")
    assert "marks" in response.json()["error"]


def test_ordinary_combining_marks_are_accepted() -> None:
    texts = ["a\u0301\u0323 " * 300, "हिन्दी में " * 300, "❤️" * 300, "\u0f73\n" * 300, "갔다 " * 300]
    assert not any(map(has_too_many_marks, texts))
    assert has_too_many_marks("\u0f73" * 300), "this mark decomposes into two"


def test_a_failed_retry_of_one_sentence_keeps_the_retries_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = sample_texts(12)
    with live_server(looping_model(tmp_path / "loops"), output_checks=True, batch_wait_ms=50) as server:
        translator = server.queue.model.text_model
        search = translator.search
        retried = [translated["sentences"][0]["retried"] for translated in server.translate(texts)]
        first = retried.index(True)
        assert sum(retried) > 1, "only one sentence is retried: choose another seed"

        def failing_search(sources: Any, request: Any, source_tokens: Any) -> Any:
            if request.config.no_repeat_ngram and texts[first] in sources:
                raise InputError("no output")
            return search(sources, request, source_tokens)

        monkeypatch.setattr(translator, "search", failing_search)
        after = [translated["sentences"][0]["retried"] for translated in server.translate(texts)]
        assert after == [was_retried and i != first for i, was_retried in enumerate(retried)]


def test_many_reload_signals_cause_two_reloads_one_after_the_other() -> None:
    release, rounds, running = threading.Event(), list[int](), list[int]()

    def work() -> None:
        running.append(1)
        rounds.append(len(running))
        assert release.wait(WAIT_SECONDS)
        running.pop()

    async def signal_often() -> None:
        start = coalesce(work)
        for _ in range(9):
            start()
        await asyncio.to_thread(wait_for, lambda: rounds)
        start()
        release.set()
        await asyncio.to_thread(wait_for, lambda: len(rounds) == 2 and not running)
        start()
        await asyncio.to_thread(wait_for, lambda: len(rounds) == 3 and not running)

    asyncio.run(signal_often())
    assert rounds == [1, 1, 1]


def test_a_revoked_key_stops_working_before_models_are_reloaded(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys"
    key = auth.create_key(file, "alice")
    context = create_context(parse_model_sources([str(run)]), ServerConfig(keys=file))
    owners = list[str | None]()
    monkeypatch.setattr(context.models, "load", lambda: owners.append(context.keys.find_owner(key)))
    reload(context)
    file.write_text(auth.FILE_HEADER, "utf-8")
    reload(context)
    assert owners == ["alice", None]
