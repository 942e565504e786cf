"""Comparison of settings: verdicts in words on constructed outputs, corrections, seeds as a level, people."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongsa.errors import InputError
from tongsa.evaluation.comparison import (
    MAX_SETTINGS,
    MetricComparison,
    compare_settings,
    decide,
    describe_agreement,
    describe_pair,
    describe_seeds,
    score_setting,
)
from tongsa.evaluation.human_agreement import human_agreement
from tongsa.evaluation.metric_statistics import MetricStatistics, mean_statistics, metric_statistics, percentages

BLEU_13A, BLEU_CHAR = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp", "nrefs:1|case:mixed|eff:no|tok:char|smooth:exp"
CHRF = "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no"


def matches(shares: float, sentences: int = 400, seed: int = 0, name: str = "exact_match") -> MetricStatistics:
    """Return a system that has a random share of the sentences right."""
    right = np.random.default_rng(seed).random(sentences) < shares
    rows = mean_statistics(name, name, right.astype(np.float64)).rows
    return MetricStatistics(name, name, rows, percentages)


def sentences_about(comparison: MetricComparison, *names: str) -> list[str]:
    return [describe_pair(pair, names) for pair in comparison.pairs]


def test_a_clear_difference_is_called_better_and_none_is_not_called_equal() -> None:
    good, bad = matches(0.9, seed=1), matches(0.5, seed=2)
    comparison = compare_settings([[good], [bad], [good]])
    assert sentences_about(comparison, "A", "B", "C") == [
        "A is better than B (p < 0.001)",
        "A and C: no evidence of a difference (p = 1.000)",
        "C is better than B (p < 0.001)",
    ]
    assert comparison.ranking() == [0, 2, 1]
    assert comparison.scores[0].value == good.value()


def test_the_lower_error_rate_is_better() -> None:
    sources = [str(i) for i in range(200)]
    references = ["a b c"] * 200
    good, bad = ["a b c"] * 190 + ["a"] * 10, ["a b c"] * 100 + ["a"] * 100
    settings = [[metric_statistics("per", sources, outputs, references)] for outputs in (bad, good)]
    comparison = compare_settings(settings)
    assert sentences_about(comparison, "bad", "good") == ["good is better than bad (p < 0.001)"]
    assert comparison.pairs[0].test.difference > 0


def test_corrected_p_values_are_never_smaller_than_single_ones() -> None:
    comparison = compare_settings([[matches(share, seed=i)] for i, share in enumerate((0.5, 0.53, 0.56, 0.6))])
    for pair in comparison.pairs:
        assert pair.p_bootstrap >= pair.test.p_bootstrap
        assert pair.p_randomization >= pair.test.p_randomization
    single = compare_settings([[matches(0.5, seed=0)], [matches(0.6, seed=3)]])
    assert single.pairs[0].p_value == max(single.pairs[0].test.p_bootstrap, single.pairs[0].test.p_randomization)


def test_a_pair_seen_from_the_other_side_says_the_same() -> None:
    (pair,) = compare_settings([[matches(0.9, seed=1)], [matches(0.5, seed=2)]]).pairs
    assert describe_pair(pair.mirror(), "AB") == describe_pair(pair, "AB")
    assert pair.mirror().test.difference == -pair.test.difference
    assert pair.mirror().mirror() == pair


def test_seeds_are_a_level_of_their_own() -> None:
    """Runs of one setting differ by more than the two settings do: single runs mislead, the settings do not."""
    a = [matches(share, 2000, seed=i) for i, share in enumerate((0.6, 0.7, 0.8))]
    b = [matches(share, 2000, seed=9 + i) for i, share in enumerate((0.58, 0.66, 0.75))]
    lucky = compare_settings([[a[2]], [b[0]]])
    assert sentences_about(lucky, "A", "B") == ["A is better than B (p < 0.001)"]
    (pair,) = compare_settings([a, b]).pairs
    assert pair.verdict == "none"
    assert describe_seeds(pair) == "over 3 and 3 seeds"
    assert pair.test.interval.low < 0 < pair.test.interval.high


def test_a_setting_with_a_single_run_is_tested_over_sentences_only_and_it_is_said() -> None:
    runs = [matches(0.9, seed=i) for i in range(3)]
    (pair,) = compare_settings([runs, [matches(0.5, seed=7)]]).pairs
    assert not pair.test.covers_seeds
    assert describe_seeds(pair) == "over sentences only: one of the two has a single run"
    assert describe_seeds(compare_settings([[runs[0]], [runs[1]]]).pairs[0]) == ""


def test_the_score_of_a_setting_is_the_mean_of_its_runs_with_an_interval_inside_its_range() -> None:
    rows = np.zeros((50, 2))
    rows[:, 1] = 1
    once = rows.copy()
    once[0, 0] = 1
    runs = [MetricStatistics("exact_match", "", table, percentages) for table in (rows, once)]
    score = score_setting(runs)
    assert score.value == 1.0 and score.runs == (0.0, 2.0)
    assert score.interval.low == 0.0 < score.interval.high
    rows[:, 0] = 1
    always = MetricStatistics("exact_match", "", rows, percentages)
    assert score_setting([always, runs[1]]).interval == (0.0, 100.0)


def test_two_tests_that_disagree_are_not_evidence() -> None:
    assert decide([0.04, 0.06], is_better=True) == "disagree"
    assert decide([0.04, 0.04], is_better=False) == "worse"
    assert decide([float("nan"), float("nan")], is_better=True) == "none"


def test_a_larger_test_set_shows_smaller_differences() -> None:
    few, many = (
        compare_settings([[matches(0.5, count, seed=1)], [matches(0.5, count, seed=2)]]).detectable
        for count in (100, 2_500)
    )
    assert few is not None and many is not None
    assert few / many == pytest.approx(5, rel=0.2)


def test_too_many_systems_are_refused_because_no_p_value_could_stay_small() -> None:
    with pytest.raises(InputError, match=f"Give at most {MAX_SETTINGS}"):
        compare_settings([[matches(0.5, 10)]] * (MAX_SETTINGS + 1))


THRESHOLDS = [
    *(("bleu", BLEU_13A, *row) for row in ((0.52, 55), (1.06, 65), (1.79, 75), (3.35, 85))),
    *(("chrf", CHRF, *row) for row in ((0.33, 55), (0.76, 65), (1.28, 75), (2.12, 85), (3.05, 90))),
]
"""Metric, signature, difference and percentage in the table of Kocmi et al. (2024)."""


@pytest.mark.parametrize(("metric", "signature", "difference", "share"), THRESHOLDS)
def test_agreement_with_people_follows_the_published_table(
    metric: str, signature: str, difference: float, share: float
) -> None:
    assert human_agreement(metric, signature, difference) == pytest.approx(share, abs=0.2)
    assert human_agreement(metric, signature, -difference) == human_agreement(metric, signature, difference)


def test_nothing_is_said_about_people_where_nothing_is_known() -> None:
    assert human_agreement("bleu", BLEU_CHAR, 1.0) is None
    assert human_agreement("ter", "", 1.0) is None
    assert human_agreement("bleu", BLEU_13A, float("nan")) is None


@given(st.floats(0, 100), st.floats(0, 100))
def test_a_larger_difference_is_confirmed_at_least_as_often(first: float, second: float) -> None:
    low, high = (human_agreement("bleu", BLEU_13A, size) or 0.0 for size in sorted((first, second)))
    assert 50 <= low <= high <= 85


def test_agreement_is_said_in_words() -> None:
    (pair,) = compare_settings([[matches(0.9)], [matches(0.5)]]).pairs
    assert describe_agreement(pair) == ""  # exact match is not known
    assert describe_agreement(pair._replace(human_agreement=50.0)).endswith("no more often than a coin toss")
    assert describe_agreement(pair._replace(human_agreement=71.6)).endswith("in about 72 % of cases")
