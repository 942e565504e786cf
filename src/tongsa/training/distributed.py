"""Distributed training with torch.distributed: data-parallel replicas (DDP) or a sharded model (FSDP2).

An update always has `grad_accumulation` batches. Rank r of W computes batches r, r + W, …; gradients are summed. Each
batch has its own random seed. So the global batch, the order of the data and the dropout masks do not depend on the
world size. A run can be resumed with another world size.
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
"""Maximum time that ranks wait while rank 0 validates or saves. The launcher detects a dead process at once."""


@dataclass(frozen=True)
class DistributedContext:
    """Rank and world size of this process, with the collective operations of training (no-ops for one process)."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_world_size: int = 1
    """Processes on this machine; they share its CPU cores."""

    @property
    def is_main_process(self) -> bool:
        """True for rank 0, which writes the journal, validates and saves."""
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
        """Return the text of rank 0 on all ranks. `make_text` is called on rank 0 only."""
        if self.world_size == 1:
            return make_text()
        encoded = make_text().encode("utf-8") if self.is_main_process else b""
        length = self.all_reduce(torch.tensor(len(encoded)))  # the other ranks contribute 0
        buffer = torch.frombuffer(bytearray(encoded), dtype=torch.uint8) if encoded else torch.empty(int(length)).byte()
        dist.broadcast(buffer, src=0)
        return bytes(buffer.tolist()).decode("utf-8")

    def wrap_model(self, model: nn.Module, device: torch.device, *, shard: bool, compiled: bool = False) -> nn.Module:
        """Return the model to train on this rank: wrapped for parallel training, and compiled if requested."""
        wrapped = self._parallelize(model, device, shard=shard)
        if compiled:
            # only the network: the loss stays outside the graph; dynamic: one graph for all lengths
            unwrap_model(wrapped).compile(dynamic=True)
        return wrapped

    def _parallelize(self, model: nn.Module, device: torch.device, *, shard: bool) -> nn.Module:
        """Return the model itself, a replica (DDP), or the shards of a copy (FSDP2)."""
        if self.world_size == 1:
            return model
        if shard:
            return _shard_model(copy.deepcopy(model), init_device_mesh(device.type, (self.world_size,)))
        with warnings.catch_warnings(action="ignore", category=FutureWarning):  # a warning about a renamed function
            return DistributedDataParallel(model, broadcast_buffers=False, gradient_as_bucket_view=True)

    def gradient_sync(self, model: nn.Module, *, is_last: bool) -> AbstractContextManager[None]:
        """Return the context of one backward pass: gradients are synchronized after the last batch of an update."""
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
    """Shard each layer of each stack separately: a layer is gathered for its computation and then freed."""
    warnings.filterwarnings("ignore", "FSDP2-wrapped module", UserWarning)  # no layer modifies its inputs in place
    for module in model.modules():
        if isinstance(module, nn.ModuleList):
            for layer in module:
                if not _shares_parameters(layer, module):  # tied layers are gathered with the rest of the model
                    fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def _shares_parameters(layer: nn.Module, layers: nn.ModuleList) -> bool:
    others = {parameter for other in layers if other is not layer for parameter in other.parameters()}
    return not others.isdisjoint(layer.parameters())


def full_tensor(value: Tensor) -> Tensor:
    """Gather a sharded tensor; return others unchanged. A collective: all ranks must call it."""
    return value.full_tensor() if isinstance(value, DTensor) else value


def distribute_like(value: Tensor, reference: Tensor) -> Tensor:
    """Shard a full tensor as the reference is sharded."""
    if isinstance(reference, DTensor):
        return distribute_tensor(value, reference.device_mesh, reference.placements)
    return value


@contextmanager
def init_distributed() -> Iterator[DistributedContext]:
    """Join the process group of `torchrun` or `tongsa train --workers`; without one, yield SINGLE_PROCESS."""
    if dist.is_initialized():
        yield _current_context()
        return
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield SINGLE_PROCESS
        return
    if torch.cuda.is_available():
        local_rank, gpus = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
        if local_rank >= gpus:
            raise InputError(f"--workers: no GPU for worker {local_rank + 1}. Use at most {gpus} workers.")
        torch.cuda.set_device(local_rank)
    try:
        _connect()
        yield _current_context()
    except RuntimeError as error:
        if isinstance(error, dist.DistError) or "gloo" in str(error):  # Gloo raises plain RuntimeErrors
            raise LostWorkerError(f"another worker has died, so this one stops: {error}".splitlines()[0]) from None
        raise
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _connect() -> None:
    try:
        dist.init_process_group(timeout=COLLECTIVE_TIMEOUT)
        dist.barrier()  # a worker that stops at once would cut connections that others are still making
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        raise LostWorkerError(
            f"no connection to the other workers ({reason}). Either one of them has stopped, or MASTER_ADDR and "
            "MASTER_PORT are wrong."
        ) from None


def _current_context() -> DistributedContext:
    local, count = (int(os.environ.get(name, "0")) for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"))
    return DistributedContext(dist.get_rank(), dist.get_world_size(), local, max(1, count))
