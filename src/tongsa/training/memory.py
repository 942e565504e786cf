"""Memory of this process: peak use, memory still available, and a scratch copy of a model for measurements."""

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
    """Reset the peak. Where the system cannot, the peak is that since the start of the process."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", "ascii")


def peak_memory(device: torch.device) -> float:
    """Return the peak memory in bytes since the last reset: of the process, or of the GPU's allocator."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    with suppress(OSError, StopIteration):  # on Linux ru_maxrss is inherited from the parent process, VmHWM is not
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def available_memory(device: torch.device) -> float:
    """Return the bytes that this process can still allocate."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError, StopIteration):  # Linux also counts what other processes use
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    with suppress(OSError, ValueError):  # a container may have a lower limit than its machine
        limit, used = (Path("/sys/fs/cgroup", name).read_text("ascii") for name in ("memory.max", "memory.current"))
        available = min(available, int(limit) - int(used))
    return available


@contextmanager
def scratch_copy(model: EncoderDecoder) -> Iterator[EncoderDecoder]:
    """Yield a copy of the model in eval mode, with a fixed seed; afterwards the random generators are restored."""
    device = next(model.parameters()).device
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(0)
        yield copy.deepcopy(model).eval()
