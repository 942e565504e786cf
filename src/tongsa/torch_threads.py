"""Parallel computation on a CPU: batches in separate threads, each with one torch thread.

Two torch threads that share one matrix product wait for each other after each product; separate batches do not.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


def parallel_map(function: Callable[[T], R], items: Sequence[T], num_threads: int = 0) -> Iterator[R]:
    """Yield function(item) in the order of the items, computed in `num_threads` threads; 0 takes torch's number."""
    num_threads = min(num_threads or torch.get_num_threads(), len(items))
    return _threaded_map(function, items, num_threads) if num_threads > 1 else map(function, items)


def _threaded_map(function: Callable[[T], R], items: Sequence[T], num_threads: int) -> Iterator[R]:
    with _single_threaded_torch(), ThreadPoolExecutor(num_threads) as pool:
        yield from pool.map(function, items)


@contextmanager
def _single_threaded_torch() -> Iterator[None]:
    previous = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(previous)
