"""Checks of translations: faults are flagged, good translations are not."""

from pathlib import Path

import pytest

from live_server import live_server, looping_model, sample_texts
from tongsa.data.repetition import has_loop
from tongsa.server.output_checks import (
    CheckedOutput,
    check_text,
    is_copy,
    is_length_outlier,
    lacks_coverage,
    needs_coverage_check,
    retry_settings,
)


@pytest.mark.parametrize(
    "text",
    [
        "salad salad salad salad",
        "salad, salad, salad, salad.",
        "“Salad” – salad – (salad) – salad!",
        "of the of the of the man",
        "가 나 다 가 나 다 가 나 다",
        "abababababababab",
        "네 네 네 네",
    ],
)
def test_repeated_phrases_are_a_loop(text: str) -> None:
    assert has_loop(text)


@pytest.mark.parametrize(
    "text", ["", "very, very good", "no no no", "the man and the dog and the cat", "하하하", "1000000000000"]
)
def test_natural_repetitions_are_no_loop(text: str) -> None:
    assert not has_loop(text)


def test_a_loop_in_the_source_may_be_translated_as_a_loop() -> None:
    assert check_text(CheckedOutput("ha ha ha ha ha", "하 하 하 하 하", 5, 5, "en", "ko")) == []
    assert check_text(CheckedOutput("he laughs", "하 하 하 하 하", 5, 5, "en", "ko")) == ["loop"]


@pytest.mark.parametrize("target", ["salad salad salad", "a Salad, salad: salad.", "샐러드, 샐러드, 샐러드"])
def test_a_tripled_word_is_a_loop_unless_the_source_triples_something(target: str) -> None:
    assert check_text(CheckedOutput("he eats", target, 5, 5, "x", "y")) == ["loop"]
    assert check_text(CheckedOutput("er isst und isst und isst", target, 5, 5, "x", "y")) == ["loop"]
    assert check_text(CheckedOutput("네, 네, 네", target, 5, 5, "x", "y")) == []


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("매우 매우 매우 좋다", "very very very good"),
        ("똑똑똑! 누구세요?", "Knock, knock, knock! Who is there?"),
        ("그가 웃는다", "ha ha ha"),
        ("nein", "no, no, no"),
        ("die Nummer", "100 100 100"),
        ("Tag für Tag", "day after day after day"),
        ("sehr gut", "very, very good"),
    ],
)
def test_natural_triples_are_no_loop(source: str, target: str) -> None:
    assert "loop" not in check_text(CheckedOutput(source, target, 5, 5, "x", "y"))


def test_a_triple_in_the_source_does_not_excuse_a_longer_loop() -> None:
    assert check_text(CheckedOutput("ha ha ha", "salad salad salad salad", 5, 5, "x", "y")) == ["loop"]


def test_extreme_lengths_are_outliers_except_in_short_texts() -> None:
    assert is_length_outlier(10, 60)
    assert is_length_outlier(100, 10)
    assert not is_length_outlier(10, 20)
    assert not is_length_outlier(1, 8)
    assert not is_length_outlier(8, 1)


def test_copied_words_are_flagged_between_languages_except_names() -> None:
    text = "the men are in the house"
    assert is_copy(CheckedOutput(text, text, 6, 6, "en", "ko"))
    assert is_copy(CheckedOutput(text, text + " 입니다", 6, 7, "en", "ko"))
    assert not is_copy(CheckedOutput(text, text, 6, 6, "en", "en"))
    assert not is_copy(CheckedOutput(text, "남자들이 집에 있다", 6, 6, "en", "ko"))
    assert not is_copy(CheckedOutput("It was Anna Maria Smith", "Das war Anna Maria Smith", 5, 5, "en", "de"))
    assert not is_copy(CheckedOutput("Hotel Adlon", "Hotel Adlon", 2, 2, "en", "de"))


def test_a_source_with_little_attention_lacks_coverage() -> None:
    uniform = [[1 / 8] * 8] * 8
    assert not lacks_coverage(uniform)
    assert lacks_coverage([[0.5, 0.5, 0, 0, 0, 0, 0, 0]] * 8)
    assert not lacks_coverage([[1.0, 0.0]] * 3), "too short to judge"
    assert needs_coverage_check(CheckedOutput("", "", 20, 5))
    assert not needs_coverage_check(CheckedOutput("", "", 20, 20))


def test_retry_settings_need_attention_for_the_coverage_penalty() -> None:
    assert retry_settings(["loop"], has_cross_attention=True)["no_repeat_ngram"] == 3
    assert "coverage_penalty" in retry_settings(["coverage"], has_cross_attention=True)
    assert "coverage_penalty" not in retry_settings(["coverage", "length"], has_cross_attention=False)
    assert retry_settings(["copy"], has_cross_attention=True) == retry_settings([], has_cross_attention=True) == {}


def test_a_looping_output_is_searched_again_and_the_better_output_kept(tmp_path: Path) -> None:
    run, texts = looping_model(tmp_path / "loops"), sample_texts(12)
    with live_server(run, output_checks=False) as unchecked, live_server(run, output_checks=True) as checked:
        before = [translated["sentences"][0] for translated in unchecked.translate(texts)]
        after = [translated["sentences"][0] for translated in checked.translate(texts)]
        looping = [i for i, sentence in enumerate(before) if "loop" in sentence["flags"]]
        assert looping, "no output loops: choose another seed"
        assert not any(sentence["retried"] for sentence in before)
        assert any(after[i]["retried"] and "loop" not in after[i]["flags"] for i in looping)
        for old, new in zip(before, after, strict=True):
            assert new["retried"] or new == old
            assert len(new["flags"]) <= len(old["flags"])
        assert 'tongsa_flags_total{flag="loop"' in unchecked.get("/metrics").text
