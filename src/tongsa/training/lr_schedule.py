"""Learning-rate schedules: the learning rate as a pure function of the step."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tongsa.config import Fraction, Positive, PositiveFloat, check_ranges

LRSchedule = Callable[[int], float]


@dataclass(frozen=True, kw_only=True)
class LRScheduleConfig:
    """Settings of the learning-rate schedule: the table [training.lr]."""

    schedule: Literal["paper", "inverse-sqrt", "linear", "cosine", "constant"] = "paper"
    """`paper`: width^-0.5 · min(step^-0.5, step · warmup^-1.5) (Vaswani et al. 2017, equation 3). The others rise
    linearly to `peak` during the warm-up. Then they decay as 1/√step, linearly to 0, as half a cosine to 0, or stay."""
    peak: PositiveFloat = 1e-3
    """Peak learning rate. `paper` ignores it: use `scale` there."""
    scale: PositiveFloat = 1.0
    """Factor on the learning rate of `paper`."""
    warmup: Positive = 4000
    """Warm-up steps."""
    hold: Fraction = 0.0
    """For `linear` and `cosine`: fraction of the steps after the warm-up that stay at the peak before the decay."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, width: int, steps: int) -> LRSchedule:
        """Return the schedule of a run: a function of the step, counted from 1."""

        def remaining(step: int) -> float:  # 1 until the hold ends, then linearly to 0 just after the last step
            decay_start = self.warmup + self.hold * (steps - self.warmup)
            return max(0.0, min(1.0, (steps + 1 - step) / max(1.0, steps + 1 - decay_start)))

        schedules: dict[str, LRSchedule] = {
            "paper": lambda step: self.scale * width**-0.5 * min(step**-0.5, step * self.warmup**-1.5),
            "inverse-sqrt": lambda step: self.peak * min(step / self.warmup, (self.warmup / step) ** 0.5),
            "linear": lambda step: self.peak * min(step / self.warmup, remaining(step)),
            "cosine": lambda step: self.peak * min(step / self.warmup, (1 - math.cos(math.pi * remaining(step))) / 2),
            "constant": lambda step: self.peak * min(step / self.warmup, 1.0),
        }
        return schedules[self.schedule]
