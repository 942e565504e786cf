"""A text gives the same translation and the same sentences from the command line, from Python and over HTTP."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tongsa
from export.bundles import save_run
from live_server import LiveServer, live_server, random_model
from tongsa.bundle import load_bundle
from tongsa.data.training_profile import TrainingProfile
from tongsa.runs.translate_job import ModelSpec, TranslateJobConfig

SENTENCE = st.lists(st.text(st.sampled_from("abcdefgAB가나"), min_size=2, max_size=6), min_size=1, max_size=20).map(
    " ".join
)
SPACE = st.sampled_from(["", " ", "  ", "\t", "\u3000", "\u2028"])
TEXT = st.lists(st.tuples(SPACE, SENTENCE, st.sampled_from([". ", "! ", "?", "。", "다.", "…", ""])), max_size=4).map(
    lambda parts: "".join(map("".join, parts))
)
SPANS = ("source", "text", "start", "end", "target_start", "target_end", "final_punctuation")
WARNINGS = ("unseen_words", "low_score", "longer_than_training")


def spans(sentences: list[dict[str, Any]]) -> list[list[Any]]:
    return [[sentence[name] for name in (*SPANS, *WARNINGS)] for sentence in sentences]


class Surfaces:
    """One model, with a profile of its training data, behind three interfaces."""

    def __init__(self, run: Path, server: LiveServer) -> None:
        self.server, self.translator = server, tongsa.load(run, task="seq2seq")
        self.translate_lines = TranslateJobConfig(models=ModelSpec(run=run), as_json=True).build(print)


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surfaces]:
    run = random_model(tmp_path_factory.mktemp("same") / "en-ko")
    profile = TrainingProfile.from_pairs([("abc def AB 가", "")], longest_source=12)
    profile = replace(profile, min_log_prob=-1.5)
    save_run(run, replace(load_bundle(run), profile=profile))
    with live_server(run) as server:
        yield Surfaces(run, server)


@settings(max_examples=15, deadline=None)
@given(texts=st.lists(TEXT.filter(str.strip), min_size=1, max_size=3))
def test_the_command_line_python_and_the_server_agree(surfaces: Surfaces, texts: list[str]) -> None:
    by_server = surfaces.server.translate(texts)
    by_python = surfaces.translator.translate(texts)
    by_command_line = [json.loads(line) for line in surfaces.translate_lines(texts, 0).lines]
    assert [result["text"] for result in by_server] == [translation.text for translation in by_python]
    assert [result["text"] for result in by_server] == [record["text"] for record in by_command_line]
    for result, translation, record in zip(by_server, by_python, by_command_line, strict=True):
        assert spans(result["sentences"]) == spans(record["sentences"])
        assert spans(result["sentences"]) == spans([part.sentence_record for part in translation.sentences])


def test_every_surface_adds_the_stop_that_the_model_left_out(surfaces: Surfaces) -> None:
    text = "Abc? Bcd efg.\nfed"
    by_server, by_python = surfaces.server.translate(text, nbest=2, alignments=True)[0], surfaces.translator(text)
    (line,) = surfaces.translate_lines([text], 0).lines
    alone = [surfaces.translator(sentence["source"]) for sentence in by_server["sentences"]]
    stops = ["?", ".", ""]  # the model writes none
    assert [translation.final_punctuation for translation in alone] == stops
    joined = "{} {}\n{}".format(*[translation.text + stop for translation, stop in zip(alone, stops, strict=True)])
    assert by_server["text"] == by_python.text == json.loads(line)["text"] == joined
    for sentence, translation, stop in zip(by_server["sentences"], alone, stops, strict=True):
        assert sentence["final_punctuation"] == stop
        assert joined[sentence["target_start"] : sentence["target_end"]] == translation.text + stop
        assert sentence["alignment"]["target"][-1][1] == len(translation.text)  # the stop belongs to no word
        assert all(other["text"].endswith(stop) for other in sentence["alternatives"])
    assert by_python.tokens == (*alone[0].tokens, "</s>", *alone[1].tokens, "</s>", *alone[2].tokens)
    assert by_python.log_prob == pytest.approx(sum(translation.log_prob for translation in alone), abs=1e-4)


def test_sentences_report_what_is_unlike_the_training_data(surfaces: Surfaces) -> None:
    text = "abc def. Xyz abc abc abc abc abc abc."
    first, second = surfaces.server.translate(text)[0]["sentences"]
    assert (first["unseen_words"], second["unseen_words"]) == ([], ["Xyz"])
    assert (first["longer_than_training"], second["longer_than_training"]) == (False, True)


def test_the_server_follows_the_setting_of_the_model(tmp_path: Path) -> None:
    run = random_model(tmp_path / "lines")
    loaded = load_bundle(run)
    save_run(run, replace(loaded, decoding=replace(loaded.decoding, split_sentences=False)))
    with live_server(run) as server:
        (result,) = server.translate("abc. Def!\n gfe. A")
    assert [sentence["source"] for sentence in result["sentences"]] == ["abc. Def!", "gfe. A"]
    assert [sentence["text"] for sentence in result["sentences"]] == [
        translation.text for translation in tongsa.load(run, task="seq2seq").translate(["abc. Def!", "gfe. A"])
    ]
