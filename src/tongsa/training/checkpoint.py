"""What is needed to go on exactly: weights, optimiser, average, place in the data, best score so far.

The generators of random numbers need no place here: every draw of a run is seeded by its place in it. A model that lies
in shards is written as shards, each by its worker, through torch's own checkpoints with safetensors as their storage;
either kind of snapshot can be gone on from on any number of workers, sharded or not.
"""

import json
import shutil
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import save as save_safetensors
from torch import Tensor, nn
from torch.distributed.checkpoint import state_dict_loader, state_dict_saver
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.tensor import DTensor

from tongsa import storage
from tongsa.errors import InputError
from tongsa.interface import named_tensors
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext
from tongsa.training.loop import DataPosition
from tongsa.training.optimizer import WeightEMA


@dataclass(frozen=True, kw_only=True)
class TrainingProgress:
    """How far a run has come."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    best_score: float | None = None
    best_step: int = 0
    validations_since_best: int = 0
    """Validations since the best one."""
    tokens: int = 0
    seconds: float = 0.0
    """Time spent in updates, over all sessions."""
    loss_scale: float = 1.0
    """Of half-precision gradients."""

    @property
    def position(self) -> DataPosition:
        return DataPosition(self.epoch, self.batch)


def save_checkpoint(
    folder: Path,
    progress: TrainingProgress,
    model: nn.Module,
    optimizers: Sequence[torch.optim.Optimizer],
    ema: WeightEMA | None,
    keep: int,
    distributed: DistributedContext = SINGLE_PROCESS,
) -> Path:
    """Write one more snapshot; older ones go only when it is safely there. All workers call this."""
    tensors, path = _checkpoint_tensors(model, optimizers, ema), folder / f"{progress.step:09d}"
    sharded = any(isinstance(value, DTensor) for value in tensors.values())
    if not (distributed.is_main_process or sharded):
        return path
    with (
        storage.replace_folder(path)
        if distributed.is_main_process
        else nullcontext(storage.incoming_folder(path)) as new
    ):
        if sharded:
            distributed.barrier()  # for the folder
            state_dict_saver.save(
                dict(tensors), storage_writer=HuggingFaceStorageWriter(str(new), save_distributed=True)
            )
        else:
            content = save_safetensors({name: value.contiguous().cpu() for name, value in tensors.items()})
            (new / "state.safetensors").write_bytes(content)
        if distributed.is_main_process:
            record = asdict(progress) | {
                "files": {file.name: storage.file_sha256(file) for file in sorted(new.iterdir())}
            }
            (new / "progress.json").write_text(json.dumps(record, indent=1), "utf-8")
    if distributed.is_main_process:
        for old in _saved_steps(folder)[:-keep]:
            shutil.rmtree(folder / f"{old:09d}")
    return path


def _checkpoint_tensors(
    model: nn.Module, optimizers: Sequence[torch.optim.Optimizer], ema: WeightEMA | None
) -> dict[str, Tensor]:
    """All that changes while a model learns, by name."""
    tensors = {f"model/{name}": value.detach() for name, value in named_tensors(model).items()}
    tensors |= {f"ema/{name}": value for name, value in (ema.tensors if ema else {}).items()}
    for at, optimiser in enumerate(optimizers):
        for index, state in optimiser.state_dict()["state"].items():
            tensors |= {f"optimizer {at}/{index}/{name}": value for name, value in state.items()}
    return tensors


def _saved_steps(folder: Path) -> list[int]:
    return sorted(int(path.name) for path in folder.glob("*") if path.name.isdigit()) if folder.is_dir() else []


@dataclass(frozen=True)
class Checkpoint:
    """One that is whole; its numbers are read when and where they are wanted, each worker its own part."""

    progress: TrainingProgress
    path: Path

    @torch.no_grad()
    def restore(self, model: nn.Module, optimizers: Sequence[torch.optim.Optimizer], ema: WeightEMA | None) -> None:
        reader = HuggingFaceStorageReader(str(self.path))
        sizes = {name: found.size for name, found in reader.read_metadata().state_dict_metadata.items()}  # type: ignore[union-attr]
        tensors = _checkpoint_tensors(model, [], ema)
        other = [name for name, value in tensors.items() if sizes.get(name) != value.size()]
        if other := [*other, *(sorted(_saved_parameter_keys(sizes) - _parameter_keys(optimizers)))]:
            raise InputError(
                f"{self.path}: {other[0]} is not in it as run.toml wants it; bring back the run.toml that it was "
                "trained with, or begin a new run"
            )
        states = [
            _empty_optimizer_state(f"optimizer {at}/", sizes, optimiser) for at, optimiser in enumerate(optimizers)
        ]
        for at, state in enumerate(states):
            tensors |= {f"optimizer {at}/{index}/{name}": v for index, one in state.items() for name, v in one.items()}
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # that there is one process alone
            state_dict_loader.load(tensors, storage_reader=reader, no_dist=True)
        for optimiser, state in zip(optimizers, states, strict=True):
            optimiser.load_state_dict(optimiser.state_dict() | {"state": state})


def _saved_parameter_keys(names: Iterable[str]) -> set[str]:
    """The parameters of which optimisers have remembered something: "optimizer 0/3"."""
    return {name.rpartition("/")[0] for name in names if name.startswith("optimizer ")}


def _parameter_keys(optimizers: Sequence[torch.optim.Optimizer]) -> set[str]:
    """The parameters of which they can, by the same names."""
    counts = [sum(len(group["params"]) for group in optimiser.param_groups) for optimiser in optimizers]
    return {f"optimizer {at}/{index}" for at, count in enumerate(counts) for index in range(count)}


def _empty_optimizer_state(
    prefix: str, sizes: Mapping[str, torch.Size], optimizer: torch.optim.Optimizer
) -> dict[int, dict[str, Tensor]]:
    """Room for what an optimiser remembers of each parameter, lying as the parameter does."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    found: dict[int, dict[str, Tensor]] = {}
    for name, size in sizes.items():
        if name.startswith(prefix):
            index, _, key = name.removeprefix(prefix).partition("/")
            like = parameters[int(index)]
            room = torch.zeros_like(like) if like.shape == size else torch.zeros(size)
            found.setdefault(int(index), {})[key] = room.detach()
    return found


def latest_checkpoint(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest snapshot that is whole, and a sentence for each damaged one that was passed over."""
    remarks: list[str] = []
    for step in reversed(_saved_steps(folder)):
        path = folder / f"{step:09d}"
        try:
            return _read_verified(path), remarks
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            remarks.append(f"{path}: damaged ({error}); the snapshot before it is used")
    return None, remarks


def _read_verified(path: Path) -> Checkpoint:
    record = json.loads((path / "progress.json").read_text("utf-8"))
    for name, digest in record.pop("files").items():
        if storage.file_sha256(path / name) != digest:
            raise ValueError(f"the checksum of {name} is wrong")
    return Checkpoint(TrainingProgress(**record), path)
