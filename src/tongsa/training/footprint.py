"""What a run will need: memory at its largest batch, and time. Measured by real updates of a copy of the model."""

import os
import resource
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import NamedTuple

import torch

from tongsa.batch import Batch
from tongsa.interface import EncoderDecoder
from tongsa.text.finding import Finding, Level
from tongsa.training.loop import Position, Step, TrainingConfig, train
from tongsa.training.optimiser import build
from tongsa.training.preflight import probe

MEBI = 1 << 20
TIGHT = 0.8
"""Share of the memory at hand from which on it gets close."""
PART = 4
"""The largest batch is tried only after a part of it, this small, has shown that it will fit."""
SLOW = 10.0
"""Seconds of an update from which on the part must do for the whole."""
ORDINARY = 3
"""Updates on ordinary batches, from which the time of all is reckoned."""
LONG = 86400.0
STATIC = 4
"""Weights, gradients and two moments of each: numbers kept for each parameter."""


class Need(NamedTuple):
    peak: float
    """Bytes of the whole process."""
    seconds: float
    """Of an update."""
    reckoned: bool
    """From a part of the largest batch, because the whole would have been too much to try."""
    room: float
    """Bytes that the process had before, and could still get."""


def need(model: EncoderDecoder, largest: Batch, ordinary: Iterable[Batch], config: TrainingConfig) -> Need:
    device = next(model.parameters()).device
    weights = sum(value.numel() * value.element_size() for value in model.parameters())
    forget()
    before, count = peak(device), max(1, len(largest.source.lengths) // PART)
    room = before + available(device)
    part = Batch(*(side.rows(slice(count)) for side in largest))
    (step,) = _updates(model, [part], replace(config, steps=1, accumulate=1))
    share = len(largest.source.lengths) / count
    activations = max(0.0, peak(device) - before - STATIC * weights)
    reckoned = before + (STATIC - 1) * weights + share * activations
    seconds = step.seconds * share * config.accumulate
    if seconds > SLOW or reckoned > TIGHT * room:
        return Need(reckoned, seconds, True, room)
    batches = chain(repeat(largest, config.accumulate), ordinary)
    last = list(_updates(model, batches, replace(config, steps=1 + ORDINARY)))[-1]
    return Need(peak(device) - weights, last.seconds, False, room)  # the run itself makes no copy


def _updates(model: EncoderDecoder, batches: Iterable[Batch], config: TrainingConfig) -> Iterator[Step]:
    with probe(model) as copied:
        schedule = config.rate.build(1, config.steps)
        yield from train(
            copied, zip(repeat(Position()), batches, strict=False), build(copied, config), schedule, config
        )


def forget() -> None:
    """Count the peak from now on, where the system can do that; elsewhere it is the peak since the process began."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", "ascii")


def peak(device: torch.device) -> float:
    """The most bytes this process has had since they were last forgotten."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    with suppress(OSError, StopIteration):  # Linux: the other figure begins with what the parent had
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def available(device: torch.device) -> float:
    """Bytes that this process may still get."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError, StopIteration):  # Linux knows better
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    with suppress(OSError, ValueError):  # a container may have less than its machine
        limit, used = (Path("/sys/fs/cgroup", name).read_text("ascii") for name in ("memory.max", "memory.current"))
        free = min(free, int(limit) - int(used))
    return free


def memory(found: Need) -> Finding:
    level: Level = "fault" if found.peak > found.room else "warning" if found.peak > TIGHT * found.room else "ok"
    how = "reckoned from a part of it" if found.reckoned else "measured"
    return Finding(
        name="memory",
        level=level,
        seen=f"about {found.peak / MEBI:,.0f} MiB at the largest batch ({how}); "
        f"there are about {found.room / MEBI:,.0f} MiB",
        means="the system will stop the run, or swap, at the first large batch",
        remedy="halve training.batch_tokens and double training.accumulate, which leaves the updates as they are; "
        "or lower data.longest",
        figures={"peak_mib": found.peak / MEBI, "room_mib": found.room / MEBI},
    )


def duration(found: Need, config: TrainingConfig) -> Finding:
    total = found.seconds * config.steps
    return Finding(
        name="time",
        level="remark" if total > LONG else "ok",
        seen=f"{config.steps:,} updates of about {found.seconds:.2g} s: {_spoken(total)}, and the validations",
        means="more than a day on this machine",
        remedy="plan for the time there is with --budget, lower training.steps or the sizes of the model",
        figures={"update_seconds": found.seconds, "seconds": total},
    )


def _spoken(seconds: float) -> str:
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * size:
            return f"about {seconds / size:.1f} {unit}"
    return f"about {seconds:.0f} seconds"
