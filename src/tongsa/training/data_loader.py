"""Data loader: an endless iterator over batches that can start at any position and prefetches in a thread."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tongsa.batch import Batch, Examples, epoch_order
from tongsa.training.loop import DataPosition

Item = TypeVar("Item")

PREFETCH_BATCHES = 8
PREFETCH_THREAD_NAME = "prefetch"
RELEASE_BATCHES = 500
"""Batches after which the pages of memory-mapped examples are given back: the memory of a run does not grow."""


def iterate_batches(
    epoch_examples: Callable[[int], Examples], *, batch_tokens: int, seed: int, start: DataPosition
) -> Iterator[tuple[DataPosition, Batch]]:
    """Yield each batch with the position after it. `epoch_examples` must be a pure function of the epoch."""
    return prefetch(_generate_batches(epoch_examples, batch_tokens, seed, start))


def _generate_batches(
    epoch_examples: Callable[[int], Examples], batch_tokens: int, seed: int, start: DataPosition
) -> Iterator[tuple[DataPosition, Batch]]:
    epoch, first_batch = start
    while True:
        examples = epoch_examples(epoch)
        batches = epoch_order(examples.lengths, batch_tokens=batch_tokens, seed=seed, epoch=epoch)
        for i in range(first_batch, len(batches)):
            yield DataPosition(epoch, i + 1), examples.batch(batches[i])
            if i % RELEASE_BATCHES == 0:
                examples.release()
        epoch, first_batch = epoch + 1, 0


def prefetch(items: Iterator[Item], buffer_size: int = PREFETCH_BATCHES) -> Iterator[Item]:
    """Yield the same items in the same order, computed ahead by one background thread."""
    pool = ThreadPoolExecutor(1, thread_name_prefix=PREFETCH_THREAD_NAME)
    try:
        pending = deque(pool.submit(lambda: next(items, None)) for _ in range(buffer_size))
        while (item := pending.popleft().result()) is not None:
            pending.append(pool.submit(lambda: next(items, None)))
            yield item
    finally:
        pool.shutdown(cancel_futures=True)
