"""The endless stream of batches, from any place in it."""

from collections.abc import Callable, Iterator

from tongsa.batch import Batch, Examples, plan
from tongsa.training.loop import Position


def stream(
    examples: Callable[[int], Examples], *, budget: int, seed: int, start: Position
) -> Iterator[tuple[Position, Batch]]:
    """Each batch with the position after it. `examples` gives an epoch's pairs, the same whenever it is asked."""
    epoch, skip = start
    while True:
        pairs = examples(epoch)
        batches = plan(pairs.lengths, budget=budget, seed=seed, epoch=epoch)
        for at in range(skip, len(batches)):
            yield Position(epoch, at + 1), pairs.batch(batches[at])
        epoch, skip = epoch + 1, 0
