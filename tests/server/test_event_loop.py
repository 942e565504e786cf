"""The event loop answers all clients: work that grows with a request is done in threads, and never blocks it."""

import gc
import json
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_server import WAIT_SECONDS, live_server
from tongsa.document_formats import formats
from tongsa.server import documents, http, limited_documents, request_body
from tongsa.server.api import libretranslate
from tongsa.server.api.schemas import GlossaryTerm, TranslateRequest
from tongsa.server.config import RequestLimits, ServerConfig
from tongsa.server.http import encode_json, encode_json_in_parts
from tongsa.server.model_pool import ModelSource, load_model

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
WORK = {
    "split": (documents, "_create_documents"),
    "parse": (limited_documents, "parse_document"),
    "marks": (limited_documents, "has_too_many_marks"),
    "form": (request_body, "parse_options_header"),
    "encode": (http, "encode_json_in_parts"),
    "detect": (libretranslate, "detect_language"),
}
"""Names of this test → function that does the work."""
FILE = {"file": ("a.txt", b"a b\nc d\n")}
REQUESTS: list[tuple[str, dict[str, Any], set[str]]] = [
    ("/v1/translate", {"json": {"text": "a b\n" * 300}}, {"split", "encode"}),
    ("/v1/translate", {"json": {"text": "a", "glossary": [{"source": "a", "target": "가"}]}}, {"split"}),
    ("/v1/translate", {"json": {"text": "a b", "nbest": 4, "token_probabilities": True}}, {"encode"}),
    ("/v1/documents", {"files": FILE}, {"form", "parse", "marks", "split"}),
    ("/v1/documents", {"files": FILE, "headers": {"Accept": "application/json"}}, {"encode"}),
    ("/translate_file", {"files": FILE, "data": {"source": "en", "target": "ko"}}, {"form", "parse", "marks"}),
    ("/translate", {"json": {"q": ["a b"] * 20, "source": "auto", "target": "ko"}}, {"detect"}),
    ("/v1/trace", {"json": {"text": "a b c"}}, {"encode"}),
    ("/v1/attention", {"json": {"text": "a b c"}}, {"encode"}),
]


@pytest.fixture
def threads_of_work(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """Name of the work → names of the threads that did it."""
    threads: dict[str, set[str]] = {name: set() for name in WORK}

    def watch(name: str, work: Any) -> Any:
        def record_thread(*arguments: Any, **options: Any) -> Any:
            threads[name].add(threading.current_thread().name)
            return work(*arguments, **options)

        return record_thread

    for name, (module, function) in WORK.items():
        monkeypatch.setattr(module, function, watch(name, getattr(module, function)))
    return threads


@pytest.mark.parametrize(("path", "request_options", "work"), REQUESTS)
def test_work_that_grows_with_a_request_is_done_in_a_thread(
    run: Path, threads_of_work: dict[str, set[str]], path: str, request_options: dict[str, Any], work: set[str]
) -> None:
    with live_server(run) as server:
        loop_thread = next(thread.name for thread in threading.enumerate() if "(run)" in thread.name)
        response = server.client.post(server.url + path, **request_options)
        assert response.status_code == 200, response.text
        used = {name: threads for name, threads in threads_of_work.items() if name in work}
        assert all(used.values()), "another function does this work: name it above"
        assert not any(loop_thread in threads for threads in used.values())


def test_probes_are_answered_while_threads_are_busy(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_parsing, release = threading.Event(), threading.Event()
    parse = formats.parse_document

    def slow_parse(*arguments: Any) -> Any:
        is_parsing.set()
        assert release.wait(WAIT_SECONDS)
        return parse(*arguments)

    monkeypatch.setattr(limited_documents, "parse_document", slow_parse)
    with live_server(run) as server:
        document = threading.Thread(target=lambda: server.client.post(f"{server.url}/v1/documents", files=FILE))
        document.start()
        assert is_parsing.wait(WAIT_SECONDS)
        assert server.get("/healthz").status_code == 200
        assert server.translate("a b")
        release.set()
        document.join()


def test_a_text_may_have_ten_bytes_for_each_character_that_is_allowed(run: Path) -> None:
    limits = RequestLimits(document_characters=100)
    with live_server(run, limits=limits) as server:
        sizes = {known["name"]: known["max_bytes"] for known in server.get("/v1/formats").json()["formats"]}
        assert (sizes["Markdown"], sizes["Word document"]) == (1000, limits.document_bytes)
        statuses = [
            server.client.post(f"{server.url}/v1/documents", files={"file": ("a.md", b"\n" * size)}).status_code
            for size in (1000, 1001)
        ]
    assert statuses == [200, 413]


@given(JSON_VALUES, st.integers(0, 4))
def test_json_in_parts_is_the_same_json(content: Any, levels: int) -> None:
    encoded = encode_json_in_parts(content, levels)
    assert encoded == encode_json(content)
    assert json.loads(encoded) == content


@pytest.mark.parametrize("texts", [["a b c d\n" * 6000], ["a b c d"] * 6000], ids=["one text", "many texts"])
def test_other_threads_run_while_thousands_of_sentences_are_tokenized(
    run: Path, monkeypatch: pytest.MonkeyPatch, texts: list[str]
) -> None:
    """SentencePiece's calls are so short that a thread which makes one after the other starves all others."""
    create, count, counts = documents._create_sentence, 0, [0]

    def counting_create(*arguments: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        return create(*arguments, **options)

    monkeypatch.setattr(documents, "_create_sentence", counting_create)
    model = load_model(ModelSource("model", run), ServerConfig(engine="torch"))
    terms = [GlossaryTerm(source=f"term {i}", target=f"용어 {i}") for i in range(100)]
    request = TranslateRequest.model_construct(text=texts, glossary=terms)
    thread = threading.Thread(target=documents.create_documents, args=(model, request, ServerConfig()))
    gc.disable()  # a collection stops all threads, too
    try:
        thread.start()
        while thread.is_alive():
            time.sleep(1e-4)
            counts.append(count)
    finally:
        gc.enable()
    assert counts[-1] == 6000
    assert max(after - before for before, after in pairwise(counts)) < 2000
