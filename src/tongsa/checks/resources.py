"""What a run will need: memory at its largest batch, and time. Measured by real updates of a copy of the model."""

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
"""Share of the memory at hand from which on it gets close."""
TRIAL_BATCH_DIVISOR = 4
"""The largest batch is tried only after a part of it, this small, has shown that it will fit."""
MAX_TRIAL_UPDATE_SECONDS = 10.0
"""Seconds of an update from which on the part must do for the whole."""
TIMED_UPDATES = 3
"""Updates on ordinary batches, from which the time of all is reckoned."""
LONG_RUN_SECONDS = 86400.0
VALUES_PER_PARAMETER = 4
"""Weights, gradients and two moments of each: numbers kept for each parameter."""


class ResourceEstimate(NamedTuple):
    peak_bytes: float
    """Bytes of the whole process."""
    update_seconds: float
    """Of an update."""
    extrapolated: bool
    """From a part of the largest batch, because the whole would have been too much to try."""
    available_bytes: float
    """Bytes that the process had before, and could still get."""


def estimate_resources(
    model: EncoderDecoder, largest_batch: Batch, typical_batches: Iterable[Batch], config: TrainingConfig
) -> ResourceEstimate:
    device = next(model.parameters()).device
    weights = sum(value.numel() * value.element_size() for value in model.parameters())
    reset_peak_memory()
    before, count = peak_memory(device), max(1, len(largest_batch.source.lengths) // TRIAL_BATCH_DIVISOR)
    room = before + available_memory(device)
    part = Batch(*(side.select(slice(count)) for side in largest_batch))
    (step,) = _trial_updates(model, [part], replace(config, steps=1, grad_accumulation=1))
    share = len(largest_batch.source.lengths) / count
    activations = max(0.0, peak_memory(device) - before - VALUES_PER_PARAMETER * weights)
    reckoned = before + (VALUES_PER_PARAMETER - 1) * weights + share * activations
    seconds = step.seconds * share * config.grad_accumulation
    if seconds > MAX_TRIAL_UPDATE_SECONDS or reckoned > MEMORY_WARNING_FRACTION * room:
        return ResourceEstimate(reckoned, seconds, True, room)
    batches = chain(repeat(largest_batch, config.grad_accumulation), typical_batches)
    last = list(_trial_updates(model, batches, replace(config, steps=1 + TIMED_UPDATES)))[-1]
    return ResourceEstimate(peak_memory(device) - weights, last.seconds, False, room)  # the run itself makes no copy


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
    level: Level = (
        "fault"
        if estimate.peak_bytes > estimate.available_bytes
        else "warning"
        if estimate.peak_bytes > MEMORY_WARNING_FRACTION * estimate.available_bytes
        else "ok"
    )
    how = "reckoned from a part of it" if estimate.extrapolated else "measured"
    return Finding(
        name="memory",
        level=level,
        seen=f"about {estimate.peak_bytes / BYTES_PER_MIB:,.0f} MiB at the largest batch ({how}); "
        f"there are about {estimate.available_bytes / BYTES_PER_MIB:,.0f} MiB",
        means="the system will stop the run, or swap, at the first large batch",
        remedy="halve training.batch_tokens and double training.grad_accumulation, which leaves the updates as they are; "
        "or lower data.max_tokens",
        numbers={"peak_mib": estimate.peak_bytes / BYTES_PER_MIB, "room_mib": estimate.available_bytes / BYTES_PER_MIB},
    )


def check_training_time(estimate: ResourceEstimate, config: TrainingConfig) -> Finding:
    total = estimate.update_seconds * config.steps
    return Finding(
        name="time",
        level="remark" if total > LONG_RUN_SECONDS else "ok",
        seen=f"{config.steps:,} updates of about {estimate.update_seconds:.2g} s: {_format_duration(total)}, and the validations",
        means="more than a day on this machine",
        remedy="plan for the time there is with --budget, lower training.steps or the sizes of the model",
        numbers={"update_seconds": estimate.update_seconds, "seconds": total},
    )


def _format_duration(seconds: float) -> str:
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * size:
            return f"about {seconds / size:.1f} {unit}"
    return f"about {seconds:.0f} seconds"
