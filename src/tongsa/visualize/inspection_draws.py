"""Dropout off, one draw, and mean and spread of several draws, of any statistic."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mode = Literal["off", "draw", "mean", "spread"]
MODES: tuple[Mode, ...] = ("off", "draw", "mean", "spread")


class Draws(NamedTuple):
    """A statistic without dropout, and in a number of draws of dropout."""

    off: Array
    draw: Array
    """The first draw."""
    mean: Array
    spread: Array
    """Standard deviation of the draws."""


def summarize_draws(values: Sequence[Array]) -> Draws:
    """Return the four numbers of a statistic: the first value is without dropout, the others are draws."""
    off, *draws = (np.asarray(value, dtype=np.float64) for value in values)
    # relative to the first draw: if all draws are equal, mean and spread are exact
    differences = np.stack(draws) - draws[0]
    return Draws(off, draws[0], draws[0] + differences.mean(axis=0), differences.std(axis=0))
