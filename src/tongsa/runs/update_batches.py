"""Split an update into batches, which threads and workers share: the same batches for any number of them.

The batches depend on the settings only, so one machine gives the same updates with one thread,
two threads or two workers.
"""

from dataclasses import replace

from tongsa.interface import ModelConfig
from tongsa.training.config import TrainingConfig

MIN_BATCH_TOKENS = 512
"""Tokens of a batch that keep a CPU thread busy: an update with fewer than twice as many is not split."""
FULL_BATCH_TOKENS, MAX_BATCHES = 2048, 16
"""An update is split into more than two batches, at most 16, if each has this many tokens: smaller ones cost time."""


def batches_per_update(training: TrainingConfig, model: ModelConfig) -> int:
    """Return the default number of batches of an update: 1, 2, 4, 8 or 16, from its number of tokens alone.

    It is 1 on an accelerator, which computes one large batch faster, and for batch normalization, which needs it whole.
    """
    tokens = training.batch_tokens
    if training.device != "cpu" or getattr(model, "norm_kind", "") == "batch" or tokens < 2 * MIN_BATCH_TOKENS:
        return 1
    batches = 2
    while batches < MAX_BATCHES and tokens // (2 * batches) >= FULL_BATCH_TOKENS:
        batches *= 2
    return batches


def split_update(training: TrainingConfig, model: ModelConfig, workers: int = 1) -> tuple[TrainingConfig, str]:
    """Split the updates of a new run into batches; return the settings and a message, "" if nothing changed.

    `training.grad_accumulation` above 1 is kept unless the workers need more batches.
    """
    total_tokens = training.batch_tokens * training.grad_accumulation
    default = training
    if training.grad_accumulation == 1:
        default = _with_batches(training, batches_per_update(training, model))
    split = fit_workers(default, workers)
    if split == training:
        return split, ""
    batches, tokens = split.grad_accumulation, split.batch_tokens
    message = f"an update of {total_tokens:,} tokens is split into {batches} batches of {tokens:,}"
    if split == default:
        return split, f"{message}; threads and workers share them"
    others = f"{default.grad_accumulation} with fewer workers"
    return split, f"{message} for {workers} workers, but {others}: the same settings then give another model"


def fit_workers(training: TrainingConfig, workers: int) -> TrainingConfig:
    """Return settings with at least one batch for each worker; with sharding, with equally many for each."""
    batches = training.grad_accumulation
    if batches >= workers and not (training.shard and batches % workers):
        return training
    return _with_batches(training, -(-batches // workers) * workers)


def _with_batches(training: TrainingConfig, batches: int) -> TrainingConfig:
    total_tokens = training.batch_tokens * training.grad_accumulation
    return replace(training, grad_accumulation=batches, batch_tokens=max(1, total_tokens // batches))
