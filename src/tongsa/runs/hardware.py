"""The machine at hand: device, threads, memory, precision. Asked once, at the edge; inside, values are complete."""

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


def resolve_device(name: str) -> torch.device:
    if name == "auto":
        found = torch.accelerator.current_accelerator(check_available=True)
        return found if found is not None else torch.device("cpu")
    try:
        chosen = torch.device(name)
        torch.empty(1, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f'training.device: {name!r} cannot be used here ({reason}); write "auto" or "cpu"') from None
    return chosen


def keep_freed_memory() -> None:
    """Large tensors come and go in every step; glibc would hand each back to the system, which clears its pages."""
    _set_malloc_options({M_MMAP_MAX: 0, M_TRIM_THRESHOLD: 2**31 - 1, M_TOP_PAD: 64 << 20, M_ARENA_MAX: 1})


def return_freed_memory() -> None:
    """Where memory is short: what is kept lies in pieces that the next tensor may not fit into, and counts as used."""
    _set_malloc_options({M_MMAP_THRESHOLD: 1 << 20, M_TRIM_THRESHOLD: 1 << 20})


def _set_malloc_options(options: Mapping[int, int]) -> None:
    """Tell glibc, where there is one."""
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        for name, value in options.items():
            libc.mallopt(name, value)


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """The cores of the workers that wait, for the one that does not."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def configure_hardware(config: TrainingConfig, distributed: DistributedContext = SINGLE_PROCESS) -> TrainingConfig:
    """The same settings with every `auto` replaced by what it means here, and the process made ready."""
    chosen = resolve_device(config.device)
    if chosen.type == "cpu":
        (return_freed_memory if config.memory_limit_mib else keep_freed_memory)()
    threads = config.threads or torch.get_num_threads()
    torch.set_num_threads(max(1, threads // distributed.local_world_size))
    return replace(config, device=str(chosen), threads=threads, precision=precision.resolve_precision(config.precision, chosen))
