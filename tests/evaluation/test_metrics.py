"""Metrics on small examples, and laws of the edit distance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongsa.evaluation.metrics import accuracy, edit_distance, macro_f1, per, wer

symbols = st.lists(st.sampled_from("abc"), max_size=7)


def test_wer_accepts_any_reference_of_a_word() -> None:
    sources = ["read", "read", "lead", "bow"]
    references = ["r iː d", "r ɛ d", "l iː d", "b aʊ"]
    outputs = ["r ɛ d", "r ɛ d", "l ɛ d", "b aʊ"]
    assert wer(sources, outputs, references).value == pytest.approx(100 / 3)


def test_per_counts_edits_to_the_nearest_reference() -> None:
    sources = ["read", "read", "lead"]
    references = ["r iː d", "r ɛ d", "l iː d z"]
    outputs = ["r ɛ d", "r ɛ d", "l ɛ d"]
    assert per(sources, outputs, references).value == pytest.approx(100 * (0 + 2) / (3 + 4))


def test_known_edit_distances() -> None:
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance("", "abc") == 3
    assert edit_distance("abc", "") == 3
    assert edit_distance("나는 집에 간다", "나는 집에 갔다") == 1


@given(symbols, symbols, symbols)
def test_edit_distance_is_a_metric(first: list[str], second: list[str], third: list[str]) -> None:
    assert edit_distance(first, first) == 0
    assert edit_distance(first, second) == edit_distance(second, first)
    assert edit_distance(first, third) <= edit_distance(first, second) + edit_distance(second, third)
    assert abs(len(first) - len(second)) <= edit_distance(first, second) <= max(len(first), len(second))


def test_macro_f1_weighs_all_labels_equally() -> None:
    references, outputs = ["좋다"] * 8 + ["나쁘다"] * 2, ["좋다"] * 10
    assert accuracy(outputs, references).value == 80
    assert macro_f1(outputs, references).value == pytest.approx((100 * 16 / 18 + 0) / 2)
