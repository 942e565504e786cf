"""Traits of outputs and n-grams of only one system, on small texts."""

import math

from tongsa.evaluation.ngram_differences import count_ngrams, lacks_spaces, ngram_differences
from tongsa.evaluation.output_traits import count_copies, count_numbers, trait_statistics


def test_numbers_are_kept_whatever_separates_their_digits() -> None:
    assert count_numbers("In 2019, 1,000 people", "Mwaka 2019 watu 1.000") == (2, 2)
    assert count_numbers("page 12 and 12", "ukurasa 12") == (1, 2)
    assert count_numbers("no number", "12") == (0, 0)


def test_copied_words_are_counted_without_case() -> None:
    assert count_copies("The Times of Paris", "le TIMES de Paris") == (2, 4)
    assert count_copies("I go home", "나는 집에 간다") == (0, 3)


def test_traits_of_a_system_are_percentages_over_all_sentences() -> None:
    sources = ["In 2019 we won", "Where is it", "Stop"]
    references = ["Em 2019 vencemos", "Onde fica", "Pare"]
    outputs = ["Em vencemos", "Onde Onde Onde Onde Onde fica", "Stop"]
    traits = {name: statistics.value() for name, statistics in trait_statistics(sources, outputs, references).items()}
    assert traits["numbers"] == 0.0
    assert traits["loops"] == 100 / 3
    assert traits["copies"] == 100 * 1 / 9
    assert traits["length_ratio"] == 100 * (10 + 24 + 4) / (14 + 8 + 4)
    assert math.isnan(trait_statistics(["a"], ["a"], ["a"])["numbers"].value())


def test_ngrams_of_one_system_are_listed_without_their_parts() -> None:
    references = ["she bought a new house"] * 3
    first = ["she bought a new house", "she bought a new house", "she"]
    second = ["she purchased a house", "she purchased a house", "she"]
    only_first, only_second = ngram_differences(*(count_ngrams(texts) for texts in (first, second, references)))
    assert [ngram.text for ngram in only_first] == ["bought a new house", "she bought a new"]
    assert only_first[0][1:] == (2, 0, 3)
    assert [ngram.text for ngram in only_second] == ["she purchased a house"]
    assert only_second[0][1:] == (0, 2, 0)


def test_a_script_without_spaces_has_ngrams_of_characters() -> None:
    assert lacks_spaces(["我回家。", "OK"]) and not lacks_spaces(["나는 집에 간다", "go"])
    assert count_ngrams(["回家"], spaced=False) == {"回": 1, "家": 1, "回家": 1}
