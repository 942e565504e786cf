"""Many workers on PyTorch's own engine: who is who, what they agree on, and a model that learns in all of them.

An update is `accumulate` batches, whoever computes them: each is seeded by its own place in the run, worker w of W
takes every W-th, and gradients are summed. So the global batch, the order of the data and even the dropout are the same
on any number of workers, and a run may go on on another number of them.
"""

import copy
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from tongsa.errors import InputError, LostWorkerError
from tongsa.interface import EncoderDecoder
from tongsa.training.loss import TrainingModel

COLLECTIVE_TIMEOUT = timedelta(hours=2)
"""How long workers wait for one that validates or saves; the death of one is told by its launcher at once."""


@dataclass(frozen=True)
class DistributedContext:
    """The processes that share a run. A single one agrees with itself at once, and pays nothing for it."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_world_size: int = 1
    """Those on this machine, which share its cores."""

    @property
    def is_main_process(self) -> bool:
        """Whether this one keeps the journal, validates and saves."""
        return self.rank == 0

    def barrier(self) -> None:
        if self.world_size > 1:
            dist.barrier()

    def all_reduce(self, value: Tensor) -> Tensor:
        if self.world_size > 1:
            dist.all_reduce(value)
        return value

    def any_rank(self, flag: bool) -> bool:
        return flag if self.world_size == 1 else bool(self.all_reduce(torch.tensor(int(flag))))

    def broadcast_text(self, make_text: Callable[[], str]) -> str:
        """What the first worker says, on all of them; only there it is asked for."""
        said = make_text().encode("utf-8") if self.is_main_process else b""
        if self.world_size == 1:
            return said.decode("utf-8")
        length = self.all_reduce(torch.tensor(len(said)))
        letters = torch.frombuffer(bytearray(said), dtype=torch.uint8) if said else torch.empty(int(length)).byte()
        dist.broadcast(letters, src=0)
        return bytes(letters.tolist()).decode("utf-8")

    def wrap_model(self, model: nn.Module, device: torch.device, *, shard: bool, compiled: bool = False) -> nn.Module:
        """The model as it learns here, its whole forward pass as one graph for any length if that is asked for."""
        learner = self._parallelize(model, device, shard=shard)
        if compiled:
            unwrap_model(learner).compile(dynamic=True)  # the network alone: the loss is computed outside its graph
        return learner

    def _parallelize(self, model: nn.Module, device: torch.device, *, shard: bool) -> nn.Module:
        """Itself; a replica whose gradients are gathered; or a shard of a copy (FSDP2)."""
        if self.world_size == 1:
            return model
        if shard:
            return _shard_model(copy.deepcopy(model), init_device_mesh(device.type, (self.world_size,)))
        with warnings.catch_warnings(action="ignore", category=FutureWarning):  # the new name is not in older torch
            return DistributedDataParallel(model, broadcast_buffers=False, gradient_as_bucket_view=True)

    def gradient_sync(self, model: nn.Module, *, is_last: bool) -> AbstractContextManager[None]:
        """Around a backward pass: gradients travel with the last batch of an update only."""
        if isinstance(model, FSDPModule):
            model.set_requires_gradient_sync(is_last)
        elif isinstance(model, DistributedDataParallel) and not is_last:
            return model.no_sync()
        return nullcontext()


SINGLE_PROCESS = DistributedContext()


def unwrap_model(model: nn.Module) -> EncoderDecoder:
    """Return the network inside a TrainingModel, wrapped or not: the module whose parameters are trained and saved."""
    training_model = model.module if isinstance(model, DistributedDataParallel) else model
    assert isinstance(training_model, TrainingModel)  # noqa: S101 - for the type
    return training_model.model


def _shard_model(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    """Every layer of a stack is gathered when it is needed and let go again; each worker keeps its part of each."""
    warnings.filterwarnings("ignore", "FSDP2-wrapped module", UserWarning)  # nothing here writes into what it is given
    for part in model.modules():
        if isinstance(part, nn.ModuleList):
            for layer in part:
                fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def full_tensor(value: Tensor) -> Tensor:
    """All of a tensor that may lie in shards; every worker must ask."""
    return value.full_tensor() if isinstance(value, DTensor) else value


def distribute_like(value: Tensor, reference: Tensor) -> Tensor:
    """A whole tensor, cut into shards as another is."""
    return (
        distribute_tensor(value, reference.device_mesh, reference.placements)
        if isinstance(reference, DTensor)
        else value
    )


@contextmanager
def init_distributed() -> Iterator[DistributedContext]:
    """The workers that `torchrun` or `tongsa train --workers` started with this process; alone where none did."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or dist.is_initialized():
        yield SINGLE_PROCESS if not dist.is_initialized() else _current_context()
        return
    if torch.cuda.is_available():
        if (place := int(os.environ["LOCAL_RANK"])) >= torch.cuda.device_count():
            raise InputError(
                f"worker {place + 1} finds no GPU: there are {torch.cuda.device_count()}; take fewer workers"
            )
        torch.cuda.set_device(place)
    dist.init_process_group(timeout=COLLECTIVE_TIMEOUT)
    try:
        yield _current_context()
    except RuntimeError as error:
        if isinstance(error, dist.DistError) or "gloo" in str(error):  # torch has no name for this one
            raise LostWorkerError(f"another worker is gone, so this one stops: {error}".splitlines()[0]) from None
        raise
    finally:
        dist.destroy_process_group()


def _current_context() -> DistributedContext:
    local, count = (int(os.environ.get(name, "0")) for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"))
    return DistributedContext(dist.get_rank(), dist.get_world_size(), local, max(1, count))
