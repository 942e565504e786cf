"""Traits of outputs that a score hides: copied words, numbers, length, repetition loops.

Each trait is a quotient of two sums over sentences, so it has the same intervals as a metric. The references have
values, too: names are copied by every translator, and translators write some numbers as words.
"""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from tongsa.data.inline_marks import NUMBER, digits
from tongsa.data.repetition import is_looping
from tongsa.data.words import split_words
from tongsa.evaluation.metric_statistics import FloatArray, MetricStatistics

TRAITS = ("copies", "numbers", "length_ratio", "loops")


def trait_statistics(
    sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]
) -> dict[str, MetricStatistics]:
    """Return the statistics of each trait of TRAITS for the outputs of one system."""
    counts: dict[str, Callable[[str, str, str], tuple[float, float]]] = {
        "copies": lambda source, output, _: count_copies(source, output),
        "numbers": lambda source, output, _: count_numbers(source, output),
        "length_ratio": lambda _, output, reference: (count_characters(output), count_characters(reference)),
        "loops": lambda source, output, _: (is_looping(source, output), 1),
    }
    triples = list(zip(sources, outputs, references, strict=True))
    return {name: quotient_statistics(name, [count(*triple) for triple in triples]) for name, count in counts.items()}


def quotient_statistics(name: str, counts: Sequence[tuple[float, float]]) -> MetricStatistics:
    """Return statistics of 100 · Σ first / Σ second."""
    return MetricStatistics(name, name, np.array(counts, dtype=np.float64).reshape(-1, 2), percent_quotients)


def percent_quotients(sums: FloatArray) -> FloatArray:
    """Return 100 · first / second; NaN if the second sum is 0, for example without any number in the sources."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(100 * sums[..., 0] / np.where(sums[..., 1] > 0, sums[..., 1], np.nan))


def count_copies(source: str, output: str) -> tuple[int, int]:
    """Return how many words of the output are also words of the source, and the number of its words."""
    in_source, in_output = (Counter(word.casefold() for word in split_words(text)) for text in (source, output))
    return (in_source & in_output).total(), in_output.total()


def count_numbers(source: str, output: str) -> tuple[int, int]:
    """Return how many numbers of the source are in the output, and how many it has; separators are ignored."""
    in_source, in_output = (Counter(digits(match) for match in NUMBER.findall(text)) for text in (source, output))
    return (in_source & in_output).total(), in_source.total()


def count_characters(text: str) -> int:
    """Return the number of characters without spaces, which some languages do not write."""
    return sum(not character.isspace() for character in text)
