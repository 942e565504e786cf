"""Intervals and tests: they agree with sacreBLEU, hold their error rates, and say what they do not cover."""

import importlib
import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest as SacreBleuTest

from tongsa.errors import InputError
from tongsa.evaluation.metric_statistics import (
    MetricStatistics,
    mean_statistics,
    metric_statistics,
    perplexity_statistics,
)
from tongsa.evaluation.resampling import shuffled_differences
from tongsa.evaluation.significance import (
    bootstrap_interval,
    detectable_difference,
    holm,
    largest_detectable_difference,
    paired_test,
    seed_interval,
    seed_test,
)
from tongsa.evaluation.student_t import critical_value, two_sided_p

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def noisy_copies(count: int, *rates: float) -> tuple[list[str], list[list[str]]]:
    """Return random references and outputs in which each word is replaced at these rates."""
    random = np.random.default_rng(7)
    words = np.array([f"w{i}" for i in range(40)])
    references = [random.choice(words, random.integers(3, 15)) for _ in range(count)]
    outputs = [
        [" ".join(np.where(random.random(len(ref)) < rate, random.choice(words), ref)) for ref in references]
        for rate in rates
    ]
    return [" ".join(reference) for reference in references], outputs


def values_of(values: Any) -> MetricStatistics:
    return mean_statistics("mean", "mean", np.asarray(values, dtype=np.float64))


def sacrebleu_test(metric: Metric, systems: dict[str, list[str]], references: list[str], kind: str) -> tuple[Any, Any]:
    """Return sacreBLEU's results of two systems: the second has the p-value. 400 samples or 800 trials."""
    samples = {"bs": 400, "ar": 800}[kind]
    _, results = SacreBleuTest(list(systems.items()), {"metric": metric}, [references], kind, samples)()
    first, second = next(rows for key, rows in results.items() if key != "System")
    return first, second


@pytest.mark.parametrize("rates", [(0.30, 0.32), (0.30, 0.36)], ids=["close", "apart"])
def test_the_paired_tests_are_those_of_sacrebleu(rates: tuple[float, float]) -> None:
    """The samples are the same, so are the p-values, with two differences.

    SacreBLEU's bootstrap looks at one tail, and its randomization does not count shuffles that differ by exactly as
    much as the systems: frequent for TER, whose edits are whole numbers.
    """
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    references, (first, second) = noisy_copies(60, *rates)
    systems = {"second": second, "first": first}
    for name, metric in {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}.items():
        a, b = (metric_statistics(name, references, outputs, references) for outputs in (first, second))
        ours = paired_test(a, b, samples=400, trials=800)
        baseline, system = sacrebleu_test(metric, systems, references, "bs")
        assert system.score - baseline.score == pytest.approx(ours.difference, abs=1e-9)
        assert system.p_value == pytest.approx(ours.p_bootstrap_sacrebleu, abs=1e-12)
        assert ours.p_bootstrap >= system.p_value
        low, high = bootstrap_interval(a, samples=400)
        assert high - low == pytest.approx(2 * system.ci, rel=0.05)
        _, system = sacrebleu_test(metric, systems, references, "ar")
        shuffled = np.abs(shuffled_differences(a, b, 800, 12345))
        ties = np.isclose(shuffled, abs(ours.difference), atol=1e-9).sum() / 801
        assert ours.p_randomization - ties - 1e-12 <= system.p_value <= ours.p_randomization + 1e-12
        assert ties == 0 or name == "ter"


def test_equal_outputs_do_not_differ_and_clearly_better_ones_do() -> None:
    """SacreBLEU reports p = 1/(trials + 1) for a system compared with itself."""
    references, (good, bad) = noisy_copies(80, 0.1, 0.6)
    a, b = (metric_statistics("bleu", references, outputs, references) for outputs in (good, bad))
    same = paired_test(a, a, samples=100, trials=100)
    assert (same.difference, same.interval, same.p_bootstrap, same.p_randomization) == (0, (0, 0), 1, 1)
    other = paired_test(a, b, samples=100, trials=100)
    assert other.interval.low > 0
    assert max(other.p_bootstrap, other.p_randomization) < 0.02
    assert paired_test(b, a, samples=100, trials=100).difference == -other.difference


def test_both_paired_tests_and_the_interval_hold_their_rate() -> None:
    """200 comparisons of equal systems: sacreBLEU's one-sided bootstrap alarms about twice as often as it says."""
    random = np.random.default_rng(1)
    alarms, misses = np.zeros(3), 0
    for _ in range(200):
        hard = random.normal(50, 20, 80)
        a, b = (values_of(hard + random.normal(0, 10, 80)) for _ in range(2))
        test = paired_test(a, b, samples=200, trials=200)
        alarms += [p < 0.05 for p in (test.p_bootstrap, test.p_randomization, test.p_bootstrap_sacrebleu)]
        low, high = bootstrap_interval(a, samples=200)
        misses += not low <= 50 <= high
    assert max(alarms[0], alarms[1], misses) <= 20  # 10 expected; more than 20 in one of a thousand such tests
    assert alarms[2] > 12


@given(p_values)
def test_holm_keeps_the_order_and_lies_between_no_correction_and_bonferroni(values: list[float]) -> None:
    adjusted = holm(values)
    for p, q in zip(values, adjusted, strict=True):
        assert p <= q <= min(1, len(values) * p) or math.isclose(q, min(1, len(values) * p))
    order = sorted(range(len(values)), key=values.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)


def test_holm_on_a_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, math.nan, 0.04]) == pytest.approx([0.02, math.nan, 0.04], nan_ok=True)


@pytest.mark.parametrize(
    ("degrees", "expected"), [(1, 12.7062047), (2, 4.3026527), (5, 2.5705818), (30, 2.0422725), (1000, 1.9623391)]
)
def test_students_t_against_tables(degrees: float, expected: float) -> None:
    assert critical_value(0.05, degrees) == pytest.approx(expected, abs=1e-6)
    for level in (1e-9, 0.3, 0.999):
        assert two_sided_p(critical_value(level, degrees), degrees) == pytest.approx(level, rel=1e-9)


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("seed_test_simulation")


def test_the_seed_test_holds_its_rate_where_percentiles_do_not(simulation: Any) -> None:
    """A short version of benchmarks/seed_test_simulation.py, with the seeds as the main source of variance."""
    random = np.random.default_rng(5)
    for scenario in (
        simulation.Scenario("mean", 2, 200, seed_factor=5.0, second_varies=False),
        simulation.Scenario("bleu", 3, 200, seed_factor=5.0),
    ):
        alarms, alarms_of_percentiles = map(sum, simulation.compare(random, scenario, 160))
        assert alarms <= 16  # 8 expected; more than 16 in less than one of a hundred such tests
        assert alarms_of_percentiles > 4  # 40 comparisons


@pytest.mark.slow
def test_the_seed_test_holds_its_rate_in_a_longer_simulation(simulation: Any) -> None:
    random = np.random.default_rng(5)
    for metric, seeds in (("mean", 2), ("bleu", 3)):
        row = simulation.false_alarms(random, simulation.Scenario(metric, seeds, 200, 0.0), 600)
        assert max(row["rates"].values()) <= 7.5
        assert row["baseline"]["dominant"] > 10


def test_seeds_widen_the_interval_and_a_difference_beyond_them_is_seen() -> None:
    random = np.random.default_rng(3)
    hard = random.normal(50, 20, 300)

    def runs(mean: float, seed_sd: float, count: int) -> list[MetricStatistics]:
        return [values_of(hard + mean + random.normal(0, seed_sd) + random.normal(0, 2, 300)) for _ in range(count)]

    stable, unstable = seed_test(runs(5, 0, 3), runs(0, 0, 3)), seed_test(runs(5, 6, 3), runs(0, 6, 3))
    assert stable.p_value < 1e-5 and unstable.p_value > 0.01
    assert unstable.seed_error > 10 * stable.seed_error
    for test in (stable, unstable):
        assert (test.p_value < 0.05) == (not test.interval.low <= 0 <= test.interval.high)
        assert test.covers_seeds and test.seeds == (3, 3) and not test.note
    group = runs(0, 6, 3)
    low, high = seed_interval(group)
    assert high - low > 2 * np.diff(bootstrap_interval(group[0])).item()


def test_the_interval_of_the_seed_test_is_never_narrower_than_over_sentences() -> None:
    """With equal scores of the runs by chance, the seeds seem not to vary at all."""
    random = np.random.default_rng(4)
    first, second, third = random.normal(0, 1, (3, 100))
    groups = [[values_of(x - x.mean()), values_of(y - y.mean())] for x, y in ((first, second), (second, third))]
    test = seed_test(*groups)
    assert test.seed_error == pytest.approx(0, abs=1e-12)
    alone = seed_test([values_of((first + second) / 2)], [values_of((second + third) / 2)])
    assert np.diff(test.interval) == pytest.approx(np.diff(alone.interval))


def test_a_single_run_is_tested_over_sentences_and_says_so() -> None:
    random = np.random.default_rng(6)
    a, b, c = (values_of(random.normal(mean, 10, 200)) for mean in (53, 53, 50))
    test = seed_test([a, b], [c])
    assert not test.covers_seeds and "single run" in test.note
    alone = seed_test([a], [c])
    assert alone.p_value == pytest.approx(paired_test(a, c).p_bootstrap, abs=0.02)
    assert seed_interval([a]) == bootstrap_interval(a)
    assert seed_test([a], [a]).p_value == 1


def test_the_detectable_difference_is_detected_with_the_stated_power() -> None:
    random = np.random.default_rng(8)
    hard = random.normal(50, 20, 400)
    a, b = (values_of(hard + random.normal(0, 10, 400)) for _ in range(2))
    paired, unpaired = detectable_difference(a, b), detectable_difference(a)
    assert paired == pytest.approx(2.8 * 10 * math.sqrt(2 / 400), rel=0.1)
    assert unpaired == pytest.approx(2.8 * math.hypot(20, 10) * math.sqrt(2 / 400), rel=0.1)
    shown = 0
    for _ in range(100):
        x, y = (values_of(hard + shift + random.normal(0, 10, 400)) for shift in (paired, 0))
        shown += seed_test([x], [y]).p_value < 0.05
    assert 68 <= shown <= 92  # 80 expected; the sd is 4


def test_no_score_of_right_and_wrong_sentences_needs_a_larger_difference_than_the_bound() -> None:
    for right in (1, 20, 50, 80):
        values = values_of([100.0] * right + [0.0] * (100 - right))
        bound = largest_detectable_difference(100)
        assert detectable_difference(values) <= bound * math.sqrt(100 / 99)  # the sample variance divides by n − 1
        assert (detectable_difference(values) > 0.99 * bound) == (right == 50)


def test_labels_that_only_one_system_gives_are_compared() -> None:
    references = ["a", "b", "a", "b"] * 10
    a = metric_statistics("macro_f1", references, references, references)
    b = metric_statistics("macro_f1", references, ["a", "b", "a", "c"] * 10, references)
    test = paired_test(a, b, samples=50, trials=50)
    assert test.difference == pytest.approx(100 - 100 * (1 + 2 / 3 + 0) / 3)
    assert test.p_randomization < 0.05


def test_what_cannot_be_compared_is_explained() -> None:
    references, (outputs,) = noisy_copies(5, 0.3)
    a = metric_statistics("bleu", references, outputs, references)
    for other, message in (
        (metric_statistics("chrf", references, outputs, references), "bleu, chrf: two metrics"),
        (metric_statistics("bleu", references[1:], outputs[1:], references[1:]), "5 sentences against 4"),
        (metric_statistics("bleu", references, outputs, references, "char"), "Compare scores with the same signature"),
    ):
        with pytest.raises(InputError, match=message):
            paired_test(a, other)
    coarse, fine = (perplexity_statistics([[-1.0] * tokens], "perplexity") for tokens in (3, 5))
    with pytest.raises(InputError, match="different tokens"):
        paired_test(coarse, fine)
    with pytest.raises(InputError, match="mean: not a number"):
        paired_test(values_of([1.0, math.nan]), values_of([1.0, 2.0]))
    with pytest.raises(InputError, match="a setting has no run"):
        seed_test([a], [])


def test_one_sentence_has_no_interval() -> None:
    single = values_of([50.0])
    assert all(math.isnan(end) for end in bootstrap_interval(single))
    assert math.isnan(seed_test([single], [single]).p_value)
    test = paired_test(single, values_of([40.0]))
    assert test.difference == 10 and math.isnan(test.p_bootstrap) and math.isnan(test.p_randomization)
    assert math.isnan(detectable_difference(single))
