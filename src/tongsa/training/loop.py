"""The update, and nothing but the update. What happens between two of them is the caller's `for`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from math import isfinite
from time import perf_counter
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tongsa.batch import Batch
from tongsa.errors import InputError
from tongsa.nn.dropout import seed_dropout
from tongsa.torch_threads import parallel_map
from tongsa.training.config import TrainingConfig
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext, full_tensor
from tongsa.training.lr_schedule import LRSchedule

INITIAL_LOSS_SCALE, LOSS_SCALE_GROWTH_STEPS = 2.0**16, 2000
"""Of half-precision losses (Micikevicius et al. 2018, section 3.2), and after how many steps twice it is tried."""


class DivergedError(InputError):
    """The loss is no number any more: the settings, not a fault of ours."""


class DataPosition(NamedTuple):
    """Where in the data the next batch begins: all that resuming needs to know of it."""

    epoch: int = 0
    batch: int = 0


class UpdateResult(NamedTuple):
    step: int
    loss: float
    """Cross-entropy a piece, without smoothing: exp(loss) is the perplexity."""
    tokens: int
    """Target pieces learnt from in this update, </s> included."""
    padding_fraction: float
    """Share of places in the batches, both sides, that held nothing."""
    lr: float
    grad_norm: float
    """Length of the gradient before clipping."""
    position: DataPosition
    seconds: float
    loss_scale: float = 1.0
    """By which the loss was multiplied lest half-precision gradients vanish; 1 in other precisions."""


def train(
    model: nn.Module,
    batches: Iterator[tuple[DataPosition, Batch]],
    optimizers: Sequence[torch.optim.Optimizer],
    lr_schedule: LRSchedule,
    config: TrainingConfig,
    *,
    start_step: int = 0,
    loss_scale: float = 1.0,
    distributed: DistributedContext = SINGLE_PROCESS,
) -> Iterator[UpdateResult]:
    """Yield one Step after each update. Every draw is seeded by its place in the run: resuming needs no generator."""
    device = next(model.parameters()).device
    for step in range(start_step + 1, config.steps + 1):
        began = perf_counter()
        model.train()
        taken = [(position, batch.to(device)) for position, batch in islice(batches, config.grad_accumulation)]
        loss, norm, loss_scale = _gradient_with_retries(
            model, [batch for _, batch in taken], step, config, distributed, loss_scale
        )
        rate = lr_schedule(step)
        for optimiser in optimizers:
            for group in optimiser.param_groups:
                group["lr"] = rate * group.get("lr_scale", 1.0)
            optimiser.step()
        model.zero_grad(set_to_none=True)
        tokens = sum(int(batch.target.lengths.sum()) for _, batch in taken)
        seconds = perf_counter() - began
        yield UpdateResult(step, loss, tokens, _padding_fraction(taken), rate, norm, taken[-1][0], seconds, loss_scale)


def _gradient_with_retries(
    model: nn.Module,
    batches: Sequence[Batch],
    step: int,
    config: TrainingConfig,
    distributed: DistributedContext,
    loss_scale: float,
) -> tuple[float, float, float]:
    """Loss, length of the gradient, and the scale that let it through. What may come right is tried again."""
    most = config.micro_batch_tokens or max(batch.padded_size for batch in batches)
    if config.precision == "fp16" and step % LOSS_SCALE_GROWTH_STEPS == 0:
        loss_scale *= 2
    slips = 0
    while True:
        try:
            loss, norm = compute_gradient(
                model, [batch.micro_batches(most) for batch in batches], step, config, distributed, loss_scale
            )
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
            most //= 2
            if distributed.world_size > 1 or most < 1:  # others may wait for this one's gradient already
                raise InputError(f"step {step}: {error}; lower training.batch_tokens") from None
            config = replace(config, micro_batch_tokens=most)  # in smaller parts, and never two at once
        else:
            if isfinite(loss) and isfinite(norm):
                return loss, norm, loss_scale
            if config.precision == "fp16" and isfinite(loss) and loss_scale > 1:
                loss_scale /= 2  # half-precision numbers end at 65,504
            elif slips:
                raise DivergedError(f"step {step}: the loss is {loss}, the gradient {norm}")
            else:
                slips += 1  # of the machine, perhaps
        model.zero_grad(set_to_none=True)


def _is_out_of_memory(error: Exception) -> bool:
    """Whether memory is short: a GPU's failure has a type of its own, a CPU's is told by its words alone."""
    short = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return short or "can't allocate memory" in str(error)


def compute_gradient(
    model: nn.Module,
    batches: Sequence[Sequence[Batch]],
    step: int,
    config: TrainingConfig,
    distributed: DistributedContext = SINGLE_PROCESS,
    loss_scale: float = 1.0,
) -> tuple[float, float]:
    """Leave the gradient of an update in the parameters, summed over workers; the loss a piece, and its length.

    Each batch comes in the parts that are computed at once.
    """
    tokens = sum(int(part.target.lengths.sum()) for parts in batches for part in parts)
    mine = [
        (_forward_seed(config.seed, step, at, part), rows)
        for at in range(distributed.rank, len(batches), distributed.world_size)
        for part, rows in enumerate(batches[at])
    ]
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    total = torch.zeros((), dtype=torch.float64)
    if len(mine) > 1 and _can_compute_in_parallel(model, config, distributed):
        for plain, slopes in parallel_map(
            lambda one: _batch_gradient(model, *one, tokens), mine, config.threads
        ):
            total += plain
            _accumulate_gradients(parameters, slopes)
    else:
        for at, (seed, batch) in enumerate(mine, start=1):
            torch.manual_seed(seed)
            with distributed.gradient_sync(model, is_last=at == len(mine)):
                loss, plain = _batch_loss(model, batch, tokens)
                # torch takes the mean over workers, we the sum
                (loss * distributed.world_size * loss_scale).backward()  # type: ignore[no-untyped-call]
            total += plain
    if loss_scale != 1:
        torch._foreach_mul_([parameter.grad for parameter in parameters if parameter.grad is not None], 1 / loss_scale)
    norm = full_tensor(nn.utils.clip_grad_norm_(parameters, config.clip_grad_norm or torch.inf))
    return distributed.all_reduce(total).item() / tokens, norm.item()


def _batch_loss(model: nn.Module, batch: Batch, total_tokens: int) -> tuple[Tensor, float]:
    """Return the share of this batch in the loss of an update, and the sum of its plain cross-entropy."""
    loss, plain = model(batch)  # a TrainingModel, perhaps inside DDP
    return loss / total_tokens, plain.item()  # per token, not per batch: batches differ in length


def _can_compute_in_parallel(model: nn.Module, config: TrainingConfig, distributed: DistributedContext) -> bool:
    """Whether batches may be computed at the same time: on a CPU with room for them, by a model that keeps nothing."""
    here = (
        config.device == "cpu"
        and config.precision == "fp32"
        and distributed.world_size == 1
        and not config.micro_batch_tokens
    )
    return here and not config.compile and config.threads > 1 and next(model.buffers(), None) is None


def _batch_gradient(
    model: nn.Module, seed: int, batch: Batch, total_tokens: int
) -> tuple[float, Sequence[Tensor | None]]:
    """The plain loss of a batch, and its share of the gradient, which nobody else adds to."""
    with seed_dropout(seed):
        loss, plain = _batch_loss(model, batch, total_tokens)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return plain, torch.autograd.grad(loss, parameters, allow_unused=True)


def _accumulate_gradients(parameters: Sequence[nn.Parameter], gradients: Sequence[Tensor | None]) -> None:
    """To the gradient that is there, if there is one."""
    found = [(parameter, slope) for parameter, slope in zip(parameters, gradients, strict=True) if slope is not None]
    sums = [(parameter.grad, slope) for parameter, slope in found if parameter.grad is not None]
    for parameter, slope in found:
        parameter.grad = slope if parameter.grad is None else parameter.grad
    if sums:
        torch._foreach_add_(*map(list, zip(*sums, strict=True)))


def _forward_seed(seed: int, step: int, batch_index: int, micro_batch_index: int) -> int:
    """Of one forward pass; every place in a run has its own."""
    return (
        seed * 1_000_003 + step + batch_index * 7_368_787_000_003 + micro_batch_index * 2_654_435_761_000_003
    ) % 2**63


def _padding_fraction(batches: list[tuple[DataPosition, Batch]]) -> float:
    sides = [side for _, batch in batches for side in (batch.source, batch.target)]
    return 1 - sum(int(side.lengths.sum()) for side in sides) / sum(side.tokens.numel() for side in sides)
