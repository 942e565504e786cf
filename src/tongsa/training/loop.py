"""The training loop: a generator that yields after each update. Logging, validation and saving are the caller's."""

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
"""Loss scaling for fp16 (Micikevicius et al. 2018, section 3.2): initial scale, and steps between doublings."""


class DivergedError(InputError):
    """Training has diverged: loss or gradient is NaN or infinite."""


class DataPosition(NamedTuple):
    """Epoch and batch index of the next batch: the whole state of the data loader."""

    epoch: int = 0
    batch: int = 0


class UpdateResult(NamedTuple):
    """Statistics of one update."""

    step: int
    loss: float
    """Cross-entropy per target token, without label smoothing: exp(loss) is the perplexity."""
    tokens: int
    """Target tokens in this update, EOS included."""
    padding_fraction: float
    """Fraction of positions, source and target, that are padding."""
    lr: float
    grad_norm: float
    """Global gradient norm before clipping."""
    position: DataPosition
    seconds: float
    loss_scale: float = 1.0
    """Factor on the loss against underflow of fp16 gradients; 1 in other precisions."""


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
    """Yield an UpdateResult after each update.

    Each random draw is seeded by step and batch, so resuming needs no state of a random generator.
    """
    device = next(model.parameters()).device
    for step in range(start_step + 1, config.steps + 1):
        start_time = perf_counter()
        model.train()
        items = list(islice(batches, config.grad_accumulation))
        update_batches = [batch.to(device) for _, batch in items]
        loss, grad_norm, loss_scale = _gradient_with_retries(
            model, update_batches, step, config, distributed, loss_scale
        )
        lr = lr_schedule(step)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = lr * group.get("lr_scale", 1.0)
            optimizer.step()
        model.zero_grad(set_to_none=True)
        yield UpdateResult(
            step=step,
            loss=loss,
            tokens=sum(int(batch.target.lengths.sum()) for batch in update_batches),
            padding_fraction=_padding_fraction(update_batches),
            lr=lr,
            grad_norm=grad_norm,
            position=items[-1][0],
            seconds=perf_counter() - start_time,
            loss_scale=loss_scale,
        )


def _gradient_with_retries(
    model: nn.Module,
    batches: Sequence[Batch],
    step: int,
    config: TrainingConfig,
    distributed: DistributedContext,
    loss_scale: float,
) -> tuple[float, float, float]:
    """Compute the gradient of an update; return loss, gradient norm and the loss scale that worked.

    Retries: out of memory with smaller micro-batches; fp16 overflow with a smaller loss scale; any other NaN or
    infinity once, because it may be a hardware error.
    """
    max_tokens = config.micro_batch_tokens or max(batch.padded_size for batch in batches)
    if config.precision == "fp16" and step % LOSS_SCALE_GROWTH_STEPS == 0:
        loss_scale *= 2
    retried = False
    while True:
        micro_batches = [batch.micro_batches(max_tokens) for batch in batches]
        try:
            loss, grad_norm = compute_gradient(model, micro_batches, step, config, distributed, loss_scale)
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
            max_tokens //= 2
            # other ranks may already wait in the all-reduce for this one: no retry there
            if distributed.world_size > 1 or max_tokens < 1:
                raise InputError(f"step {step}: out of memory ({error}). Lower training.batch_tokens.") from None
            config = replace(config, micro_batch_tokens=max_tokens)  # also switches off parallel batches
        else:
            if isfinite(loss) and isfinite(grad_norm):
                return loss, grad_norm, loss_scale
            if config.precision == "fp16" and isfinite(loss) and loss_scale > 1:
                loss_scale /= 2  # the largest fp16 number is 65,504
            elif retried:
                raise DivergedError(f"step {step}: the loss is {loss}, the gradient norm {grad_norm}")
            else:
                retried = True
        model.zero_grad(set_to_none=True)


def _is_out_of_memory(error: Exception) -> bool:
    """Return whether memory is exhausted: a GPU raises OutOfMemoryError, a CPU allocation RuntimeError."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)


def compute_gradient(
    model: nn.Module,
    batches: Sequence[Sequence[Batch]],
    step: int,
    config: TrainingConfig,
    distributed: DistributedContext = SINGLE_PROCESS,
    loss_scale: float = 1.0,
) -> tuple[float, float]:
    """Accumulate the gradient of an update in the parameters; return the loss per token and the gradient norm.

    `batches` holds the micro-batches of each batch. The result is summed over all ranks and clipped.
    """
    tokens = sum(int(micro_batch.target.lengths.sum()) for micro_batches in batches for micro_batch in micro_batches)
    rank_batches = [
        (_forward_seed(config.seed, step, i, j), micro_batch)
        for i in range(distributed.rank, len(batches), distributed.world_size)
        for j, micro_batch in enumerate(batches[i])
    ]
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    total = torch.zeros((), dtype=torch.float64)
    if len(rank_batches) > 1 and _can_compute_in_parallel(model, config, distributed):
        for plain, gradients in parallel_map(
            lambda seeded: _batch_gradient(model, *seeded, tokens), rank_batches, config.threads
        ):
            total += plain
            _accumulate_gradients(parameters, gradients)
    else:
        for count, (seed, batch) in enumerate(rank_batches, start=1):
            torch.manual_seed(seed)
            with distributed.gradient_sync(model, is_last=count == len(rank_batches)):
                loss, plain = _batch_loss(model, batch, tokens)
                # DDP and FSDP average over ranks; an update needs the sum
                (loss * distributed.world_size * loss_scale).backward()  # type: ignore[no-untyped-call]
            total += plain
    if loss_scale != 1:
        torch._foreach_mul_([parameter.grad for parameter in parameters if parameter.grad is not None], 1 / loss_scale)
    grad_norm = full_tensor(nn.utils.clip_grad_norm_(parameters, config.clip_grad_norm or torch.inf))
    return distributed.all_reduce(total).item() / tokens, grad_norm.item()


def _batch_loss(model: nn.Module, batch: Batch, total_tokens: int) -> tuple[Tensor, float]:
    """Return the share of this batch in the loss of an update, and the sum of its plain cross-entropy."""
    loss, plain = model(batch)  # a TrainingModel, possibly wrapped in DDP
    return loss / total_tokens, plain.item()  # per token, not per batch: batches differ in length


def _can_compute_in_parallel(model: nn.Module, config: TrainingConfig, distributed: DistributedContext) -> bool:
    """Return whether threads may compute batches at the same time: on one CPU process, without a memory limit.

    A model with buffers (batch norm) changes them in its forward pass, so its batches run one after another.
    """
    return (
        config.device == "cpu"
        and config.precision == "fp32"
        and config.threads > 1
        and not config.micro_batch_tokens
        and not config.compile
        and distributed.world_size == 1
        and next(model.buffers(), None) is None
    )


def _batch_gradient(
    model: nn.Module, seed: int, batch: Batch, total_tokens: int
) -> tuple[float, Sequence[Tensor | None]]:
    """Return the plain loss of a batch and its gradient, without touching `.grad`, which threads would share."""
    with seed_dropout(seed):
        loss, plain = _batch_loss(model, batch, total_tokens)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return plain, torch.autograd.grad(loss, parameters, allow_unused=True)


def _accumulate_gradients(parameters: Sequence[nn.Parameter], gradients: Sequence[Tensor | None]) -> None:
    """Add gradients to `.grad`, as backward() would."""
    pairs = [(parameter, grad) for parameter, grad in zip(parameters, gradients, strict=True) if grad is not None]
    sums = [(parameter.grad, grad) for parameter, grad in pairs if parameter.grad is not None]
    for parameter, grad in pairs:
        parameter.grad = grad if parameter.grad is None else parameter.grad
    if sums:
        torch._foreach_add_(*map(list, zip(*sums, strict=True)))


def _forward_seed(seed: int, step: int, batch_index: int, micro_batch_index: int) -> int:
    """Return the random seed of one forward pass: different for each step, batch and micro-batch."""
    return (
        seed * 1_000_003 + step + batch_index * 7_368_787_000_003 + micro_batch_index * 2_654_435_761_000_003
    ) % 2**63


def _padding_fraction(batches: Sequence[Batch]) -> float:
    sides = [side for batch in batches for side in (batch.source, batch.target)]
    return 1 - sum(int(side.lengths.sum()) for side in sides) / sum(side.tokens.numel() for side in sides)
