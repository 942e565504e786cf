"""Record losses and gradient norms of a few updates of every kind, to compare two commits bit for bit.

Usage: python tools/losses.py FILE.json             train each tiny configuration for six updates and write the numbers
       python tools/losses.py --compare A.json B.json    exit code 1 and the first difference if two files differ

A change that is not meant to alter numbers must give equal files. Configurations are numbered in the order of
`tests/tiny.py`, so renaming one changes nothing; new ones at the end are counted, not compared. Odd configurations use
micro-batches, every third one uses Muon.
"""

import json
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent / name) for name in ("tests", "src")]

import torch

from tiny import CONFIGS, SIZE, sentence
from tongsa.batch import Batch, Examples, Ragged, epoch_order
from tongsa.interface import ModelConfig
from tongsa.training.config import TrainingConfig
from tongsa.training.loop import DataPosition, train
from tongsa.training.loss import TrainingModel
from tongsa.training.optimizer import build_optimizers

STEPS, BATCH_TOKENS, PAIRS = 6, 60, 64


def pairs(config: ModelConfig) -> Examples:
    """Return a fixed corpus: the target is the reversed source, or a label made of its first token."""
    sources = [sentence(2 + index % 9, index)[:-1] for index in range(PAIRS)]
    is_classification = config.task == "classification"
    targets = [[source[0] - 4] if is_classification else source[::-1] for source in sources]
    if config.task == "language_model":
        sources = [[] for _ in sources]
    return Examples(Ragged(sources), Ragged(targets), not is_classification)


def batches(examples: Examples) -> Iterator[tuple[DataPosition, Batch]]:
    for epoch in count():
        order = epoch_order(examples.lengths, batch_tokens=BATCH_TOKENS, seed=1, epoch=epoch)
        for index, rows in enumerate(order):
            yield DataPosition(epoch, index + 1), examples.batch(rows)


def losses(number: int, config: ModelConfig) -> list[tuple[str, str]]:
    """Return loss and gradient norm of each update as hexadecimal floats."""
    torch.manual_seed(1)
    model = config.build(SIZE, SIZE)
    training = TrainingConfig(
        steps=STEPS,
        batch_tokens=BATCH_TOKENS,
        grad_accumulation=2,
        clip_grad_norm=1.0,
        optimizer="muon" if number % 3 == 2 else "adam",
        micro_batch_tokens=40 if number % 2 else 0,
    )
    updates = train(
        TrainingModel(model, training),
        batches(pairs(config)),
        build_optimizers(model, training),
        training.lr.build(16, STEPS),
        training,
    )
    return [(update.loss.hex(), update.grad_norm.hex()) for update in updates]


def compare(first: Path, second: Path) -> int:
    numbers = [json.loads(path.read_text("utf-8")) for path in (first, second)]
    in_both = sorted(numbers[0].keys() & numbers[1].keys(), key=int)
    for key in in_both:
        if numbers[0][key] != numbers[1][key]:
            print(f"configuration {key} differs: {numbers[0][key]} and {numbers[1][key]}")
            return 1
    added = len(numbers[0].keys() ^ numbers[1].keys())
    print(f"identical: {len(in_both)} configurations" + (f"; {added} in one file only" if added else ""))
    return 0


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--compare"] and len(arguments) == 3:
        return compare(Path(arguments[1]), Path(arguments[2]))
    if len(arguments) != 1:
        print(__doc__)
        return 2
    torch.set_num_threads(1)
    numbers = {number: losses(number, config) for number, config in enumerate(CONFIGS.values())}
    Path(arguments[0]).write_text(json.dumps(numbers, indent=0), "utf-8")
    print(f"{len(numbers)} configurations, {STEPS} updates each, in {arguments[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
