"""Sentences stream through search and finish: workers run at the same time, and no stage holds up another."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

import tongsa
from export.bundles import save_run, transformer
from live_server import WAIT_SECONDS, BlockedModel, live_server, looping_model, sample_texts, wait_for
from tongsa.export import export
from tongsa.server.batch_tasks import TranslateTask
from tongsa.server.errors import APIError
from tongsa.server.queued_sentence import QueuedSentence


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def exported_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ctranslate2")
    run = save_run(tmp_path_factory.mktemp("stages") / "run", transformer(norm="pre", positions="learned"))
    export(run, "ctranslate2")
    return run


@pytest.mark.usefixtures("two_threads")
def test_each_worker_of_the_engine_searches_a_batch_of_its_own(exported_run: Path) -> None:
    texts = sample_texts(30)
    with live_server(exported_run, batch_wait_ms=0) as server, ThreadPoolExecutor(30) as clients:
        assert server.queue.limits.workers == 2
        with BlockedModel(server.queue.model.text_model) as blocked:
            requests = [clients.submit(server.translate, text) for text in texts]
            wait_for(lambda: len(blocked.batches) == 2)
            wait_for(lambda: server.queue.queued_count == 30 - sum(map(len, blocked.batches)))
            blocked.release.set()
            results = [request.result()[0]["text"] for request in requests]
    assert results == [best.text for best in tongsa.load(exported_run, task="seq2seq").translate(texts)]


@pytest.mark.usefixtures("two_threads")
def test_idle_workers_share_the_sentences_of_a_document(exported_run: Path) -> None:
    with (
        live_server(exported_run, batch_wait_ms=0) as server,
        ThreadPoolExecutor(1) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        document = clients.submit(server.translate, "\n".join(sample_texts(20)))
        wait_for(lambda: len(blocked.batches) == 2)
        assert [len(batch) for batch in blocked.batches] == [10, 10]
        blocked.release.set()
        assert len(document.result()[0]["sentences"]) == 20


@pytest.mark.usefixtures("two_threads")
def test_a_search_of_torch_has_the_machine_for_itself(exported_run: Path) -> None:
    glossary = [{"source": "a", "target": "b"}]
    with (
        live_server(exported_run, batch_wait_ms=0) as server,
        ThreadPoolExecutor(3) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        requests = [clients.submit(server.translate, "b c")]
        blocked.wait()
        requests.append(clients.submit(server.translate, "a b", glossary=glossary))
        wait_for(lambda: server.queue.queued_count == 1)
        requests.append(clients.submit(server.translate, "c d"))
        wait_for(lambda: server.queue.queued_count == 2)
        assert blocked.batches == [["b c"]], "torch and CTranslate2 would share the threads"
        blocked.release.set()
        assert all(request.result() for request in requests)


def test_a_client_that_is_alone_does_not_wait_for_others(run: Path) -> None:
    with live_server(run, batch_wait_ms=0) as server, ThreadPoolExecutor(1) as clients:
        server.translate("a b")
        server.queue.limits = server.queue.limits._replace(wait_seconds=100 * WAIT_SECONDS)
        assert clients.submit(server.translate, "c d").result(WAIT_SECONDS)


def test_the_next_batch_is_searched_while_the_last_one_is_finished(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first_search, second_search, overlapped = threading.Event(), threading.Event(), list[bool]()
    finish = TranslateTask.finish

    def finish_during_search(*arguments: Any) -> Any:
        overlapped.append(second_search.wait(WAIT_SECONDS))
        return finish(*arguments)

    monkeypatch.setattr(TranslateTask, "finish", finish_during_search)
    with live_server(run, batch_wait_ms=0) as server, ThreadPoolExecutor(2) as clients:
        translator = server.queue.model.text_model
        search = translator.search

        def count_searches(texts: Any, request: Any, source_tokens: Any) -> Any:
            (first_search if texts == ["a b"] else second_search).set()
            return search(texts, request, source_tokens)

        monkeypatch.setattr(translator, "search", count_searches)
        first = clients.submit(server.translate, "a b")
        assert first_search.wait(WAIT_SECONDS), "both sentences would be in one batch"
        second = clients.submit(server.translate, "c d")
        assert first.result()
        assert second.result()
    assert overlapped == [True, True]


def test_a_sentence_that_is_searched_again_does_not_hold_up_its_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = sample_texts(12)
    with (
        live_server(looping_model(tmp_path / "loops"), output_checks=True, batch_wait_ms=50) as server,
        ThreadPoolExecutor(12) as clients,
    ):
        translator = server.queue.model.text_model
        expected = [translated for text in texts for translated in server.translate(text)]
        retried = [translated["sentences"][0]["retried"] for translated in expected]
        assert 0 < sum(retried) < 12, "choose another seed"
        release, search = threading.Event(), translator.search

        def blocking_search(sources: Any, request: Any, source_tokens: Any) -> Any:
            if request.config.no_repeat_ngram:
                assert release.wait(WAIT_SECONDS)
            return search(sources, request, source_tokens)

        monkeypatch.setattr(translator, "search", blocking_search)
        requests = [clients.submit(server.translate, text) for text in texts]
        wait_for(
            lambda: all(
                request.done() for i, request in enumerate(requests) if not expected[i]["sentences"][0]["flags"]
            )
        )
        assert not any(request.done() for request, was_retried in zip(requests, retried, strict=True) if was_retried)
        release.set()
        assert [request.result()[0]["text"] for request in requests] == [translated["text"] for translated in expected]


@pytest.mark.usefixtures("two_threads")
def test_a_second_search_takes_one_worker_and_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ctranslate2")
    run = looping_model(tmp_path / "loops")
    export(run, "ctranslate2")
    with live_server(run, output_checks=True, batch_wait_ms=0) as server, ThreadPoolExecutor(2) as clients:
        assert server.queue.limits.workers == 2
        translator = server.queue.model.text_model
        other = "a b c d e f g" * 3
        assert not server.translate(other)[0]["sentences"][0]["flags"], "choose another text"
        retried = next(text for text in sample_texts(12) if server.translate(text)[0]["sentences"][0]["retried"])
        is_searched_again, release, threads = threading.Event(), threading.Event(), list[int]()
        search = translator.search

        def blocking_search(sources: Any, request: Any, source_tokens: Any) -> Any:
            if request.config.no_repeat_ngram:
                threads.append(torch.get_num_threads())
                is_searched_again.set()
                assert release.wait(WAIT_SECONDS)
            return search(sources, request, source_tokens)

        monkeypatch.setattr(translator, "search", blocking_search)
        first = clients.submit(server.translate, retried)
        assert is_searched_again.wait(WAIT_SECONDS)
        assert server.translate(other), "the other worker has stopped"
        release.set()
        assert first.result()[0]["sentences"][0]["retried"]
        assert threads == [1]


def test_one_sentence_is_in_the_next_batch_whatever_document_waits(run: Path) -> None:
    with (
        live_server(run, batch_wait_ms=0, batch_tokens=20) as server,
        ThreadPoolExecutor(2) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        document = clients.submit(server.translate, "\n".join(["a b c"] * 40))
        blocked.wait()
        single = clients.submit(server.translate, "g")
        wait_for(lambda: server.queue.queued_count == 41 - len(blocked.batches[0]))
        assert len(blocked.batches[0]) < 10
        blocked.release.set()
        assert single.result()
        assert len(document.result()[0]["sentences"]) == 40
        assert "g" in blocked.batches[1]


def test_a_sentence_whose_deadline_has_passed_is_not_computed(run: Path) -> None:
    with live_server(run, batch_wait_ms=0) as server, BlockedModel(server.queue.model.text_model) as blocked:
        blocked.release.set()
        task = TranslateTask(check_outputs=False)
        late = QueuedSentence(task, "a b", 3, deadline=time.monotonic() - 1)
        in_time = QueuedSentence(task, "c d", 3, deadline=time.monotonic() + WAIT_SECONDS)

        async def results() -> tuple[Any, str]:
            assert server.queue.submit([late, in_time])
            with pytest.raises(APIError) as error:
                await late.result()
            return await in_time.result(), error.value.code

        translated, code = asyncio.run(results())
        assert translated["text"]
        assert code == "timeout"
        assert blocked.batches == [["c d"]]


def test_the_time_in_line_counts_for_the_deadline(run: Path) -> None:
    with (
        live_server(
            run, max_queued_sentences=1, batch_wait_ms=0, timeout=0.5, admission_timeout=WAIT_SECONDS
        ) as server,
        ThreadPoolExecutor(2) as clients,
        BlockedModel(server.queue.model.text_model) as blocked,
    ):
        first = clients.submit(server.post, "/v1/translate", {"text": "a"})
        blocked.wait()
        second = clients.submit(server.post, "/v1/translate", {"text": "b"})
        assert [request.result().json()["code"] for request in (first, second)] == ["timeout", "busy"]
        blocked.release.set()
        wait_for(lambda: not server.queue._unfinished_count)
        assert blocked.batches == [["a"]]
