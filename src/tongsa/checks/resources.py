"""Resource checks: peak memory at the largest batch and training time, measured by real updates of a scratch copy."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, repeat
from typing import NamedTuple

from tongsa.batch import Batch
from tongsa.checks.finding import Finding, Level
from tongsa.interface import EncoderDecoder
from tongsa.training.config import TrainingConfig
from tongsa.training.loop import DataPosition, UpdateResult, train
from tongsa.training.loss import TrainingModel
from tongsa.training.memory import BYTES_PER_MIB, available_memory, peak_memory, reset_peak_memory, scratch_copy
from tongsa.training.optimizer import build_optimizers

MEMORY_WARNING_FRACTION = 0.8
"""Fraction of the available memory above which the check warns."""
TRIAL_BATCH_DIVISOR = 4
"""The largest batch is divided by this for the first trial. The whole batch is tried only if it will fit."""
MAX_TRIAL_UPDATE_SECONDS = 10.0
"""The whole batch is not tried if an update would take longer than this."""
TIMED_UPDATES = 3
"""Updates on typical batches; the last one gives the time per update."""
LONG_RUN_SECONDS = 86400.0
VALUES_PER_PARAMETER = 4
"""Weight, gradient and two optimizer moments."""


class ResourceEstimate(NamedTuple):
    """Memory and time of an update, measured or extrapolated."""

    peak_bytes: float
    """Peak memory of the process; NaN if the system cannot measure it."""
    update_seconds: float
    extrapolated: bool
    """True if computed from a part of the largest batch, because the whole was too large to try."""
    available_bytes: float
    """Memory that the process used before the trial plus what it could still allocate; NaN if unknown."""


def estimate_resources(
    model: EncoderDecoder, largest_batch: Batch, typical_batches: Iterable[Batch], config: TrainingConfig
) -> ResourceEstimate:
    """Measure memory and time of updates: first on a part of the largest batch, then, if it fits, on all of it."""
    device = next(model.parameters()).device
    weight_bytes = sum(value.numel() * value.element_size() for value in model.parameters())
    reset_peak_memory()
    base_bytes, rows = _or_nan(peak_memory(device)), len(largest_batch.source.lengths)
    available_bytes = base_bytes + _or_nan(available_memory(device))
    trial_rows = max(1, rows // TRIAL_BATCH_DIVISOR)
    part = Batch(*(side.select(slice(trial_rows)) for side in largest_batch))
    (result,) = _trial_updates(model, [part], replace(config, steps=1, grad_accumulation=1))
    factor = rows / trial_rows
    activation_bytes = max(0.0, _or_nan(peak_memory(device)) - base_bytes - VALUES_PER_PARAMETER * weight_bytes)
    # without the weights: they are in base_bytes already
    expected_bytes = base_bytes + (VALUES_PER_PARAMETER - 1) * weight_bytes + factor * activation_bytes
    seconds = result.seconds * factor * config.grad_accumulation
    if seconds > MAX_TRIAL_UPDATE_SECONDS or expected_bytes > MEMORY_WARNING_FRACTION * available_bytes:
        return ResourceEstimate(expected_bytes, seconds, True, available_bytes)
    batches = chain(repeat(largest_batch, config.grad_accumulation), typical_batches)
    last = list(_trial_updates(model, batches, replace(config, steps=1 + TIMED_UPDATES)))[-1]
    # the training itself makes no scratch copy
    return ResourceEstimate(_or_nan(peak_memory(device)) - weight_bytes, last.seconds, False, available_bytes)


def _or_nan(value: float | None) -> float:
    """Return NaN for a figure that the system does not tell: no comparison with it is true."""
    return math.nan if value is None else value


def _trial_updates(model: EncoderDecoder, batches: Iterable[Batch], config: TrainingConfig) -> Iterator[UpdateResult]:
    with scratch_copy(model) as copied:
        schedule = config.lr.build(1, config.steps)
        yield from train(
            TrainingModel(copied, config),
            zip(repeat(DataPosition()), batches, strict=False),
            build_optimizers(copied, config),
            schedule,
            config,
        )


def check_memory(estimate: ResourceEstimate) -> Finding:
    peak, available = estimate.peak_bytes / BYTES_PER_MIB, estimate.available_bytes / BYTES_PER_MIB
    if math.isnan(peak + available):
        return Finding(
            name="memory", level="ok", seen="not checked: the memory of a process cannot be measured on this system"
        )
    level: Level = "fault" if peak > available else "warning" if peak > MEMORY_WARNING_FRACTION * available else "ok"
    method = "extrapolated from a part of it" if estimate.extrapolated else "measured"
    return Finding(
        name="memory",
        level=level,
        seen=f"about {peak:,.0f} MiB at the largest batch ({method}); about {available:,.0f} MiB are available",
        means="at the first large batch the system will kill the run or swap",
        remedy="halve training.batch_tokens and double training.grad_accumulation (the updates stay the same), "
        "or lower data.max_tokens",
        numbers={"peak_mib": peak, "available_mib": available},
    )


def check_training_time(estimate: ResourceEstimate, config: TrainingConfig) -> Finding:
    total = estimate.update_seconds * config.steps
    return Finding(
        name="time",
        level="remark" if total > LONG_RUN_SECONDS else "ok",
        seen=f"{config.steps:,} updates of about {estimate.update_seconds:.2g} s: {_format_duration(total)}, "
        "without validations",
        means="more than a day on this machine",
        remedy="set a time limit with --budget, or lower training.steps or the model's sizes",
        numbers={"update_seconds": estimate.update_seconds, "seconds": total},
    )


def _format_duration(seconds: float) -> str:
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * size:
            return f"about {seconds / size:.1f} {unit}"
    return f"about {seconds:.0f} seconds"
