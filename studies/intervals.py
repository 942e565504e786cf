"""95 % confidence intervals over seeds, and the verdicts that follow from them."""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from studies.study import Verdict

LEVEL = 0.95
Scale = Literal["linear", "percent", "log"]
"""Percent: intervals end at 0 and 100. Log: geometric mean, and the interval of the logarithms."""


class Interval(NamedTuple):
    """Mean over seeds and its confidence interval (Student's t)."""

    mean: float
    low: float
    high: float

    def show(self, digits: int = 2) -> str:
        """Return `mean [low, high]` with this many decimals."""
        rounded = (round(value, digits) + 0.0 for value in self)  # + 0.0: never "−0.0"
        mean, low, high = (f"{value:,.{digits}f}".replace("-", "−") for value in rounded)
        return f"{mean} [{low}, {high}]"


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the mean of at least two seeds; for differences of pairs, give the differences."""
    mean, variance = _mean_and_variance(values)
    margin = t_quantile(len(values) - 1) * math.sqrt(variance / len(values))
    return Interval(mean, mean - margin, mean + margin)


def scaled_interval(values: Sequence[float], scale: Scale) -> Interval:
    """Return mean and interval without values that cannot be, such as a share above 100 %."""
    if scale == "log":
        return Interval(*map(math.exp, mean_interval([math.log(value) for value in values])))
    interval = mean_interval(values)
    if scale == "percent":
        return Interval(interval.mean, max(0.0, interval.low), min(100.0, interval.high))
    return interval


def difference_interval(values: Sequence[float], baseline: Sequence[float]) -> Interval:
    """Return the difference of two means, for groups with unequal variances (Welch 1947)."""
    (mean, variance), (base_mean, base_variance) = _mean_and_variance(values), _mean_and_variance(baseline)
    parts = [variance / len(values), base_variance / len(baseline)]
    difference = mean - base_mean
    if sum(parts) == 0:
        return Interval(difference, difference, difference)
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(group) - 1) for part, group in zip(parts, (values, baseline), strict=True)
    )
    margin = t_quantile(freedom) * math.sqrt(sum(parts))
    return Interval(difference, difference - margin, difference + margin)


def _mean_and_variance(values: Sequence[float]) -> tuple[float, float]:
    if len(values) < 2:
        raise ValueError(f"{len(values)} seeds: an interval needs at least two.")
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


@lru_cache
def t_quantile(freedom: float, level: float = LEVEL) -> float:
    """Return the t for which a share `level` of Student's distribution lies between −t and t."""
    # substitute t = √freedom · tan(angle): the density becomes cos(angle)^(freedom − 1) on a bounded interval
    constant = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)

    def central_share(angle: float, steps: int = 400) -> float:  # Simpson's rule
        width = angle / steps
        weights = [1, *(4 if i % 2 else 2 for i in range(1, steps)), 1]
        heights = (math.cos(i * width) ** (freedom - 1) for i in range(steps + 1))
        return 2 * constant * width / 3 * math.fsum(w * h for w, h in zip(weights, heights, strict=True))

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if central_share(middle) < level else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def verdict_above(interval: Interval, threshold: float = 0.0) -> Verdict:
    """Return the verdict on "larger than the threshold": undecided if the interval includes it."""
    if interval.low > threshold:
        return "holds"
    return "fails" if interval.high < threshold else "undecided"


def verdict_below(interval: Interval, threshold: float = 0.0) -> Verdict:
    """Return the verdict on "smaller than the threshold": undecided if the interval includes it."""
    return verdict_above(Interval(-interval.mean, -interval.high, -interval.low), -threshold)


def verdict_within(interval: Interval, low: float, high: float) -> Verdict:
    """Return the verdict on "between low and high": undecided if the interval reaches over one of them."""
    if low <= interval.low and interval.high <= high:
        return "holds"
    return "fails" if interval.high < low or interval.low > high else "undecided"


def combine_verdicts(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on a claim of several parts: `holds` needs all of them, `partly` at least one."""
    distinct = set(verdicts)
    if len(distinct) == 1:
        return distinct.pop()
    return "partly" if distinct & {"holds", "partly"} else "undecided"
