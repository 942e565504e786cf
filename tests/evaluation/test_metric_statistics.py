"""The statistics of each sentence sum up to the metric: to sacreBLEU's value, or to that of evaluation/metrics.py."""

import logging
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from tongsa.errors import InputError
from tongsa.evaluation import metrics
from tongsa.evaluation.metric_statistics import metric_statistics, perplexity_statistics
from tongsa.evaluation.metrics import Score

WORDS = ["the", "cat", "sat", ".", "나는", "집에", "간다", "猫", "坐", "क", "!?", "a-b", "3,000"]
sentences = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
pairs = st.lists(st.tuples(st.sampled_from(["s1", "s2", "s3", "s4"]), sentences, sentences), min_size=1, max_size=6)
Lines = Sequence[str]
METRICS: dict[str, Callable[[Lines, Lines, Lines], Score]] = {
    "chrf": lambda _, outputs, references: metrics.chrf(outputs, references),
    "ter": lambda _, outputs, references: metrics.ter(outputs, references),
    "exact_match": lambda _, outputs, references: metrics.exact_match(outputs, references),
    "wer": metrics.wer,
    "per": metrics.per,
    "accuracy": lambda _, outputs, references: metrics.accuracy(outputs, references),
    "macro_f1": lambda _, outputs, references: metrics.macro_f1(outputs, references),
}


@pytest.fixture(autouse=True)
def _quiet_sacrebleu() -> None:
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)


@given(pairs)
@settings(max_examples=60, deadline=None)
def test_the_statistics_give_the_value_and_the_signature_of_every_metric(lines: list[tuple[str, str, str]]) -> None:
    sources, outputs, references = (list(side) for side in zip(*lines, strict=True))
    expected = {name: metric(sources, outputs, references) for name, metric in METRICS.items()}
    expected |= {f"bleu {name}": metrics.bleu(outputs, references, name) for name in ("13a", "char")}
    for name, score in expected.items():
        metric, _, tokenize = name.partition(" ")
        statistics = metric_statistics(metric, sources, outputs, references, tokenize or "13a")
        assert statistics.value() == pytest.approx(score.value, abs=1e-9), name
        assert statistics.signature == score.signature
        assert statistics.lower_is_better == (metric in {"ter", "wer", "per"})


@given(pairs)
@settings(max_examples=40, deadline=None)
def test_sentence_bleu_is_that_of_sacrebleu(lines: list[tuple[str, str, str]]) -> None:
    sources, outputs, references = (list(side) for side in zip(*lines, strict=True))
    values = metric_statistics("bleu", sources, outputs, references).sentence_values()
    metric = BLEU(effective_order=True)
    expected = [metric.sentence_score(output, [ref]).score for output, ref in zip(outputs, references, strict=True)]
    assert values == pytest.approx(expected, abs=1e-9)


@given(pairs, st.lists(st.integers(0, 3), min_size=6, max_size=6))
@settings(max_examples=40, deadline=None)
def test_weights_score_a_test_set_with_repeated_sentences(lines: list[tuple[str, str, str]], counts: list[int]) -> None:
    """Many weighted sums at once, as in a bootstrap, equal the metric of the repeated texts."""
    weights = np.array(counts[: len(lines)], dtype=np.float64)
    repeated = [line for line, count in zip(lines, counts, strict=False) for _ in range(count)]
    if not repeated:
        return
    all_sources, all_outputs, all_references = (list(side) for side in zip(*lines, strict=True))
    _, outputs, references = (list(side) for side in zip(*repeated, strict=True))
    for name in ("bleu", "chrf", "ter", "macro_f1"):
        statistics = metric_statistics(name, all_sources, all_outputs, all_references)
        many = statistics.score(np.stack([weights, np.ones(len(weights))]) @ statistics.rows)
        assert many[1] == pytest.approx(statistics.value())
        again = metric_statistics(name, outputs, outputs, references)
        assert many[0] == pytest.approx(again.value(), abs=1e-9), name


def test_a_source_with_several_references_is_one_row() -> None:
    sources, outputs = ["read", "lead", "read"], ["r ɛ d", "l ɛ d", "r ɛ d"]
    references = ["r iː d", "l iː d", "r ɛ d"]
    assert metric_statistics("wer", sources, outputs, references).sentence_values().tolist() == [0, 100]
    assert metric_statistics("per", sources, outputs, references).rows.tolist() == [[0, 3], [1, 3]]
    assert len(metric_statistics("exact_match", sources, outputs, references).rows) == 3


def test_perplexity_comes_from_log_probabilities_and_skips_a_sentence_without_any() -> None:
    statistics = perplexity_statistics([[math.log(0.5), math.log(0.25)], [], [math.log(0.5)]], "perplexity")
    assert statistics.value() == pytest.approx(2 ** (4 / 3))
    assert statistics.sentence_values()[0] == pytest.approx(2**1.5)
    assert math.isnan(statistics.sentence_values()[1])
    assert math.isfinite(perplexity_statistics([[-1e6]], "perplexity").value())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bleu", ["a", "b"], ["a"], ["a", "b"]), "2 sources, 1 outputs, 2 references: their numbers differ"),
        (("bleu", [], [], []), "the test set is empty"),
        (("meteor", ["a"], ["a"], ["a"]), "'meteor': not a metric. Use bleu, chrf, ter"),
        (("bleu", ["a"], ["a"], ["a"], "no-such"), "not a tokenizer of sacreBLEU. Use one of"),
    ],
)
def test_bad_input_is_explained(arguments: tuple[str, Lines, Lines, Lines], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("'", ".")):
        metric_statistics(*arguments)
