"""Micro-batch size for a memory limit: measured by trial gradients before the first update."""

import torch

from tongsa.batch import Batch
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.training.config import TrainingConfig
from tongsa.training.loop import compute_gradient
from tongsa.training.loss import TrainingModel
from tongsa.training.memory import BYTES_PER_MIB, peak_memory, reset_peak_memory, scratch_copy

TRIAL_MICRO_BATCH_COUNTS = (16, 4)
"""Micro-batches per batch in the two trials: both small, but different enough to fit a line."""
MEMORY_SAFETY_FRACTION = 0.85
"""Fraction of the remaining memory to use: freed memory is fragmented and cannot all be reused."""
OPTIMIZER_VALUES_PER_PARAMETER = {"adam": 2, "adamw": 2, "muon": 2}
"""Largest number of values of optimizer state per parameter."""


def find_micro_batch_tokens(model: EncoderDecoder, largest_batch: Batch, config: TrainingConfig) -> int:
    """Return the largest `micro_batch_tokens` with which the process stays below `memory_limit_mib`.

    Memory is modeled as fixed + slope · tokens; both come from two trial micro-batches of different size.
    """
    limit = config.memory_limit_mib * BYTES_PER_MIB
    weight_bytes = sum(value.numel() * value.element_size() for value in model.parameters())
    # optimizer state, EMA, and one copy of the weights
    state_bytes = weight_bytes * (OPTIMIZER_VALUES_PER_PARAMETER[config.optimizer] + (config.ema > 0) + 1)
    (small_size, small_peak), (large_size, large_peak) = (
        _measure_peak(model, largest_batch, count, config) for count in TRIAL_MICRO_BATCH_COUNTS
    )
    slope = max(1.0, (large_peak - small_peak) / max(1, large_size - small_size))
    # the trial's scratch copy is as large as the copy that saving a checkpoint makes
    fixed = small_peak - slope * small_size + state_bytes
    micro_batch_tokens = int(MEMORY_SAFETY_FRACTION * (limit - fixed) / slope)
    row_tokens = max(largest_batch.source.tokens.shape[1], largest_batch.target.tokens.shape[1])
    if micro_batch_tokens < row_tokens:
        needed = (fixed + slope * row_tokens / MEMORY_SAFETY_FRACTION) / BYTES_PER_MIB
        raise InputError(
            f"training.memory_limit_mib {config.memory_limit_mib}: the longest example alone needs about "
            f"{needed:,.0f} MiB. Raise the limit, or lower data.max_tokens or the model's sizes."
        )
    return min(micro_batch_tokens, largest_batch.padded_size)


def _measure_peak(
    model: EncoderDecoder, largest_batch: Batch, micro_batch_count: int, config: TrainingConfig
) -> tuple[int, float]:
    """Return the padded size of one trial micro-batch and the peak memory while its gradient is computed."""
    max_tokens = -(-largest_batch.padded_size // micro_batch_count)
    micro_batch = largest_batch.micro_batches(max_tokens)[0].to(next(model.parameters()).device)
    with scratch_copy(model) as copied:
        reset_peak_memory()
        compute_gradient(TrainingModel(copied, config).train(), [[micro_batch]], 1, config)
        peak = peak_memory(torch.device(config.device))
    if peak is None:
        raise InputError(
            "training.memory_limit_mib: the memory of a process cannot be measured on this system. "
            "Write training.memory_limit_mib = 0, and training.micro_batch_tokens = 1024 for smaller micro-batches."
        )
    return micro_batch.padded_size, peak
