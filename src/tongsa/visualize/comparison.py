"""Comparison page: training curves of all runs by steps, tokens and minutes, and the page around the scores.

The scores themselves come from `runs.comparison`, which joins the models with `evaluation`.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from statistics import fmean
from typing import Any, TypedDict

from tongsa.visualize.page import Page

MAX_CURVE_POINTS = 200
"""Points of a curve; longer ones are thinned to means of neighboring points."""
CURVES = ("loss", "dev_loss", "bleu", "chrf", "ter", "exact_match", "wer", "per", "accuracy", "macro_f1", "perplexity")
"""Keys of the journal that are drawn, in this order; those after the loss are scores of validations."""
MAX_PANELS = 4

Records = Sequence[Mapping[str, Any]]
"""Records of a journal."""
Point = tuple[float, float, float, float]
"""Step, target tokens, seconds of training, value."""


class TrainingSummary(TypedDict):
    """Length of a training, as recorded in its journal."""

    steps: int | None
    tokens: int | None
    seconds: float | None
    memory_bytes: int | None


def comparison_page(data: Mapping[str, Any], journals: Sequence[Records]) -> Page:
    """Return the page of a comparison; `journals` are those of the systems, in their order."""
    names = " · ".join(setting["name"] for setting in data["settings"])
    return Page(names, {"compare": {**data, "curves": curve_panels(journals)}})


def training_summary(records: Records) -> TrainingSummary:
    """Return steps, target tokens and seconds of the updates, and the peak memory; None for what is not recorded."""
    updates = [record for record in records if "loss" in record]
    memory = [record["peak_memory"] for record in records if record.get("peak_memory")]
    return {
        "steps": updates[-1].get("step") if updates else None,
        "tokens": sum(update.get("tokens", 0) for update in updates) if updates else None,
        "seconds": round(sum(update.get("seconds", 0) for update in updates), 1) if updates else None,
        "memory_bytes": max(memory, default=None),
    }


def curve_panels(journals: Sequence[Records]) -> list[dict[str, Any]]:
    """Return the curves that the journals have: a panel for each key, a line for each system."""
    panels = []
    for key in CURVES:
        lines = [
            {"system": system, "points": points}
            for system, records in enumerate(journals)
            if (points := curve_points(records, key))
        ]
        if lines:
            panels.append({"name": key, "lines": lines})
    return panels[:MAX_PANELS]


def curve_points(records: Records, key: str) -> list[Point]:
    """Return the finite values of a key with the tokens and seconds that the training had used before them."""
    updates = [record for record in records if "loss" in record]
    tokens = list(accumulate(update.get("tokens", 0) for update in updates))
    seconds = list(accumulate(update.get("seconds", 0.0) for update in updates))
    totals = {update["step"]: used for update, *used in zip(updates, tokens, seconds, strict=True)}
    source = updates if key == "loss" else [record for record in records if "validation" in record]
    points: list[Point] = []
    for record in source:
        value = record.get(key) if key == "loss" else record["validation"].get(key)
        if isinstance(value, int | float) and math.isfinite(value):
            used_tokens, used_seconds = totals.get(record["step"], (0, 0.0))
            points.append((record["step"], used_tokens, used_seconds, value))
    return thin(points)


def thin(points: Sequence[Point]) -> list[Point]:
    """Return means of neighboring points, at most MAX_CURVE_POINTS."""
    size = math.ceil(len(points) / MAX_CURVE_POINTS) or 1
    groups = [points[i : i + size] for i in range(0, len(points), size)]
    means = (tuple(fmean(values) for values in zip(*group, strict=True)) for group in groups)
    return [(round(s, 1), round(t), round(used, 2), float(f"{value:.5g}")) for s, t, used, value in means]
