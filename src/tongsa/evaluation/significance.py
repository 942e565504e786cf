"""Confidence intervals and tests of differences between systems on one test set, by resampling its sentences.

Bootstrap: draw as many sentences as the test set has, with replacement, and score the sample; 1,000 times
(Koehn 2004). The middle 95 % of these scores are the interval. Two systems are scored on the same samples (paired).
Approximate randomization: swap the two outputs of each sentence with probability one half; the p-value is the share of
shuffled pairs that differ by as much as the real one (Riezler and Maxwell 2005, section 4).

Two-level test, for settings with several seeds. A score varies with the seed of the training and with the sentences of
the test set. The difference of two settings is the difference of the means over their runs. Sentences and seeds are
crossed: every run translates every sentence. A table of runs × sentences (jackknife pseudo-values) splits the variance:
  1. sentences: what all runs of a setting have in common on a sentence, different for the two settings;
  2. seeds: some runs are better everywhere;
  3. seeds × sentences: each run has other sentences right by chance.
The scores of the runs vary by 2 and 3; that is the variance of the seeds, with k − 1 degrees of freedom for k runs. The
means over the runs vary by 1 and 3 from sentence to sentence; 3 is known from the table and subtracted, so that it is
not counted twice. Resampling k runs would show only (k − 1)/k of their variance, half of it for two, and percentiles
cannot tell how uncertain a variance of two runs is. So the interval is that of Student's t for each level, the squares
of both half-widths added (Banerjee 1960); the two settings share degrees of freedom as Welch (1947) does. It is never
narrower than that over sentences alone. `benchmarks/seed_test_simulation.py` measures the rate of false alarms.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple, Self

import numpy as np

from tongsa.errors import InputError
from tongsa.evaluation.metric_statistics import FloatArray, MetricStatistics, align_labels
from tongsa.evaluation.metrics import Interval
from tongsa.evaluation.resampling import bootstrap_scores, jackknife_values, shuffled_differences
from tongsa.evaluation.student_t import critical_value

SAMPLES, TRIALS, SEED, LEVEL = 1000, 10_000, 12345, 0.95
TOLERANCE = 1e-9
"""Two differences that are closer than this are equal: swapping equal outputs changes nothing."""
MIN_P = 1e-12
"""Smallest p-value of the two-level test."""
STEP = 1e-5
"""Step of a numerical derivative with respect to log p."""


class PairedTest(NamedTuple):
    """Difference of two systems, first minus second, with a 95 % bootstrap interval and two-sided p-values."""

    difference: float
    interval: Interval
    p_bootstrap: float
    p_randomization: float
    p_bootstrap_sacrebleu: float
    """SacreBLEU's paired bootstrap p-value. It looks at one tail: about half of the two-sided one."""


def bootstrap_interval(
    statistics: MetricStatistics, *, samples: int = SAMPLES, seed: int = SEED, level: float = LEVEL
) -> Interval:
    """Return the percentile interval of a score; NaN, NaN where the samples tell nothing (`score_interval`)."""
    return score_interval(bootstrap_scores([statistics], samples, seed)[0], level)


def score_interval(scores: FloatArray, level: float) -> Interval:
    """Return the interval of resampled scores; undefined if one of them is not a number, or if all are equal.

    They are equal for one sentence, and if all sentences are right: then an interval of no width would claim certainty.
    """
    if np.isnan(scores).any() or np.ptp(scores) < TOLERANCE:
        return Interval(math.nan, math.nan)
    return _percentile_interval(scores, level)


def _percentile_interval(scores: FloatArray, level: float) -> Interval:
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def paired_test(
    a: MetricStatistics, b: MetricStatistics, *, samples: int = SAMPLES, trials: int = TRIALS, seed: int = SEED
) -> PairedTest:
    """Compare two systems on the same sentences by paired bootstrap and by approximate randomization.

    One sentence cannot be resampled: the interval and the p-values are NaN.
    """
    a, b = comparable([a, b])
    difference = a.value() - b.value()
    if len(a.rows) < 2:
        return PairedTest(difference, Interval(math.nan, math.nan), math.nan, math.nan, math.nan)
    differences = np.subtract(*bootstrap_scores([a, b], samples, seed))
    # The differences of the samples lie around the observed one; moved to 0, they show what chance alone does.
    p_bootstrap = _p_value(np.abs(differences - differences.mean()), abs(difference))
    sizes = np.abs(differences)
    p_sacrebleu = (int((sizes - sizes.mean() > abs(difference)).sum()) + 1) / (samples + 1)
    p_randomization = _p_value(np.abs(shuffled_differences(a, b, trials, seed)), abs(difference))
    return PairedTest(difference, _percentile_interval(differences, LEVEL), p_bootstrap, p_randomization, p_sacrebleu)


def _p_value(values: FloatArray, observed: float) -> float:
    """Return the share of values at least as large as the observed one, which is counted among them."""
    return (int((values >= observed - TOLERANCE).sum()) + 1) / (len(values) + 1)


def comparable(statistics: Sequence[MetricStatistics]) -> list[MetricStatistics]:
    """Return the statistics with the same columns; raise InputError if they are not of one metric and test set."""
    first = statistics[0]
    for system in statistics:
        if system.name != first.name:
            raise InputError(f"{first.name}, {system.name}: two metrics. Compare systems by the same metric.")
        if len(system.rows) != len(first.rows):
            raise InputError(
                f"{first.name}: {len(first.rows):,} sentences against {len(system.rows):,}. "
                "Compare systems on the same test set."
            )
        if system.name == "bleu" and system.signature != first.signature:
            raise InputError(
                f"bleu: {first.signature} against {system.signature}. Compare scores with the same signature."
            )
        if system.name == "perplexity" and not np.array_equal(system.rows[:, 1], first.rows[:, 1]):
            raise InputError(
                "perplexity: the systems divide the references into different tokens. "
                "Compare perplexities of models with the same tokenizer."
            )
        if math.isnan(system.value()):
            raise InputError(f"{system.name}: not a number. Leave out this metric or this system.")
    return align_labels(statistics)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number (Holm 1979): those below 0.05 hold a false alarm in at most 5 % of the cases.

    A p-value of NaN belongs to a test that was not possible: it stays, and does not count.
    """
    adjusted = list(p_values)
    order = sorted((i for i, p in enumerate(p_values) if not math.isnan(p)), key=p_values.__getitem__)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, (len(order) - rank) * p_values[i])
        adjusted[i] = min(1.0, largest)
    return adjusted


def detectable_difference(
    a: MetricStatistics, b: MetricStatistics | None = None, *, power: float = 0.8, level: float = 0.05
) -> float:
    """Return the smallest difference that this test set shows with this power, by a two-sided test at this level.

    With two systems their paired differences are used. With one, a second system of the same spread whose errors are
    unrelated is assumed: an upper bound, because similar systems are right and wrong on the same sentences.
    """
    values = jackknife_values(a) if b is None else np.subtract(*map(jackknife_values, comparable([a, b])))
    variance = values.var(ddof=1) / len(values) if len(values) > 1 else math.nan
    return float(_detection_factor(power, level) * np.sqrt(2 * variance if b is None else variance))


def largest_detectable_difference(sentences: int, *, power: float = 0.8, level: float = 0.05) -> float:
    """Return an upper bound of `detectable_difference` for scores of 0 or 100 per sentence, before outputs are known.

    No such score varies more than one of 50, where half of the sentences are right.
    """
    return _detection_factor(power, level) * math.sqrt(2 * 50**2 / sentences)


def _detection_factor(power: float, level: float) -> float:
    """Return how many standard errors a difference must have to be found."""
    normal = NormalDist()
    return normal.inv_cdf(1 - level / 2) + normal.inv_cdf(power)


class SeedTest(NamedTuple):
    """Difference of two settings, mean of the first minus mean of the second, over seeds and sentences."""

    difference: float
    interval: Interval
    p_value: float
    seed_error: float
    """Standard error of the difference that is due to the seeds; 0 if seeds are not a level of the test."""
    sentence_error: float
    """The one that is due to the sentences."""
    seeds: tuple[int, int]
    """Number of runs of each setting."""
    covers_seeds: bool
    """False if a setting has a single run: then the test is about these runs, on other sentences."""
    note: str = ""
    """Limits of the test, in a sentence."""


def seed_test(a: Sequence[MetricStatistics], b: Sequence[MetricStatistics]) -> SeedTest:
    """Compare two settings, each a list of runs with different seeds, on the same sentences."""
    if not a or not b:
        raise InputError("seed_test: a setting has no run. Give at least one run of each setting.")
    runs = comparable([*a, *b])
    covers_seeds = min(len(a), len(b)) > 1
    errors = _Errors.estimate([runs[: len(a)], runs[len(a) :]], covers_seeds=covers_seeds)
    values = [run.value() for run in runs]
    difference = float(np.mean(values[: len(a)]) - np.mean(values[len(a) :]))
    return SeedTest(
        difference=difference,
        interval=errors.interval(difference),
        p_value=errors.p_value(difference),
        seed_error=errors.seeds,
        sentence_error=errors.sentences,
        seeds=(len(a), len(b)),
        covers_seeds=covers_seeds,
        note="" if covers_seeds else "A setting has a single run: tested over sentences, not over seeds.",
    )


def seed_interval(runs: Sequence[MetricStatistics]) -> Interval:
    """Return the 95 % interval of a setting's mean score over seeds and sentences; of one run, over sentences only."""
    if not runs:
        raise InputError("seed_interval: no runs. Give at least one run.")
    if len(runs) == 1:
        return bootstrap_interval(runs[0])
    mean = float(np.mean([run.value() for run in runs]))
    return _Errors.estimate([comparable(runs)], covers_seeds=True).interval(mean)


class _Errors(NamedTuple):
    """Standard errors of a mean over runs, or of the difference of two, with their degrees of freedom."""

    seeds: float
    seed_degrees: float
    """Between the degrees of freedom of one setting and of both (Welch 1947)."""
    sentences: float
    only_sentences: float
    """Error over sentences for these very runs: it contains their chance hits, too."""
    sentence_degrees: float

    @classmethod
    def estimate(cls, settings: Sequence[Sequence[MetricStatistics]], *, covers_seeds: bool) -> Self:
        tables = [np.stack([jackknife_values(run) for run in runs]) for runs in settings]  # (run, sentence)
        count = tables[0].shape[1]
        contrast = tables[0].mean(axis=0) - (tables[1].mean(axis=0) if len(tables) > 1 else 0)
        over_sentences = float(contrast.var(ddof=1)) / count if count > 1 else math.nan
        if math.isnan(over_sentences):
            return cls(*[math.nan] * 5)
        if not covers_seeds:
            return cls(0.0, math.inf, math.sqrt(over_sentences), math.sqrt(over_sentences), count - 1)
        of_seeds = [float(np.var([run.value() for run in runs], ddof=1)) / len(runs) for runs in settings]
        degrees = [len(runs) - 1 for runs in settings]
        weights = sum(variance**2 / degree for variance, degree in zip(of_seeds, degrees, strict=True))
        seed_degrees = sum(of_seeds) ** 2 / weights if weights else float(sum(degrees))
        common = max(0.0, over_sentences - sum(map(_interaction, tables)))
        return cls(math.sqrt(sum(of_seeds)), seed_degrees, math.sqrt(common), math.sqrt(over_sentences), count - 1)

    def half_width(self, level: float) -> float:
        """Return the half-width of an interval that misses with this probability."""
        of_sentences = critical_value(level, self.sentence_degrees)
        of_seeds = critical_value(level, self.seed_degrees) if self.seeds else 0.0
        both = math.hypot(of_seeds * self.seeds, of_sentences * self.sentences)
        return max(both, of_sentences * self.only_sentences)

    def interval(self, center: float) -> Interval:
        if math.isnan(self.sentences):
            return Interval(math.nan, math.nan)
        margin = self.half_width(1 - LEVEL)
        return Interval(center - margin, center + margin)

    def p_value(self, difference: float) -> float:
        """Return the level at which the interval just reaches 0: Newton's method between logarithms, with bounds."""
        if math.isnan(self.sentences):
            return math.nan
        low, high, guess = math.log(MIN_P), 0.0, math.log(0.05)
        while high - low > TOLERANCE:
            width = self.half_width(math.exp(guess))
            low, high = (guess, high) if width >= abs(difference) else (low, guess)
            slope = (self.half_width(math.exp(guess - STEP)) - width) / STEP
            step = (width - abs(difference)) / slope if slope else math.inf
            if abs(step) < TOLERANCE:
                return math.exp(guess)
            guess = guess + step if low < guess + step < high else (low + high) / 2
        return math.exp(high)


def _interaction(table: FloatArray) -> float:  # (run, sentence)
    """Return the variance of a setting's mean that is due to each run having other sentences right."""
    runs, count = table.shape
    residuals = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    return float((residuals**2).sum() / ((runs - 1) * (count - 1)) / count / runs)
