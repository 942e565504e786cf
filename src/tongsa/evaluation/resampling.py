"""Resampling of a test set's sentences: bootstrap samples, shuffled pairs and the jackknife, from sums of statistics.

Samples and shuffles are drawn as sacreBLEU draws them, so with the same seed they are the same.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from tongsa.evaluation.metric_statistics import FloatArray, MetricStatistics

MAX_WEIGHTS = 4_000_000
"""Weights computed at once: 32 MB."""
SHUFFLE_BLOCK = 32
"""Trials are drawn in multiples of this, so that the random bits do not depend on MAX_WEIGHTS."""


def bootstrap_scores(statistics: Sequence[MetricStatistics], samples: int, seed: int) -> FloatArray:  # (system, sample)
    """Return the scores of all systems on the same samples: n of n sentences, drawn with replacement."""
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


def shuffled_differences(a: MetricStatistics, b: MetricStatistics, trials: int, seed: int) -> FloatArray:  # (trial,)
    """Return the difference of the scores after the outputs of random sentences were swapped."""
    random = np.random.default_rng(seed)
    block = max(1, MAX_WEIGHTS // len(a.rows) // SHUFFLE_BLOCK) * SHUFFLE_BLOCK
    sum_a, sum_b, exchange = a.rows.sum(axis=0), b.rows.sum(axis=0), a.rows - b.rows
    differences = []
    for start in range(0, trials, block):
        kept = random.integers(2, size=(min(block, trials - start), len(a.rows)), dtype=bool)
        first = sum_b + kept.astype(np.float64) @ exchange
        differences.append(a.score(first) - b.score(sum_a + sum_b - first))
    return np.concatenate(differences)


def jackknife_values(statistics: MetricStatistics) -> FloatArray:  # (sentence,)
    """Return each sentence's pseudo-value (Tukey 1958): n times the score minus n − 1 times the score without it.

    Their variance, divided by n, estimates the variance of the score over test sets. The pseudo-values of a mean are
    the values themselves.
    """
    count, total = len(statistics.rows), statistics.rows.sum(axis=0)
    return count * statistics.score(total) - (count - 1) * statistics.score(total - statistics.rows)
