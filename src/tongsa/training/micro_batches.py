"""Memory within a limit: how much of a batch may be computed at once, found out before the first step."""

import torch

from tongsa.batch import Batch
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.training.config import TrainingConfig
from tongsa.training.loop import compute_gradient
from tongsa.training.loss import TrainingModel
from tongsa.training.memory import BYTES_PER_MIB, peak_memory, reset_peak_memory, scratch_copy

TRIAL_MICRO_BATCH_COUNTS = (16, 4)
"""The largest batch is tried in so many parts: small enough to be safe, different enough to draw a line through."""
MEMORY_SAFETY_FRACTION = 0.85
"""Share of what is left that is planned with: freed memory lies in pieces that the next batch may not fit into."""
OPTIMIZER_VALUES_PER_PARAMETER = {"adam": 2, "adamw": 2, "muon": 2}
"""Numbers that an optimiser remembers for each parameter, at most."""


def find_micro_batch_tokens(model: EncoderDecoder, largest_batch: Batch, config: TrainingConfig) -> int:
    """Places on a side to be computed at once so that the process keeps to `config.memory` MiB."""
    limit = config.memory_limit_mib * BYTES_PER_MIB
    weights = sum(value.numel() * value.element_size() for value in model.parameters())
    remembered = weights * (OPTIMIZER_VALUES_PER_PARAMETER[config.optimizer] + (config.ema > 0) + 1)
    (few, small), (more, large) = (
        _measure_peak(model, largest_batch, count, config) for count in TRIAL_MICRO_BATCH_COUNTS
    )
    slope = max(1.0, (large - small) / max(1, more - few))
    fixed = small - slope * few + remembered  # the copy that is tried stands for the one that a snapshot writes
    found = int(MEMORY_SAFETY_FRACTION * (limit - fixed) / slope)
    longest = max(largest_batch.source.tokens.shape[1], largest_batch.target.tokens.shape[1])
    if found < longest:
        least = (fixed + slope * longest / MEMORY_SAFETY_FRACTION) / BYTES_PER_MIB
        raise InputError(
            f"training.memory_limit_mib {config.memory_limit_mib}: this run needs about {least:,.0f} MiB for its longest line alone; "
            "raise the limit, or lower data.max_tokens or the sizes of the model"
        )
    return min(found, largest_batch.padded_size)


def _measure_peak(
    model: EncoderDecoder, largest_batch: Batch, micro_batch_count: int, config: TrainingConfig
) -> tuple[int, float]:
    """Places of a part, and the most bytes of the process while a gradient of it is computed."""
    part = largest_batch.micro_batches(-(-largest_batch.padded_size // micro_batch_count))[0].to(
        next(model.parameters()).device
    )
    with scratch_copy(model) as copied:
        reset_peak_memory()
        compute_gradient(TrainingModel(copied, config).train(), [[part]], 1, config)
        return part.padded_size, peak_memory(torch.device(config.device))
