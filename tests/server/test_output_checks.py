"""Doubts about a translation: raised where there is reason, and not where there is none."""

from pathlib import Path

import pytest

from export.bundles import save_run, transformer
from served import serving, texts
from tongsa.server.output_checks import (
    CheckedOutput,
    check_text,
    has_loop,
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
def test_what_comes_again_and_again_is_a_loop(text: str) -> None:
    assert has_loop(text)


@pytest.mark.parametrize(
    "text", ["", "very, very good", "no no no", "the man and the dog and the cat", "하하하", "1000000000000"]
)
def test_what_people_repeat_is_none(text: str) -> None:
    assert not has_loop(text)


def test_a_source_that_loops_may_be_translated_so() -> None:
    assert check_text(CheckedOutput("ha ha ha ha ha", "하 하 하 하 하", 5, 5, "en", "ko")) == []
    assert check_text(CheckedOutput("he laughs", "하 하 하 하 하", 5, 5, "en", "ko")) == ["loop"]


@pytest.mark.parametrize("target", ["salad salad salad", "a Salad, salad: salad.", "샐러드, 샐러드, 샐러드"])
def test_a_word_three_times_is_a_loop_where_the_source_says_nothing_three_times(target: str) -> None:
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
def test_what_people_say_three_times_is_none(source: str, target: str) -> None:
    assert "loop" not in check_text(CheckedOutput(source, target, 5, 5, "x", "y"))


def test_a_source_that_says_something_three_times_excuses_no_endless_loop() -> None:
    assert check_text(CheckedOutput("ha ha ha", "salad salad salad salad", 5, 5, "x", "y")) == ["loop"]


def test_lengths_that_cannot_be_are_outliers_and_short_texts_vary() -> None:
    assert is_length_outlier(10, 60)
    assert is_length_outlier(100, 10)
    assert not is_length_outlier(10, 20)
    assert not is_length_outlier(1, 8)
    assert not is_length_outlier(8, 1)


def test_a_copy_is_one_between_two_languages_and_names_may_be_copied() -> None:
    text = "the men are in the house"
    assert is_copy(CheckedOutput(text, text, 6, 6, "en", "ko"))
    assert is_copy(CheckedOutput(text, text + " 입니다", 6, 7, "en", "ko"))
    assert not is_copy(CheckedOutput(text, text, 6, 6, "en", "en"))
    assert not is_copy(CheckedOutput(text, "남자들이 집에 있다", 6, 6, "en", "ko"))
    assert not is_copy(CheckedOutput("It was Anna Maria Smith", "Das war Anna Maria Smith", 5, 5, "en", "de"))
    assert not is_copy(CheckedOutput("Hotel Adlon", "Hotel Adlon", 2, 2, "en", "de"))


def test_a_source_that_was_hardly_looked_at_is_noticed() -> None:
    even = [[1 / 8] * 8] * 8
    assert not lacks_coverage(even)
    assert lacks_coverage([[0.5, 0.5, 0, 0, 0, 0, 0, 0]] * 8)
    assert not lacks_coverage([[1.0, 0.0]] * 3), "too short to say"
    assert needs_coverage_check(CheckedOutput("", "", 20, 5))
    assert not needs_coverage_check(CheckedOutput("", "", 20, 20))


def test_what_a_model_without_attention_cannot_do_is_not_asked_of_it() -> None:
    assert retry_settings(["loop"], has_cross_attention=True)["no_repeat_ngram"] == 3
    assert "coverage" in retry_settings(["coverage"], has_cross_attention=True)
    assert "coverage" not in retry_settings(["coverage", "length"], has_cross_attention=False)
    assert retry_settings(["copy"], has_cross_attention=True) == retry_settings([], has_cross_attention=True) == {}


def test_a_model_that_loops_is_asked_again_and_the_better_answer_is_taken(tmp_path: Path) -> None:
    run = save_run(tmp_path / "loops", transformer(seed=3, norm="pre"))
    with serving(run, guard=False) as plain, serving(run, guard=True) as guarded:
        before = [one["sentences"][0] for one in plain.translate(texts(12))]
        after = [one["sentences"][0] for one in guarded.translate(texts(12))]
        looping = [at for at, one in enumerate(before) if "loop" in one["flags"]]
        assert looping, "nothing to mend: choose another seed"
        assert all(not one["retried"] for one in before)
        assert any(after[at]["retried"] and "loop" not in after[at]["flags"] for at in looping)
        for old, new in zip(before, after, strict=True):
            assert new["retried"] or new == old
            assert len(new["flags"]) <= len(old["flags"])
        assert 'tongsa_flags_total{flag="loop"' in plain.get("/metrics").text
