"""Scores, worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongsa.evaluation.metrics import accuracy, edit_distance, macro_f1, per, wer

symbols = st.lists(st.sampled_from("abc"), max_size=7)


def test_wer_counts_words_and_takes_any_of_their_pronunciations() -> None:
    sources = ["read", "read", "lead", "bow"]
    references = ["r iː d", "r ɛ d", "l iː d", "b aʊ"]
    outputs = ["r ɛ d", "r ɛ d", "l ɛ d", "b aʊ"]
    assert wer(sources, outputs, references).value == pytest.approx(100 / 3)


def test_per_is_edits_to_the_nearest_over_its_length() -> None:
    sources = ["read", "read", "lead"]
    references = ["r iː d", "r ɛ d", "l iː d z"]
    outputs = ["r ɛ d", "r ɛ d", "l ɛ d"]
    assert per(sources, outputs, references).value == pytest.approx(100 * (0 + 2) / (3 + 4))


def test_distances_known_by_hand() -> None:
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance("", "abc") == 3
    assert edit_distance("abc", "") == 3
    assert edit_distance("나는 집에 간다", "나는 집에 갔다") == 1


@given(symbols, symbols, symbols)
def test_distance_is_a_metric(one: list[str], other: list[str], third: list[str]) -> None:
    assert edit_distance(one, one) == 0
    assert edit_distance(one, other) == edit_distance(other, one)
    assert edit_distance(one, third) <= edit_distance(one, other) + edit_distance(other, third)
    assert abs(len(one) - len(other)) <= edit_distance(one, other) <= max(len(one), len(other))


def test_f1_weighs_labels_alike() -> None:
    references, outputs = ["좋다"] * 8 + ["나쁘다"] * 2, ["좋다"] * 10
    assert accuracy(outputs, references).value == 80
    assert macro_f1(outputs, references).value == pytest.approx((100 * 16 / 18 + 0) / 2)
