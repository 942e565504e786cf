"""Memory of this process: peak use, memory still available, and a scratch copy of a model for measurements."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from tongsa import system
from tongsa.interface import EncoderDecoder

BYTES_PER_MIB = 1 << 20


def reset_peak_memory() -> None:
    """Reset the peak. Where the system cannot, the peak is that since the start of the process."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    system.reset_peak_memory()


def peak_memory(device: torch.device) -> float | None:
    """Return the peak memory in bytes since the last reset: of the process, or of the GPU's allocator.

    None if the system cannot measure it.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return system.peak_memory()


def available_memory(device: torch.device) -> float | None:
    """Return the bytes that this process can still allocate; None if the system cannot tell."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return system.available_memory()


@contextmanager
def scratch_copy(model: EncoderDecoder) -> Iterator[EncoderDecoder]:
    """Yield a copy of the model in eval mode, with a fixed seed; afterwards the random generators are restored."""
    device = next(model.parameters()).device
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(0)
        yield copy.deepcopy(model).eval()
