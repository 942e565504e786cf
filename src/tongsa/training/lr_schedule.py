"""The rate of learning: a pure function of the step, never of the clock."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tongsa.config import Fraction, Positive, PositiveFloat, check_ranges

LRSchedule = Callable[[int], float]


@dataclass(frozen=True, kw_only=True)
class LRScheduleConfig:
    schedule: Literal["paper", "inverse-sqrt", "linear", "cosine", "constant"] = "paper"
    """`paper`: width^-0.5 · min(step^-0.5, step · warmup^-1.5) (equation 3). The others climb to `peak` during the
    warm-up and then fall as 1/√step, in a line to zero, in half a cosine to zero, or not at all."""
    peak: PositiveFloat = 1e-3
    """The highest rate; `paper` computes its own and takes `scale` instead."""
    scale: PositiveFloat = 1.0
    warmup: Positive = 4000
    hold: Fraction = 0.0
    """For `linear` and `cosine`: the share of the steps after the warm-up that keep the peak before the fall begins."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def build(self, width: int, steps: int) -> LRSchedule:
        """The rate of each step, the first being step 1."""

        def fall(step: int) -> float:  # 1 at the end of the hold, 0 after the last step
            start = self.warmup + self.hold * (steps - self.warmup)
            return max(0.0, min(1.0, (steps + 1 - step) / max(1.0, steps + 1 - start)))

        shapes: dict[str, LRSchedule] = {
            "paper": lambda step: self.scale * width**-0.5 * min(step**-0.5, step * self.warmup**-1.5),
            "inverse-sqrt": lambda step: self.peak * min(step / self.warmup, (self.warmup / step) ** 0.5),
            "linear": lambda step: self.peak * min(step / self.warmup, fall(step)),
            "cosine": lambda step: self.peak * min(step / self.warmup, (1 - math.cos(math.pi * fall(step))) / 2),
            "constant": lambda step: self.peak * min(step / self.warmup, 1.0),
        }
        return shapes[self.schedule]
