"""Parallel computation on a CPU: batches in separate threads, each with its share of torch's threads.

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
    num_threads = num_threads or torch.get_num_threads()
    workers = min(num_threads, len(items))
    return _threaded_map(function, items, workers, num_threads // workers) if workers > 1 else map(function, items)


def _threaded_map(function: Callable[[T], R], items: Sequence[T], workers: int, threads: int) -> Iterator[R]:
    with torch_threads(threads), ThreadPoolExecutor(workers) as pool:
        yield from pool.map(function, items)


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Give torch's operations in the calling thread, and in threads that start meanwhile, this number of threads."""
    previous = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(previous)
