"""Comparison of systems on one test set: scores with intervals, tests of all pairs, and what they mean in words.

A row of the comparison is a setting: one system, or runs of the same settings with different seeds. Two settings of one
run each are compared by paired bootstrap and by approximate randomization; settings with several runs by the two-level
test over seeds and sentences (`significance.seed_test`). The p-values of all pairs are corrected by Holm's method. One
system is called better only if both corrected p-values are below 0.05.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist, median
from typing import Literal, NamedTuple

import numpy as np

from tongsa.errors import InputError
from tongsa.evaluation.human_agreement import COIN_TOSS, human_agreement
from tongsa.evaluation.metric_statistics import MetricStatistics
from tongsa.evaluation.metrics import Interval
from tongsa.evaluation.significance import detectable_difference, holm, paired_test, seed_interval, seed_test

SIGNIFICANCE_LEVEL, POWER = 0.05, 0.8
SAMPLES = 10_000
"""Samples of the bootstrap. The smallest p-value is 1 / 10,001: it must stay below 0.05 after the correction."""
SIGNED_SCORES = frozenset({"comet"})
"""Scores that may be negative."""
UNLIMITED_SCORES = frozenset({"comet", "ter", "per", "perplexity", "length_ratio"})
"""Scores that may be above 100."""
MAX_SETTINGS = 24
"""With 276 pairs the smallest corrected p-value is 0.028."""
Verdict = Literal["better", "worse", "disagree", "none"]
"""Verdict about the first setting against the second. disagree: only one of the two tests finds a difference."""
MIRRORED_VERDICTS: dict[Verdict, Verdict] = {
    "better": "worse",
    "worse": "better",
    "disagree": "disagree",
    "none": "none",
}
Runs = Sequence[MetricStatistics]
"""Statistics of each run of a setting."""


class SettingScore(NamedTuple):
    """Mean score of a setting's runs, its 95 % interval, and the score of each run."""

    value: float
    interval: Interval
    runs: tuple[float, ...]


class PairTest(NamedTuple):
    """Test of two settings before the correction for many comparisons."""

    difference: float
    """Mean of the first minus mean of the second, in the units of the metric."""
    interval: Interval
    p_bootstrap: float
    p_randomization: float
    """Equal to `p_bootstrap` if there are several runs: the two-level test is a single one."""
    detectable: float
    """Smallest difference that a test of this pair alone would find in four of five cases, at p < 0.05."""
    seeds: tuple[int, int]
    covers_seeds: bool
    """True if both settings have several runs, so that the result is about the settings and not about these runs."""


class PairComparison(NamedTuple):
    """Two settings, by their indices, with corrected p-values and the verdict about the first one."""

    a: int
    b: int
    test: PairTest
    p_bootstrap: float
    p_randomization: float
    verdict: Verdict
    human_agreement: float | None
    """Percentage of system pairs with such a difference whose order people confirm; None if not known."""

    def mirror(self) -> "PairComparison":
        """Return the same comparison from the side of the second setting."""
        test = self.test
        interval = Interval(-test.interval.high, -test.interval.low)
        mirrored = test._replace(difference=-test.difference, interval=interval, seeds=test.seeds[::-1])
        return self._replace(a=self.b, b=self.a, test=mirrored, verdict=MIRRORED_VERDICTS[self.verdict])

    @property
    def p_value(self) -> float:
        """The larger of the two corrected p-values, which decides."""
        return max(self.p_bootstrap, self.p_randomization)


@dataclass(frozen=True)
class MetricComparison:
    """All settings under one metric."""

    name: str
    signature: str
    lower_is_better: bool
    sentences: int
    """Rows that were resampled: sentences; for WER and PER, distinct sources."""
    scores: tuple[SettingScore, ...]
    pairs: tuple[PairComparison, ...]

    @property
    def detectable(self) -> float | None:
        """Smallest difference that this test set shows in four of five cases: the median of the pairs."""
        return median(pair.test.detectable for pair in self.pairs) if self.pairs else None

    def ranking(self) -> list[int]:
        """Return the indices of the settings, best score first."""
        sign = 1 if self.lower_is_better else -1
        return sorted(range(len(self.scores)), key=lambda i: sign * self.scores[i].value)


def compare_settings(settings: Sequence[Runs]) -> MetricComparison:
    """Compare settings, each with the statistics of its runs, under the metric of these statistics."""
    if len(settings) > MAX_SETTINGS:
        raise InputError(f"compare: {len(settings)} systems. Give at most {MAX_SETTINGS}.")
    first = settings[0][0]
    scores = tuple(score_setting(runs) for runs in settings)
    indices = list(combinations(range(len(settings)), 2))
    tests = [compare_pair(settings[a], settings[b]) for a, b in indices]
    bootstrap = holm([test.p_bootstrap for test in tests])
    randomization = holm([test.p_randomization for test in tests])
    pairs = []
    for (a, b), test, *p_values in zip(indices, tests, bootstrap, randomization, strict=True):
        is_better = (test.difference < 0) == first.lower_is_better
        verdict = decide(p_values, is_better=is_better)
        agreement = human_agreement(first.name, first.signature, test.difference)
        pairs.append(PairComparison(a, b, test, p_values[0], p_values[1], verdict, agreement))
    sentences = len(first.rows)
    return MetricComparison(first.name, first.signature, first.lower_is_better, sentences, scores, tuple(pairs))


def score_setting(runs: Runs) -> SettingScore:
    """Return the mean of the runs; the interval ends at 0 and at 100 if the quantity cannot be beyond."""
    values = tuple(run.value() for run in runs)
    low, high = seed_interval(runs)
    if runs[0].name not in SIGNED_SCORES and low < 0:
        low = 0.0
    if runs[0].name not in UNLIMITED_SCORES and high > 100:
        high = 100.0
    return SettingScore(float(np.mean(values)), Interval(low, high), values)


def compare_pair(a: Runs, b: Runs) -> PairTest:
    """Compare two settings by paired tests, or by the two-level test if one of them has several runs."""
    if len(a) == len(b) == 1:
        paired = paired_test(a[0], b[0], samples=SAMPLES)
        detectable = detectable_difference(a[0], b[0], power=POWER, level=SIGNIFICANCE_LEVEL)
        p_values = paired.p_bootstrap, paired.p_randomization
        return PairTest(paired.difference, paired.interval, *p_values, detectable, (1, 1), covers_seeds=False)
    over_seeds = seed_test(a, b)
    half_width = (over_seeds.interval.high - over_seeds.interval.low) / 2
    error = float(np.hypot(over_seeds.seed_error, over_seeds.sentence_error))
    return PairTest(
        over_seeds.difference,
        over_seeds.interval,
        over_seeds.p_value,
        over_seeds.p_value,
        half_width + NormalDist().inv_cdf(POWER) * error,
        over_seeds.seeds,
        over_seeds.covers_seeds,
    )


def decide(p_values: Sequence[float], *, is_better: bool) -> Verdict:
    """Return the verdict about the first of two settings from the corrected p-values of all tests."""
    below = [p_value < SIGNIFICANCE_LEVEL for p_value in p_values]
    if all(below):
        return "better" if is_better else "worse"
    return "disagree" if any(below) else "none"


def describe_pair(pair: PairComparison, names: Sequence[str]) -> str:
    """Return the verdict about a pair as a sentence."""
    a, b = names[pair.a], names[pair.b]
    p_value = format_p(pair.p_value)
    if pair.verdict in ("better", "worse"):
        first, second = (a, b) if pair.verdict == "better" else (b, a)
        return f"{first} is better than {second} ({p_value})"
    if pair.verdict == "disagree":
        p_values = f"bootstrap {format_p(pair.p_bootstrap)}, randomization {format_p(pair.p_randomization)}"
        return f"{a} and {b}: the two tests disagree ({p_values})"
    return f"{a} and {b}: no evidence of a difference ({p_value})"


def format_p(p_value: float) -> str:
    """Return "p = 0.012", or "p < 0.001"."""
    if np.isnan(p_value):
        return "p unknown"
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def describe_seeds(pair: PairComparison) -> str:
    """Return whether the result holds for other seeds; "" for two single systems."""
    a, b = pair.test.seeds
    if pair.test.covers_seeds:
        return f"over {a} and {b} seeds"
    return "over sentences only: one of the two has a single run" if max(a, b) > 1 else ""


def describe_agreement(pair: PairComparison) -> str:
    """Return what a difference of this size means to people; "" if it is not known."""
    if pair.human_agreement is None:
        return ""
    if pair.human_agreement <= COIN_TOSS:
        return "people confirm such a difference no more often than a coin toss"
    return f"people confirm such a difference in about {pair.human_agreement:.0f} % of cases"
