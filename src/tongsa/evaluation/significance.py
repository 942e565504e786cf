"""Confidence intervals and tests of differences between systems on one test set, by resampling its sentences.

Bootstrap: draw as many sentences as the test set has, with replacement, and score the sample; 1,000 times
(Koehn 2004). The middle 95 % of these scores are the interval. Two systems are scored on the same samples (paired).
Approximate randomization: swap the two outputs of each sentence with probability one half; the p-value is the share of
shuffled pairs that differ by as much as the real one (Riezler and Maxwell 2005, section 4).
Samples and shuffles are those of sacreBLEU with the same seed, so its figures can be reproduced.

Two-level test for settings with several seeds. A run's score varies for two reasons: the seed that it was trained with
and the sentences that it is tested on. The difference of two settings is the difference of the means over their runs.
Its variance has three parts:
  1. sentences: what all runs of a setting have in common on a sentence. All runs are scored on the same resampled
     sentences; the difference of the means then varies by (1) and (3).
  2. seeds: some runs are better everywhere.
  3. seeds × sentences: each run has other sentences right. The variance between the scores of the runs has (2) and
     (3); the resampled deviations of a run from the mean of its setting have (3) alone, which is subtracted once.
Resampling k runs with replacement would give only (k − 1)/k of the variance between them, half for two seeds, and
percentiles cannot know how uncertain a variance of two or three runs is. So the variance between runs is computed
directly, with k − 1 degrees of freedom, added to that of the sentences (Satterthwaite 1946), and the quotient of
difference and standard error is referred to Student's t. `benchmarks/seed_test_simulation.py` measures false alarms.
"""

from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from tongsa.errors import InputError
from tongsa.evaluation.metric_statistics import FloatArray, MetricStatistics, align_labels
from tongsa.evaluation.metrics import Interval
from tongsa.evaluation.student_t import critical_value, two_sided_p

SAMPLES, TRIALS, SEED, LEVEL = 1000, 10_000, 12345, 0.95
MAX_WEIGHTS = 4_000_000
"""Weights computed at once: 32 MB."""
SHUFFLE_BLOCK = 32
"""Trials are drawn in multiples of this, so that the random bits do not depend on MAX_WEIGHTS."""
TOLERANCE = 1e-9
"""Two differences that are closer than this are equal: swapping equal outputs changes nothing."""


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
    """Return the percentile interval of a score; NaN, NaN for one sentence or an undefined score."""
    return _percentile_interval(bootstrap_scores([statistics], samples=samples, seed=seed)[0], statistics, level)


def bootstrap_scores(statistics: Sequence[MetricStatistics], *, samples: int, seed: int) -> FloatArray:
    """Return the scores (system, sample) of all systems on the same resampled sentences."""
    scores = np.empty((len(statistics), samples))
    start = 0
    for weights in _bootstrap_weights(len(statistics[0].rows), samples, seed):
        for row, system in zip(scores, statistics, strict=True):
            row[start : start + len(weights)] = system.score(weights @ system.rows)
        start += len(weights)
    return scores


def _bootstrap_weights(sentences: int, samples: int, seed: int) -> Iterator[FloatArray]:  # (sample, sentence)
    """Yield blocks of samples: how often each sentence was drawn."""
    random = np.random.default_rng(seed)
    block = max(1, MAX_WEIGHTS // sentences)
    for start in range(0, samples, block):
        count = min(block, samples - start)
        drawn = random.integers(sentences, size=(count, sentences))
        drawn += np.arange(count)[:, None] * sentences
        yield np.bincount(drawn.ravel(), minlength=count * sentences).reshape(count, sentences).astype(np.float64)


def _percentile_interval(scores: FloatArray, statistics: MetricStatistics, level: float) -> Interval:
    if len(statistics.rows) < 2 or np.isnan(scores).any():
        return Interval(np.nan, np.nan)
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def paired_test(
    a: MetricStatistics, b: MetricStatistics, *, samples: int = SAMPLES, trials: int = TRIALS, seed: int = SEED
) -> PairedTest:
    """Compare two systems on the same sentences by paired bootstrap and by approximate randomization."""
    a, b = comparable([a, b])
    difference = a.value() - b.value()
    differences = np.subtract(*bootstrap_scores([a, b], samples=samples, seed=seed))
    # The differences of the samples lie around the observed one; moved to 0, they show what chance alone does.
    p_bootstrap = _p_value(np.abs(differences - differences.mean()), abs(difference))
    sizes = np.abs(differences)
    p_sacrebleu = (int((sizes - sizes.mean() > abs(difference)).sum()) + 1) / (samples + 1)
    p_randomization = _p_value(_shuffled_differences(a, b, trials, seed), abs(difference))
    interval = _percentile_interval(differences, a, LEVEL)
    return PairedTest(difference, interval, p_bootstrap, p_randomization, p_sacrebleu)


def _shuffled_differences(a: MetricStatistics, b: MetricStatistics, trials: int, seed: int) -> FloatArray:  # (trial,)
    """Return |score − score| after swapping the outputs of random sentences."""
    random = np.random.default_rng(seed)
    sentences = len(a.rows)
    block = max(1, MAX_WEIGHTS // sentences // SHUFFLE_BLOCK) * SHUFFLE_BLOCK
    total, exchange = a.rows.sum(axis=0) + b.rows.sum(axis=0), a.rows - b.rows
    values = []
    for start in range(0, trials, block):
        kept = random.integers(2, size=(min(block, trials - start), sentences), dtype=bool)
        first = b.rows.sum(axis=0) + kept.astype(np.float64) @ exchange
        values.append(np.abs(a.score(first) - b.score(total - first)))
    return np.concatenate(values)


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
        if np.isnan(system.value()):
            raise InputError(f"{system.name}: not a number. Leave out this metric or this system.")
    return align_labels(statistics)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number (Holm 1979): those below 0.05 hold a false alarm in at most 5 % of the cases."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, (len(p_values) - rank) * p_values[i])
        adjusted[i] = min(1.0, largest)
    return adjusted


def detectable_difference(
    a: MetricStatistics, b: MetricStatistics | None = None, *, power: float = 0.8, level: float = 0.05
) -> float:
    """Return the smallest difference that this test set shows with this power, by a two-sided test at this level.

    With two systems their paired differences are used. With one, a second system of the same spread whose errors are
    unrelated is assumed: an upper bound, because the outputs of similar systems are right and wrong together.
    """
    if b is None:
        error = np.sqrt(2) * bootstrap_scores([a], samples=SAMPLES, seed=SEED)[0].std(ddof=1)
    else:
        error = np.subtract(*bootstrap_scores(comparable([a, b]), samples=SAMPLES, seed=SEED)).std(ddof=1)
    normal = NormalDist()
    return float((normal.inv_cdf(1 - level / 2) + normal.inv_cdf(power)) * error)


class SeedTest(NamedTuple):
    """Difference of two settings, mean of the first minus mean of the second, over seeds and sentences."""

    difference: float
    interval: Interval
    p_value: float
    standard_error: float
    degrees_of_freedom: float
    seeds: tuple[int, int]
    """Number of runs of each setting."""
    covers_seeds: bool
    """False if a setting has a single run: then the test is about these runs, on other sentences."""
    note: str = ""
    """Limits of the test, in a sentence."""


class _Spread(NamedTuple):
    variance: float
    degrees: float


def seed_test(
    a: Sequence[MetricStatistics], b: Sequence[MetricStatistics], *, samples: int = SAMPLES, seed: int = SEED
) -> SeedTest:
    """Compare two settings, each a list of runs with different seeds, on the same sentences."""
    if not a or not b:
        raise InputError("seed_test: a setting has no run. Give at least one run of each setting.")
    runs = comparable([*a, *b])
    values = np.array([run.value() for run in runs])
    groups = [slice(0, len(a)), slice(len(a), len(runs))]
    signs = np.repeat([1.0, -1.0], [len(a), len(b)]) / np.repeat([len(a), len(b)], [len(a), len(b)])
    covers_seeds = min(len(a), len(b)) > 1
    spread = _spread(
        values,
        bootstrap_scores(runs, samples=samples, seed=seed),
        signs,
        groups if covers_seeds else [],
        len(runs[0].rows),
    )
    difference, error = float(signs @ values), float(np.sqrt(spread.variance))
    note = "" if covers_seeds else "One of the settings has a single run: tested over sentences only, not over seeds."
    return SeedTest(
        difference,
        _t_interval(difference, spread),
        two_sided_p(difference / error, spread.degrees) if error else float(difference == 0),
        error,
        spread.degrees,
        (len(a), len(b)),
        covers_seeds,
        note,
    )


def seed_interval(runs: Sequence[MetricStatistics], *, samples: int = SAMPLES, seed: int = SEED) -> Interval:
    """Return the 95 % interval of a setting's mean score over seeds and sentences; of one run, over sentences only."""
    if not runs:
        raise InputError("seed_interval: no runs. Give at least one run.")
    if len(runs) == 1:
        return bootstrap_interval(runs[0], samples=samples, seed=seed)
    runs = comparable(runs)
    values = np.array([run.value() for run in runs])
    scores = bootstrap_scores(runs, samples=samples, seed=seed)
    weights = np.full(len(runs), 1 / len(runs))
    return _t_interval(float(values.mean()), _spread(values, scores, weights, [slice(0, len(runs))], len(runs[0].rows)))


def _spread(
    values: FloatArray, scores: FloatArray, weights: FloatArray, groups: Sequence[slice], sentences: int
) -> _Spread:
    """Return the variance of a weighted sum of runs (values, resampled scores) and its degrees of freedom.

    `groups` are the runs of each setting; none if seeds are not a level.
    """
    if sentences < 2:
        return _Spread(np.nan, np.nan)
    common = float((weights @ scores).var(ddof=1))
    parts = []
    for group in groups:
        count = group.stop - group.start
        deviations = scores[group] - scores[group].mean(axis=0)
        interaction = float(deviations.var(axis=1, ddof=1).sum()) / (count - 1)
        common -= interaction / count
        # Runs cannot vary less than by the sentences that each has right by chance.
        between = max(float(values[group].var(ddof=1)), interaction)
        parts.append(_Spread(between / count, count - 1))
    parts.append(_Spread(max(common, 0.0), sentences - 1))
    variance = sum(part.variance for part in parts)
    if variance == 0:
        return _Spread(0.0, float(sentences - 1))
    return _Spread(variance, variance**2 / sum(part.variance**2 / part.degrees for part in parts))


def _t_interval(center: float, spread: _Spread) -> Interval:
    if np.isnan(spread.variance):
        return Interval(np.nan, np.nan)
    margin = critical_value(1 - LEVEL, spread.degrees) * float(np.sqrt(spread.variance))
    return Interval(center - margin, center + margin)
