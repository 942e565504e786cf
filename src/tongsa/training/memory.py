"""Memory within a limit: how much of a batch may be computed at once, found out before the first step."""

import torch

from tongsa.batch import Batch
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.training.footprint import MEBI, forget, peak
from tongsa.training.loop import TrainingConfig, gradient
from tongsa.training.preflight import probe

TRIES = (16, 4)
"""The largest batch is tried in so many parts: small enough to be safe, different enough to draw a line through."""
MARGIN = 0.85
"""Share of what is left that is planned with: freed memory lies in pieces that the next batch may not fit into."""
COPIES = {"adam": 2, "adamw": 2, "muon": 2}
"""Numbers that an optimiser remembers for each parameter, at most."""


def part_tokens(model: EncoderDecoder, largest: Batch, config: TrainingConfig) -> int:
    """Places on a side to be computed at once so that the process keeps to `config.memory` MiB."""
    limit = config.memory * MEBI
    weights = sum(value.numel() * value.element_size() for value in model.parameters())
    remembered = weights * (COPIES[config.optimiser] + (config.ema > 0) + 1)
    (few, small), (more, large) = (_tried(model, largest, count, config) for count in TRIES)
    slope = max(1.0, (large - small) / max(1, more - few))
    fixed = small - slope * few + remembered  # the copy that is tried stands for the one that a snapshot writes
    found = int(MARGIN * (limit - fixed) / slope)
    longest = max(largest.source.pieces.shape[1], largest.target.pieces.shape[1])
    if found < longest:
        least = (fixed + slope * longest / MARGIN) / MEBI
        raise InputError(
            f"training.memory {config.memory}: this run needs about {least:,.0f} MiB for its longest line alone; "
            "raise the limit, or lower data.longest or the sizes of the model"
        )
    return min(found, largest.places)


def _tried(model: EncoderDecoder, largest: Batch, count: int, config: TrainingConfig) -> tuple[int, float]:
    """Places of a part, and the most bytes of the process while a gradient of it is computed."""
    part = largest.parts(-(-largest.places // count))[0].to(next(model.parameters()).device)
    with probe(model) as copied:
        forget()
        gradient(copied.train(), [[part]], 1, config)
        return part.places, peak(torch.device(config.device))
