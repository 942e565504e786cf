"""Thresholds of the filters: from the settings, defaults by language, or percentiles of the corpus."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tongsa.data.cleaning.filters import FILTERS, NEAR_SIMILARITY, Column, Limits
from tongsa.data.cleaning.plan import CleaningPlan

LEARN = "learn"
Values = NDArray[np.float32]


def column_limits(plan: CleaningPlan, values: Values) -> list[Limits]:
    """Return the limits of each column. Percentiles need one column in memory at a time: four bytes for each pair."""
    return [_limits(plan, column, values[:, index]) for index, column in enumerate(plan.columns)]


def _limits(plan: CleaningPlan, column: Column, values: Values) -> Limits:
    setting = plan.filters.setting(column.filter_name)
    if setting == LEARN:
        return learnt_limits(values, plan.filters.percentiles)
    return FILTERS[column.filter_name].limits(setting, plan.languages, column.side or 0)


def learnt_limits(values: Values, percentiles: Sequence[float]) -> Limits:
    """Return the values between which most of the corpus lies, each a value of the corpus."""
    if not len(values):
        return Limits()
    low = np.percentile(values, percentiles[0], method="lower")
    high = np.percentile(values, percentiles[1], method="higher")
    return Limits(float(low), float(high))


def score_limits(plan: CleaningPlan, scores: Values) -> Limits:
    """Return the smallest score of a pair by a model; a score has no upper limit."""
    setting = plan.filters.setting("model_score")
    if setting in (True, LEARN):
        return Limits(learnt_limits(scores, plan.filters.percentiles).low, None)
    return Limits(float(setting), None)


def near_similarity(plan: CleaningPlan) -> float:
    setting = plan.filters.setting("near_duplicates")
    return NEAR_SIMILARITY if setting is True else float(setting)


def outside(values: Values, limits: Limits) -> NDArray[np.bool_]:
    """Return which values a filter drops."""
    mask = np.zeros(len(values), bool)
    if limits.low is not None:
        mask |= values < np.float32(limits.low)
    if limits.high is not None:
        mask |= values > np.float32(limits.high)
    return mask
