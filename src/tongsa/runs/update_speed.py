"""Measure the time of an update: on the data of a run, or on random tokens before there is a tokenizer."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat
from math import inf

import torch

from tongsa.batch import Batch, Padded
from tongsa.interface import EncoderDecoder, Task
from tongsa.runs.recipe import Recipe
from tongsa.tokenization.special import UNK
from tongsa.training.config import TrainingConfig
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext, unwrap_model
from tongsa.training.loop import DataPosition, train
from tongsa.training.loss import TrainingModel
from tongsa.training.optimizer import build_optimizers

MAX_ESTIMATE_TOKENS, MAX_ESTIMATE_UPDATES = 2560, 3
"""Size of an estimate: tokens of a batch, and updates. The time of a larger batch is extrapolated."""
MIN_TIMED_UPDATES = 2
"""Updates that are measured in any case: the first one is slower."""


def measure_update_seconds(
    model: EncoderDecoder,
    batches: Iterator[tuple[DataPosition, Batch]],
    training: TrainingConfig,
    *,
    max_updates: int,
    max_seconds: float = inf,
    distributed: DistributedContext = SINGLE_PROCESS,
) -> float:
    """Return the mean time of the later half of some updates. The model is changed: pass a copy."""
    device = torch.device(training.device)
    wrapped = distributed.wrap_model(
        TrainingModel(model, training), device, shard=training.shard, compiled=training.compile
    )
    optimizers = build_optimizers(unwrap_model(wrapped), training, distributed)
    training, lr_schedule = replace(training, steps=max_updates), training.lr.build(1, max_updates)
    times: list[float] = []
    for update in train(wrapped, batches, optimizers, lr_schedule, training, distributed=distributed):
        times.append(update.seconds)
        if distributed.any_rank(sum(times) > max_seconds and len(times) >= MIN_TIMED_UPDATES):
            break
    measured = times[len(times) // 2 :]
    return sum(measured) / len(measured)


def random_batches(
    task: Task, vocab_size: int, *, length: int, batch_tokens: int
) -> Iterator[tuple[DataPosition, Batch]]:
    """Yield the same batch of random tokens for ever: for a measurement its content does not matter."""
    lengths = {"seq2seq": (length, length), "classification": (length, 1), "language_model": (1, length)}[task]
    rows = max(1, batch_tokens // length)

    def sentences(length: int) -> Padded:
        tokens = torch.randint(UNK + 1, vocab_size, (rows, length), generator=torch.Generator().manual_seed(1))
        return Padded(tokens, torch.full((rows,), length))

    source, target = map(sentences, lengths)
    return repeat((DataPosition(), Batch(source, target, target)))


def estimate_update_seconds(recipe: Recipe, length: int, max_seconds: float) -> float:
    """Return the time of an update on random sentences of this length, for a model that is not built yet."""
    training, task, vocab_size = recipe.training, recipe.model.task, recipe.tokenizer.vocab_size
    batch_tokens = min(training.batch_tokens, MAX_ESTIMATE_TOKENS)
    model = recipe.model.build(vocab_size, vocab_size).to(torch.device(training.device))
    seconds = measure_update_seconds(
        model,
        random_batches(task, vocab_size, length=length, batch_tokens=batch_tokens),
        replace(training, shard=False, micro_batch_tokens=0, compile=False),
        max_updates=MAX_ESTIMATE_UPDATES,
        max_seconds=max_seconds,
    )
    return seconds * training.batch_tokens / batch_tokens
