"""Routes for the page beside translation: versioned files, control tags, corrections, continuations."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from export.bundles import random_bundle, save_run
from live_server import LiveServer, live_server, random_model
from tiny import CONFIGS
from tongsa.bundle import load_bundle
from tongsa.data.model_summary import ModelSummary, choose_examples, find_control_tags
from tongsa.server.api import corrections
from tongsa.server.static_files import load_files


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("page")
    summary = ModelSummary(training_pairs=3, metric="bleu", score=12.5, examples=("a b",), control_tags=("<polite>",))
    tagged = replace(load_bundle(random_model(folder / "plain")), summary=summary)
    generator = random_bundle("transformer_lm", CONFIGS["transformer_lm"])
    runs = [save_run(folder / "tagged", tagged), save_run(folder / "text", generator)]
    with live_server(*runs, corrections=str(folder / "corrections")) as running:
        yield running


def test_browsers_keep_the_files_of_the_page_until_it_changes(server: LiveServer) -> None:
    page = server.get("/")
    assert page.headers["cache-control"] == "no-cache"
    names = re.findall(r'"/static/(\w+/\w+\.(?:js|css|svg))"', page.text)
    assert {name.partition("/")[0] for name in names} == {load_files().version}
    assert {name.partition("/")[2] for name in names} >= {"translator.js", "page.css", "translator.css"}
    for name in names:
        response = server.get(f"/static/{name}")
        assert response.status_code == 200 and "immutable" in response.headers["cache-control"]
    older = server.get("/static/0123456789ab/translator.js")  # a page that is open while the server is upgraded
    assert older.status_code == 200 and older.headers["cache-control"] == "no-cache"


def test_a_model_tells_its_training_data_examples_and_tags(server: LiveServer) -> None:
    models = server.get("/v1/models").json()
    tagged, text = models["models"]
    assert tagged["summary"]["examples"] == ["a b"] and tagged["summary"]["control_tags"] == ["<polite>"]
    assert (tagged["summary"]["training_pairs"], tagged["summary"]["metric"], tagged["summary"]["score"]) == (
        3,
        "bleu",
        12.5,
    )
    assert (tagged["summary"]["training_unit"], text["summary"]["training_unit"]) == ("pairs", "texts")
    empty = {
        "training_pairs": 0,
        "training_unit": "texts",
        "metric": "",
        "score": 0.0,
        "examples": [],
        "control_tags": [],
    }
    assert text["summary"] == empty
    assert models["corrections"] is True


def test_examples_are_short_and_tags_are_frequent() -> None:
    sources = ["<polite> I go home", "I go home", "I go home", "no", "x" * 81, *(f"sentence {i}" for i in range(50))]
    examples = choose_examples(sources)
    assert len(examples) == 5 and examples[0] == "I go home" and len(set(examples)) == 5
    assert choose_examples([]) == ()
    assert find_control_tags(["<polite> a"] * 30 + ["<rare> b"] * 5 + ["<b>bold</b>"] * 99) == ("<polite>",)


def test_a_control_tag_is_read_by_the_model_but_is_no_part_of_the_text(server: LiveServer) -> None:
    details = {"alignments": True, "word_probabilities": True}
    (tagged,) = server.translate("a b! C d", control_tag="<polite>", **details)
    first, second = tagged["sentences"]
    (by_hand,) = server.translate("<polite> C d", **details)
    assert (second["source"], second["text"]) == ("C d", by_hand["sentences"][0]["text"])
    assert (second["start"], second["end"]) == (5, 8) and first["source"] == "a b!"
    assert second["alignment"]["source"] == [[0, 1], [2, 3]]
    assert all(0 <= source < 2 for source, _ in second["alignment"]["links"])
    response = server.post("/v1/translate", {"text": "a", "control_tag": "<rude>"})
    assert response.status_code == 422 and "<polite>" in response.json()["error"]


def test_corrections_become_pairs_for_training_in_a_file_of_limited_size(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(server.context.config.corrections)
    for target in ("가\t나", "다\n라"):
        response = server.post("/v1/corrections", {"model": "tagged", "source": " a  b ", "target": target})
        assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert (folder / "tagged.tsv").read_text("utf-8") == "a b\t가 나\na b\t다 라\n"
    monkeypatch.setattr(corrections, "MAX_FILE_BYTES", 10)
    response = server.post("/v1/corrections", {"source": "a", "target": "b"})
    assert (response.status_code, response.json()["code"]) == (413, "too_long")


def test_a_server_collects_no_corrections_unless_it_is_told_to(tmp_path: Path) -> None:
    with live_server(random_model(tmp_path / "run")) as plain:
        response = plain.post("/v1/corrections", {"source": "a", "target": "b"})
        assert (response.status_code, response.json()["code"]) == (404, "not_found")
        assert plain.get("/v1/models").json()["corrections"] is False


def test_a_language_model_continues_a_text_and_names_its_next_tokens(server: LiveServer) -> None:
    def send(**fields: object) -> dict[str, object]:
        response = server.post("/v1/continue", {"model": "text", "text": "a b", **fields})
        assert response.status_code == 200, response.text
        body: dict[str, object] = response.json()
        return body

    first, again, other = send(max_tokens=5), send(max_tokens=5), [send(max_tokens=5, seed=i)["text"] for i in range(5)]
    assert first == again and str(first["text"]).startswith("a b") and len(set(other)) > 1
    tokens = first["next_tokens"]
    assert isinstance(tokens, list)
    probabilities = [token["probability"] for token in tokens]
    assert probabilities == sorted(probabilities, reverse=True) and 0 < sum(probabilities) <= 1 + 1e-6
    assert send(max_tokens=0)["text"] == "a b"
    assert server.post("/v1/continue", {"model": "text", "text": "a", "temperature": 0}).status_code == 422
    assert server.post("/v1/continue", {"model": "tagged", "text": "a"}).status_code == 422
