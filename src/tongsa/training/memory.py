"""Memory of this process: its peak, and how much more it may get."""

import copy
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch

from tongsa.interface import EncoderDecoder

BYTES_PER_MIB = 1 << 20


def reset_peak_memory() -> None:
    """Count the peak from now on, where the system can do that; elsewhere it is the peak since the process began."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", "ascii")


def peak_memory(device: torch.device) -> float:
    """The most bytes this process has had since they were last forgotten."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    with suppress(OSError, StopIteration):  # Linux: the other figure begins with what the parent had
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def available_memory(device: torch.device) -> float:
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


@contextmanager
def scratch_copy(model: EncoderDecoder) -> Iterator[EncoderDecoder]:
    """A copy to be mistreated; the generators of random numbers go on afterwards as if nothing had been drawn."""
    device = next(model.parameters()).device
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(0)
        yield copy.deepcopy(model).eval()
