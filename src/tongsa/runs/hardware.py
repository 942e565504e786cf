"""Hardware settings: device, CPU threads, memory allocator, precision. Resolved once, before a run starts."""

import ctypes
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import torch

from tongsa.errors import InputError
from tongsa.training import precision
from tongsa.training.config import TrainingConfig
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -2, -3, -4, -8
"""Parameters of glibc's mallopt(3)."""


def resolve_device(name: str, where: str = "training.device") -> torch.device:
    if name == "auto":
        accelerator = torch.accelerator.current_accelerator(check_available=True)
        return accelerator if accelerator is not None else torch.device("cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # the device "meta" has no values
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f'{where}: {name!r} cannot be used ({reason}). Write "auto" or "cpu".') from None
    return device


def keep_freed_memory() -> None:
    """Keep freed memory in the process: returning large tensors to the system in each step costs page faults."""
    _set_malloc_options({M_MMAP_MAX: 0, M_TRIM_THRESHOLD: 2**31 - 1, M_TOP_PAD: 64 << 20, M_ARENA_MAX: 1})


def return_freed_memory() -> None:
    """Return freed memory to the system, for runs with a memory limit: kept memory is fragmented and counts as used."""
    _set_malloc_options({M_MMAP_THRESHOLD: 1 << 20, M_TRIM_THRESHOLD: 1 << 20})


def _set_malloc_options(options: Mapping[int, int]) -> None:
    """Call mallopt for each option; do nothing without glibc."""
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        for name, value in options.items():
            libc.mallopt(name, value)


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Set the number of torch threads temporarily, e.g. to all cores while the other ranks wait."""
    previous = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(previous)


def configure_hardware(config: TrainingConfig, distributed: DistributedContext = SINGLE_PROCESS) -> TrainingConfig:
    """Configure this process (allocator, threads) and return the settings with each "auto" resolved."""
    device = resolve_device(config.device)
    if device.type == "cpu":
        (return_freed_memory if config.memory_limit_mib else keep_freed_memory)()
    threads = config.threads or torch.get_num_threads()
    torch.set_num_threads(max(1, threads // distributed.local_world_size))
    resolved_precision = precision.resolve_precision(config.precision, device)
    return replace(config, device=str(device), threads=threads, precision=resolved_precision)
