"""Data loader: an endless iterator over batches that can start at any position and prefetches in a thread."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import Protocol, TypeVar

from tongsa.batch import Batch, Indices, epoch_order
from tongsa.training.loop import DataPosition

Item = TypeVar("Item")

PREFETCH_BATCHES = 8
PREFETCH_THREAD_NAME = "prefetch"


class ExampleSource(Protocol):
    """Examples of an epoch: their lengths, which order the epoch, and each batch when it is asked for."""

    @property
    def lengths(self) -> Indices: ...

    def batch(self, indices: Indices) -> Batch: ...


ExamplesByEpoch = Callable[[int, int], ExampleSource]
"""Pure function from epoch and stage to the examples of the epoch."""


def iterate_batches(
    epoch_examples: ExamplesByEpoch,
    *,
    batch_tokens: int,
    seed: int,
    start: DataPosition,
    stage_ends: Sequence[int] = (),
    batches_before: int = 0,
) -> Iterator[tuple[DataPosition, Batch]]:
    """Yield each batch with the position after it.

    A stage ends after stage_ends[stage] batches of the run, and with it the epoch. `batches_before` is the number of
    batches of the run before `start`.
    """
    return prefetch(_generate_batches(epoch_examples, batch_tokens, seed, start, stage_ends, batches_before))


def _generate_batches(
    epoch_examples: ExamplesByEpoch,
    batch_tokens: int,
    seed: int,
    start: DataPosition,
    stage_ends: Sequence[int],
    count: int,
) -> Iterator[tuple[DataPosition, Batch]]:
    epoch, first_batch = start
    while True:
        stage = bisect_right(stage_ends, count)
        remaining = stage_ends[stage] - count if stage < len(stage_ends) else inf
        examples = epoch_examples(epoch, stage)
        batches = epoch_order(examples.lengths, batch_tokens=batch_tokens, seed=seed, epoch=epoch)
        last = min(len(batches), first_batch + remaining)
        for i in range(first_batch, int(last)):
            is_stage_end = i + 1 - first_batch == remaining  # a resumed run starts the next stage with a new epoch
            position = DataPosition(epoch + 1, 0) if is_stage_end else DataPosition(epoch, i + 1)
            yield position, examples.batch(batches[i])
            count += 1
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
