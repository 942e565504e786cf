"""The endless stream of batches, from any place in it."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tongsa.batch import Batch, Examples, plan
from tongsa.training.loop import Position

Item = TypeVar("Item")

AHEAD = 8
"""Batches that are ready before they are asked for."""


def stream(
    examples: Callable[[int], Examples], *, budget: int, seed: int, start: Position
) -> Iterator[tuple[Position, Batch]]:
    """Each batch with the position after it. `examples` gives an epoch's pairs, the same whenever it is asked."""
    return ahead(_batches(examples, budget, seed, start))


def _batches(
    examples: Callable[[int], Examples], budget: int, seed: int, start: Position
) -> Iterator[tuple[Position, Batch]]:
    epoch, skip = start
    while True:
        pairs = examples(epoch)
        batches = plan(pairs.lengths, budget=budget, seed=seed, epoch=epoch)
        for at in range(skip, len(batches)):
            yield Position(epoch, at + 1), pairs.batch(batches[at])
        epoch, skip = epoch + 1, 0


def ahead(items: Iterator[Item], count: int = AHEAD) -> Iterator[Item]:
    """The same items in the same order, made by one thread while those before them are worked on."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="ahead")
    try:
        made = deque(pool.submit(lambda: next(items, None)) for _ in range(count))
        while (item := made.popleft().result()) is not None:
            made.append(pool.submit(lambda: next(items, None)))
            yield item
    finally:
        pool.shutdown(cancel_futures=True)
