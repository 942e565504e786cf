"""The update, and nothing but the update. What happens between two of them is the caller's `for`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import isfinite
from time import perf_counter
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from tongsa.batch import Batch
from tongsa.errors import InputError
from tongsa.layers.dropout import drawing
from tongsa.layers.judge import judged_by
from tongsa.layers.penalty import penalties
from tongsa.threads import side_by_side
from tongsa.training.objective import cross_entropy, judge
from tongsa.training.parallel import ALONE, Workers, whole
from tongsa.training.precision import Precision
from tongsa.training.schedule import RateConfig, Schedule


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The defaults are the paper's (section 5), but for its eight GPUs."""

    steps: int = 100_000
    batch_tokens: int = 25_000
    """Places in a batch on either side, padding included (section 5.1)."""
    accumulate: int = 1
    """Batches to an update: four of 6,250 tokens are one of 25,000 to the optimiser. Workers share them."""
    part_tokens: int = 0
    """Places on a side that are computed at once; a larger batch is computed in parts. 0 sets no limit."""
    memory: int = 0
    """MiB that the process may take; 0 does not ask. A try of the largest batch says which part_tokens keep to it."""
    shard: bool = False
    """Whether several workers each keep a part of the model (FSDP2), not a whole one (DDP): for what fits into none."""
    seed: int = 1
    begin: str = ""
    """Folder of a run or model with whose pieces and weights this one begins, as far as sizes are the same."""
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
    compile: bool = False
    """Whether torch compiles the model first: some minutes, which pay on a GPU; on a CPU it was slower than not."""
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
        for name in (
            "adam_share",
            "clip",
            "weight_decay",
            "validate_sentences",
            "patience",
            "seed",
            "threads",
            "part_tokens",
            "memory",
        ):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} {getattr(self, name)} is negative")
        if self.shard and (self.part_tokens or self.memory):
            raise ValueError("shard cannot go with part_tokens or memory: workers that share a model compute in step")


FIRST_SCALE, GROWTH = 2.0**16, 2000
"""Of half-precision losses (Micikevicius et al. 2018, section 3.2), and after how many steps twice it is tried."""


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
    scale: float = 1.0
    """By which the loss was multiplied lest half-precision gradients vanish; 1 in other precisions."""


def train(
    learner: nn.Module,
    batches: Iterator[tuple[Position, Batch]],
    optimisers: Sequence[torch.optim.Optimizer],
    schedule: Schedule,
    config: TrainingConfig,
    *,
    start: int = 0,
    scale: float = 1.0,
    workers: Workers = ALONE,
) -> Iterator[Step]:
    """Yield one Step after each update. Every draw is seeded by its place in the run: resuming needs no generator."""
    device = next(learner.parameters()).device
    for step in range(start + 1, config.steps + 1):
        began = perf_counter()
        learner.train()
        taken = [(position, batch.to(device)) for position, batch in islice(batches, config.accumulate)]
        loss, norm, scale = _settled(learner, [batch for _, batch in taken], step, config, workers, scale)
        rate = schedule(step)
        for optimiser in optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate * group.get("share", 1.0)
            optimiser.step()
        learner.zero_grad(set_to_none=True)
        tokens = sum(int(batch.target.lengths.sum()) for _, batch in taken)
        seconds = perf_counter() - began
        yield Step(step, loss, tokens, _padding(taken), rate, norm, taken[-1][0], seconds, scale)


def _settled(
    learner: nn.Module, batches: Sequence[Batch], step: int, config: TrainingConfig, workers: Workers, scale: float
) -> tuple[float, float, float]:
    """Loss, length of the gradient, and the scale that let it through. What may come right is tried again."""
    most = config.part_tokens or max(batch.places for batch in batches)
    if config.precision == "fp16" and step % GROWTH == 0:
        scale *= 2
    slips = 0
    while True:
        try:
            loss, norm = gradient(learner, [batch.parts(most) for batch in batches], step, config, workers, scale)
        except (RuntimeError, MemoryError) as error:
            if not _does_not_fit(error):
                raise
            most //= 2
            if workers.count > 1 or most < 1:  # others may wait for this one's gradient already
                raise InputError(f"step {step}: {error}; lower training.batch_tokens") from None
            config = replace(config, part_tokens=most)  # in smaller parts, and never two at once
        else:
            if isfinite(loss) and isfinite(norm):
                return loss, norm, scale
            if config.precision == "fp16" and isfinite(loss) and scale > 1:
                scale /= 2  # half-precision numbers end at 65,504
            elif slips:
                raise DivergedError(f"step {step}: the loss is {loss}, the gradient {norm}")
            else:
                slips += 1  # of the machine, perhaps
        learner.zero_grad(set_to_none=True)


def _does_not_fit(error: Exception) -> bool:
    """Whether memory is short: a GPU's failure has a type of its own, a CPU's is told by its words alone."""
    short = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return short or "can't allocate memory" in str(error)


def gradient(
    learner: nn.Module,
    batches: Sequence[Sequence[Batch]],
    step: int,
    config: TrainingConfig,
    workers: Workers = ALONE,
    scale: float = 1.0,
) -> tuple[float, float]:
    """Leave the gradient of an update in the parameters, summed over workers; the loss a piece, and its length.

    Each batch comes in the parts that are computed at once.
    """
    tokens = sum(int(part.target.lengths.sum()) for parts in batches for part in parts)
    mine = [
        (_seed(config.seed, step, at, part), rows)
        for at in range(workers.rank, len(batches), workers.count)
        for part, rows in enumerate(batches[at])
    ]
    parameters = [parameter for parameter in learner.parameters() if parameter.requires_grad]
    total = torch.zeros((), dtype=torch.float64)
    if len(mine) > 1 and _may_stand_side_by_side(learner, config, workers):
        for plain, slopes in side_by_side(lambda one: _slopes(learner, *one, tokens, config), mine, config.threads):
            total += plain
            _add(parameters, slopes)
    else:
        for at, (seed, batch) in enumerate(mine, start=1):
            torch.manual_seed(seed)
            with workers.gathering(learner, last=at == len(mine)):
                loss, plain = _loss(learner, batch, tokens, config)
                # torch takes the mean over workers, we the sum
                (loss * workers.count * scale).backward()  # type: ignore[no-untyped-call]
            total += plain
    if scale != 1:
        torch._foreach_mul_([parameter.grad for parameter in parameters if parameter.grad is not None], 1 / scale)
    norm = whole(nn.utils.clip_grad_norm_(parameters, config.clip or torch.inf))
    return workers.sum(total).item() / tokens, norm.item()


def _loss(learner: nn.Module, batch: Batch, tokens: int, config: TrainingConfig) -> tuple[Tensor, float]:
    """What this batch adds to the loss of an update of so many tokens, and its plain cross-entropy, summed."""
    half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(config.precision)
    asked = None if half or config.compile else judge(batch.target, config.smoothing)
    with (
        torch.autocast(batch.source.pieces.device.type, half, enabled=half is not None),
        penalties() as charged,
        judged_by(asked),
    ):
        found = learner(batch.source, batch.shifted)
    loss, plain = found if found.dim() == 1 else cross_entropy(found, batch.target, config.smoothing)  # a classifier's
    return sum(charged, loss) / tokens, plain.item()  # per piece, not per batch: batches differ in length


def _may_stand_side_by_side(learner: nn.Module, config: TrainingConfig, workers: Workers) -> bool:
    """Whether batches may be computed at the same time: on a CPU with room for them, by a model that keeps nothing."""
    here = config.device == "cpu" and config.precision == "fp32" and workers.count == 1 and not config.part_tokens
    return here and not config.compile and config.threads > 1 and next(learner.buffers(), None) is None


def _slopes(
    learner: nn.Module, seed: int, batch: Batch, tokens: int, config: TrainingConfig
) -> tuple[float, Sequence[Tensor | None]]:
    """The plain loss of a batch, and its share of the gradient, which nobody else adds to."""
    with drawing(seed):
        loss, plain = _loss(learner, batch, tokens, config)
    parameters = [parameter for parameter in learner.parameters() if parameter.requires_grad]
    return plain, torch.autograd.grad(loss, parameters, allow_unused=True)


def _add(parameters: Sequence[nn.Parameter], slopes: Sequence[Tensor | None]) -> None:
    """To the gradient that is there, if there is one."""
    found = [(parameter, slope) for parameter, slope in zip(parameters, slopes, strict=True) if slope is not None]
    sums = [(parameter.grad, slope) for parameter, slope in found if parameter.grad is not None]
    for parameter, slope in found:
        parameter.grad = slope if parameter.grad is None else parameter.grad
    if sums:
        torch._foreach_add_(*map(list, zip(*sums, strict=True)))


def _seed(seed: int, step: int, at: int, part: int) -> int:
    """Of one forward pass; every place in a run has its own."""
    return (seed * 1_000_003 + step + at * 7_368_787_000_003 + part * 2_654_435_761_000_003) % 2**63


def _padding(taken: list[tuple[Position, Batch]]) -> float:
    sides = [side for _, batch in taken for side in (batch.source, batch.target)]
    return 1 - sum(int(side.lengths.sum()) for side in sides) / sum(side.pieces.numel() for side in sides)
