"""Slices add up to the test set: sentences by length, words by frequency and by position."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tongsa.evaluation.metric_statistics import metric_statistics
from tongsa.evaluation.score_tables import scores_csv, slice_text
from tongsa.evaluation.slices import (
    SliceTable,
    count_words,
    right_words,
    slice_by_frequency,
    slice_by_length,
    slice_by_position,
    tenths,
    word_splitter,
)

sentences = st.lists(st.sampled_from("abcdef"), max_size=12).map(" ".join)
pairs = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=6)


def by_label(table: SliceTable, metric: str) -> dict[str, float]:
    return {part.label: part.scores[metric].value for part in table.slices}


@given(pairs, st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2000)))
@settings(max_examples=50)
def test_the_right_words_of_all_bins_are_those_of_the_multiset_intersection(
    lines: list[tuple[str, str]], counts: dict[str, int]
) -> None:
    outputs, references = (list(side) for side in zip(*lines, strict=True))
    words = [(Counter(output.split()), Counter(reference.split())) for output, reference in lines]
    right = sum((output & reference).total() for output, reference in words)
    total = sum(reference.total() for _, reference in words)
    for table in (
        slice_by_frequency(outputs, references, counts, str.split),
        slice_by_position(outputs, references, str.split),
    ):
        parts = [part for part in table.slices if part.count]
        assert sum(part.count for part in parts) == total
        assert sum(part.count * part.scores["recall"].value / 100 for part in parts) == pytest.approx(right)


def test_words_by_frequency_on_an_example() -> None:
    """Training has the word a 5 times, b once and c never; the output misses c and adds a."""
    counts = count_words(["a a a", "a a b"], str.split)
    table = slice_by_frequency(["a a b", "b"], ["a c b", "b"], counts, str.split)
    assert [(part.label, part.count) for part in table.slices] == [("0", 1), ("1", 2), ("5–9", 1)]
    assert by_label(table, "recall") == {"0": 0, "1": 100, "5–9": 100}
    assert by_label(table, "f1")["5–9"] == pytest.approx(100 * 2 / 3)
    assert by_label(table, "precision")["5–9"] == 50
    assert table.as_json()["bins"][0]["scores"]["precision"] == {"value": None, "interval": None}  # no such output


def test_words_by_position_on_an_example() -> None:
    """The output stops in the middle, then the other repeats itself."""
    reference = " ".join("abcdefghij")
    stopped = by_label(slice_by_position(["a b c d e"], [reference], str.split), "recall")
    assert list(stopped.values()) == [100] * 5 + [0] * 5
    looping = by_label(slice_by_position(["a b c d e a b c d e"], [reference], str.split), "precision")
    assert list(looping.values()) == [100] * 5 + [0] * 5


@given(st.integers(1, 40))
def test_positions_are_spread_over_the_tenths_from_the_beginning_to_the_end(length: int) -> None:
    positions = list(tenths(length))
    assert positions == sorted(positions) and len(positions) == length
    assert all(positions.count(i) in (length // 10, length // 10 + 1) for i in range(10))


@given(sentences, sentences)
def test_a_repeated_word_is_right_as_often_as_the_other_text_has_it(text: str, other: str) -> None:
    flags = list(right_words(text.split(), other.split()))
    assert sum(flags) == (Counter(text.split()) & Counter(other.split())).total()


def test_sentences_by_length_have_the_scores_of_their_part() -> None:
    sources = ["a b", "a b c", "a b c d e f", "a b c d e f g", "a b"]
    references = [source.upper() for source in sources]
    outputs = ["A B", "A X C", "A B C D E F", "X", "A B"]
    statistics = {name: metric_statistics(name, sources, outputs, references) for name in ("bleu", "wer")}
    table = slice_by_length(statistics, sources, references)
    assert [(part.label, part.count) for part in table.slices] == [("1–5", 3), ("6–10", 2)]
    for part, indices in zip(table.slices, ([0, 1, 4], [2, 3]), strict=True):
        sides = [[texts[i] for i in indices] for texts in (sources, outputs, references)]
        for name, score in part.scores.items():
            alone = metric_statistics(name, sides[0], sides[1], sides[2])
            assert score.value == pytest.approx(alone.value()), name
    assert table.slices[0].scores["wer"].value == 50  # the rows of WER are the two distinct sources


def test_length_and_words_follow_the_script() -> None:
    spelling, chinese = ["read", "lead"], ["我回家", "我爱你们"]
    for texts in (spelling, chinese):
        statistics = {"chrf": metric_statistics("chrf", texts, texts, texts)}
        assert "characters" in slice_by_length(statistics, texts, texts).definition
    assert word_splitter(chinese)("我回 家") == ["我", "回", "家"]
    assert word_splitter(["나는 집에 간다."])("나는 집에 간다.") == ["나는", "집에", "간다", "."]


def test_the_table_and_the_csv_have_every_bin_and_leave_undefined_intervals_empty() -> None:
    sources = ["a b", "a b c", "a b c d e f"]
    statistics = {"exact_match": metric_statistics("exact_match", sources, ["a b", "x", "x"], sources)}
    table = slice_by_length(statistics, sources, sources)
    lines = slice_text(table).splitlines()
    assert lines[0] == "by length: length of the source in words"
    assert lines[2].split() == ["1–5", "2", "50.00", "[0.00,", "100.00]"]
    assert lines[3].split() == ["6–10", "1", "0.00"]
    rows = scores_csv({}, 3, [table]).splitlines()
    assert rows[1].startswith("length,1–5,2,exact_match,50.0000,0.0000,100.0000,")
    assert rows[2].startswith('length,6–10,1,exact_match,0.0000,,,"exact_match|')
