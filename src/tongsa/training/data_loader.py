"""The endless stream of batches, from any place in it."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tongsa.batch import Batch, Examples, epoch_order
from tongsa.training.loop import DataPosition

Item = TypeVar("Item")

PREFETCH_BATCHES = 8
"""Batches that are ready before they are asked for."""


def iterate_batches(
    epoch_examples: Callable[[int], Examples], *, batch_tokens: int, seed: int, start: DataPosition
) -> Iterator[tuple[DataPosition, Batch]]:
    """Each batch with the position after it. `examples` gives an epoch's pairs, the same whenever it is asked."""
    return prefetch(_generate_batches(epoch_examples, batch_tokens, seed, start))


def _generate_batches(
    epoch_examples: Callable[[int], Examples], batch_tokens: int, seed: int, start: DataPosition
) -> Iterator[tuple[DataPosition, Batch]]:
    epoch, skip = start
    while True:
        pairs = epoch_examples(epoch)
        batches = epoch_order(pairs.lengths, batch_tokens=batch_tokens, seed=seed, epoch=epoch)
        for at in range(skip, len(batches)):
            yield DataPosition(epoch, at + 1), pairs.batch(batches[at])
        epoch, skip = epoch + 1, 0


def prefetch(items: Iterator[Item], buffer_size: int = PREFETCH_BATCHES) -> Iterator[Item]:
    """The same items in the same order, made by one thread while those before them are worked on."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="ahead")
    try:
        made = deque(pool.submit(lambda: next(items, None)) for _ in range(buffer_size))
        while (item := made.popleft().result()) is not None:
            made.append(pool.submit(lambda: next(items, None)))
            yield item
    finally:
        pool.shutdown(cancel_futures=True)
