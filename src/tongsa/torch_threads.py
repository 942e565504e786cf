"""Batches side by side, one thread each: two threads that share one product wait for each other after each."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


def parallel_map(function: Callable[[T], R], items: Sequence[T], num_threads: int = 0) -> Iterator[R]:
    """What becomes of each item, in order; so many at a time, or as many as torch has threads."""
    num_threads = min(num_threads or torch.get_num_threads(), len(items))
    return _threaded_map(function, items, num_threads) if num_threads > 1 else map(function, items)


def _threaded_map(function: Callable[[T], R], items: Sequence[T], num_threads: int) -> Iterator[R]:
    with _single_threaded_torch(), ThreadPoolExecutor(num_threads) as pool:
        yield from pool.map(function, items)


@contextmanager
def _single_threaded_torch() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
