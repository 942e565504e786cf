"""The update, and nothing but the update. What happens between two of them is the caller's `for`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite
from time import perf_counter
from typing import Literal, NamedTuple

import torch
from torch import nn

from tongsa.batch import Batch
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.layers.penalty import penalties
from tongsa.training.objective import cross_entropy
from tongsa.training.precision import Precision
from tongsa.training.schedule import RateConfig, Schedule


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The defaults are the paper's (section 5), but for its eight GPUs."""

    steps: int = 100_000
    batch_tokens: int = 25_000
    """Places in a batch on either side, padding included (section 5.1)."""
    accumulate: int = 1
    """Batches to an update: four of 6,250 tokens are one of 25,000 to the optimiser."""
    seed: int = 1
    smoothing: float = 0.1
    """Label smoothing ε (section 5.4)."""
    optimiser: Literal["adam", "adamw", "muon"] = "adam"
    adam_share: float = 1.0
    """With `muon`: the rate of what Adam still moves (vectors of pieces, norms, biases), as a share of the rate."""
    beta1: float = 0.9
    beta2: float = 0.98
    epsilon: float = 1e-9
    weight_decay: float = 0.0
    clip: float = 0.0
    """Longest gradient that is let through unshortened; 0 lets all through."""
    rate: RateConfig = field(default_factory=RateConfig)
    ema: float = 0.0
    """Decay of the moving average of the weights that is validated and kept; 0 keeps the weights themselves."""
    average: int = 1
    """At the end, try the mean of the weights of the last N validations, and keep it if it is better."""
    validate_every: int = 1000
    validate_sentences: int = 200
    """Development pairs translated at each validation, evenly spread; 0 takes all. Labels and texts are always all."""
    criterion: Literal["auto", "bleu", "chrf", "exact_match", "wer", "per", "accuracy", "macro_f1", "loss"] = "auto"
    """What chooses the best model on the development set; auto is the first score that is measured there."""
    patience: int = 0
    """Stop after so many validations without a better one; 0 never stops early."""
    snapshot_every: int = 500
    keep_snapshots: int = 2
    precision: Precision = "auto"
    device: str = "auto"
    threads: int = 0
    """CPU threads; 0 leaves the choice to torch."""
    board: bool = False
    """Also write TensorBoard events (needs the extra `board`)."""

    def __post_init__(self) -> None:
        for name in (
            "steps",
            "batch_tokens",
            "accumulate",
            "average",
            "validate_every",
            "snapshot_every",
            "keep_snapshots",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)} is not at least 1")
        for name in ("smoothing", "ema", "beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)} is not in [0, 1)")
        for name in ("adam_share", "clip", "weight_decay", "validate_sentences", "patience", "seed", "threads"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} {getattr(self, name)} is negative")


class DivergedError(InputError):
    """The loss is no number any more: the settings, not a fault of ours."""


class Position(NamedTuple):
    """Where in the data the next batch begins: all that resuming needs to know of it."""

    epoch: int = 0
    batch: int = 0


class Step(NamedTuple):
    step: int
    loss: float
    """Cross-entropy a piece, without smoothing: exp(loss) is the perplexity."""
    tokens: int
    """Target pieces learnt from in this update, </s> included."""
    padding: float
    """Share of places in the batches, both sides, that held nothing."""
    rate: float
    norm: float
    """Length of the gradient before clipping."""
    position: Position
    seconds: float


def train(
    model: EncoderDecoder,
    batches: Iterator[tuple[Position, Batch]],
    optimisers: Sequence[torch.optim.Optimizer],
    schedule: Schedule,
    config: TrainingConfig,
    *,
    start: int = 0,
) -> Iterator[Step]:
    """Yield one Step after each update. All its randomness is seeded by (seed, step): resuming needs no generator."""
    device = next(model.parameters()).device
    autocast = torch.autocast(device.type, torch.bfloat16, enabled=config.precision == "bf16")
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for step in range(start + 1, config.steps + 1):
        began = perf_counter()
        torch.manual_seed((config.seed * 1_000_003 + step) % 2**63)
        model.train()
        taken = [(position, batch.to(device)) for position, batch in islice(batches, config.accumulate)]
        tokens = sum(int(batch.target.lengths.sum()) for _, batch in taken)
        total = 0.0
        for _, batch in taken:
            with autocast, penalties() as charged:
                logits = model(batch.source, batch.shifted)
            loss, plain = cross_entropy(logits, batch.target, config.smoothing)
            (sum(charged, loss) / tokens).backward()  # type: ignore[no-untyped-call]  # per piece, not per batch: batches differ in length
            total += plain.item()
        norm = nn.utils.clip_grad_norm_(parameters, config.clip or torch.inf).item()
        if not (isfinite(total) and isfinite(norm)):
            raise DivergedError(f"step {step}: the loss is {total / tokens}, the gradient {norm}")
        rate = schedule(step)
        for optimiser in optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate * group.get("share", 1.0)
            optimiser.step()
        model.zero_grad(set_to_none=True)
        position = taken[-1][0]
        yield Step(step, total / tokens, tokens, _padding(taken), rate, norm, position, perf_counter() - began)


def _padding(taken: list[tuple[Position, Batch]]) -> float:
    sides = [side for _, batch in taken for side in (batch.source, batch.target)]
    return 1 - sum(int(side.lengths.sum()) for side in sides) / sum(side.pieces.numel() for side in sides)
