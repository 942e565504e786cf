"""Batches side by side, one thread each: two threads that share one product wait for each other after each."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(work: Callable[[T], R], items: Sequence[T], count: int = 0) -> Iterator[R]:
    """What becomes of each item, in order; so many at a time, or as many as torch has threads."""
    count = min(count or torch.get_num_threads(), len(items))
    if count <= 1:
        yield from map(work, items)
        return
    with _one_thread_each(), ThreadPoolExecutor(count) as pool:
        yield from pool.map(work, items)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
