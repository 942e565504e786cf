"""Checkpoints for exact resume: weights, optimizer state, EMA, data position and best metric so far.

No state of a random generator is saved: each random draw is seeded by its step. A sharded model is written as one file
per rank (torch.distributed.checkpoint on safetensors). Both kinds of checkpoint can be resumed with any
world size, sharded or not.
"""

import json
import shutil
import warnings
from collections.abc import Iterable, Mapping, Sequence
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

FORMAT_VERSION = 1
"""Increased when older versions of tongsa could not read what this one writes."""
STATE_FILE, PROGRESS_FILE = "state.safetensors", "progress.json"


@dataclass(frozen=True, kw_only=True)
class TrainingProgress:
    """Counters of a run at a checkpoint."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    best_score: float | None = None
    best_step: int = 0
    validations_since_best: int = 0
    """Validations since the best one, for early stopping."""
    tokens: int = 0
    seconds: float = 0.0
    """Time spent in updates, including those before a resume."""
    loss_scale: float = 1.0
    """Loss scale of fp16 training."""

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
    """Write a checkpoint, then delete old ones beyond `keep`. All ranks must call this."""
    tensors, path = _checkpoint_tensors(model, optimizers, ema), folder / f"{progress.step:09d}"
    sharded = any(isinstance(value, DTensor) for value in tensors.values())
    if sharded and not distributed.is_main_process:
        distributed.barrier()  # rank 0 creates the folder
        _write_shards(storage.incoming_folder(path), tensors)
    if distributed.is_main_process:
        with storage.replace_folder(path) as new:
            if sharded:
                distributed.barrier()
                _write_shards(new, tensors)
            else:
                content = save_safetensors({name: value.contiguous().cpu() for name, value in tensors.items()})
                (new / STATE_FILE).write_bytes(content)
            checksums = {file.name: storage.file_sha256(file) for file in sorted(new.iterdir())}
            record = {"format": FORMAT_VERSION} | asdict(progress) | {"files": checksums}
            (new / PROGRESS_FILE).write_text(json.dumps(record, indent=1), "utf-8", newline="\n")
        for step in _saved_steps(folder)[:-keep]:
            shutil.rmtree(folder / f"{step:09d}")
    return path


def _write_shards(folder: Path, tensors: dict[str, Tensor]) -> None:
    """Write the shards of this rank. A collective: it returns when all ranks have written theirs."""
    writer = HuggingFaceStorageWriter(str(folder), save_distributed=True)
    state_dict_saver.save(dict(tensors), storage_writer=writer)


def _checkpoint_tensors(
    model: nn.Module, optimizers: Sequence[torch.optim.Optimizer], ema: WeightEMA | None
) -> dict[str, Tensor]:
    """Return all tensors that training changes, by name, such as model/…, ema/… and optimizer 0/3/…."""
    tensors = {f"model/{name}": value.detach() for name, value in named_tensors(model).items()}
    tensors |= {f"ema/{name}": value for name, value in (ema.tensors if ema else {}).items()}
    for i, optimizer in enumerate(optimizers):
        tensors |= _optimizer_tensors(i, optimizer.state_dict()["state"])
    return tensors


def _optimizer_tensors(i: int, state: Mapping[int, Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the state of optimizer i by name: optimizer 0/3/exp_avg is that of its parameter 3."""
    return {f"optimizer {i}/{index}/{name}": value for index, values in state.items() for name, value in values.items()}


def _saved_steps(folder: Path) -> list[int]:
    return sorted(int(path.name) for path in folder.glob("*") if path.name.isdigit()) if folder.is_dir() else []


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint. `restore` reads the tensors; each rank reads only its shards."""

    progress: TrainingProgress
    path: Path

    @torch.no_grad()
    def restore(self, model: nn.Module, optimizers: Sequence[torch.optim.Optimizer], ema: WeightEMA | None) -> None:
        """Load weights, optimizer state and EMA in place."""
        reader = HuggingFaceStorageReader(str(self.path))
        sizes = {name: entry.size for name, entry in reader.read_metadata().state_dict_metadata.items()}  # type: ignore[union-attr]
        tensors = _checkpoint_tensors(model, [], ema)
        mismatched = [name for name, value in tensors.items() if sizes.get(name) != value.size()]
        mismatched += sorted(_saved_parameter_keys(sizes) - _parameter_keys(optimizers))
        if mismatched:
            raise InputError(
                f"{self.path}: {mismatched[0]} does not match the settings in run.toml. "
                "Restore the run.toml of this run, or start a new run."
            )
        states = [_empty_optimizer_state(f"optimizer {i}/", sizes, optimizer) for i, optimizer in enumerate(optimizers)]
        for i, state in enumerate(states):
            tensors |= _optimizer_tensors(i, state)
        with warnings.catch_warnings(
            action="ignore", category=UserWarning
        ):  # a warning about running in a single process
            state_dict_loader.load(tensors, storage_reader=reader, no_dist=True)
        for optimizer, state in zip(optimizers, states, strict=True):
            optimizer.load_state_dict(optimizer.state_dict() | {"state": state})


def _saved_parameter_keys(names: Iterable[str]) -> set[str]:
    """Return the parameters with saved optimizer state: "optimizer 0/3"."""
    return {name.rpartition("/")[0] for name in names if name.startswith("optimizer ")}


def _parameter_keys(optimizers: Sequence[torch.optim.Optimizer]) -> set[str]:
    """Return the parameters of these optimizers by the same keys."""
    counts = [sum(len(group["params"]) for group in optimizer.param_groups) for optimizer in optimizers]
    return {f"optimizer {i}/{index}" for i, count in enumerate(counts) for index in range(count)}


def _empty_optimizer_state(
    prefix: str, sizes: Mapping[str, torch.Size], optimizer: torch.optim.Optimizer
) -> dict[int, dict[str, Tensor]]:
    """Return zero tensors to load an optimizer's state into, sharded like its parameters."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    states: dict[int, dict[str, Tensor]] = {}
    for name, size in sizes.items():
        if name.startswith(prefix):
            index, _, key = name.removeprefix(prefix).partition("/")
            parameter = parameters[int(index)]
            # moments have the parameter's shape; step counters do not and are never sharded
            value = torch.zeros_like(parameter) if parameter.shape == size else torch.zeros(size)
            states.setdefault(int(index), {})[key] = value.detach()
    return states


def latest_checkpoint(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """Return the newest intact checkpoint, and a warning for each newer one that is damaged."""
    warning_lines: list[str] = []
    for step in reversed(_saved_steps(folder)):
        path = folder / f"{step:09d}"
        try:
            return _read_verified(path), warning_lines
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            warning_lines.append(f"{path}: damaged ({error}). The previous checkpoint is used.")
    return None, warning_lines


def _read_verified(path: Path) -> Checkpoint:
    record = json.loads((path / PROGRESS_FILE).read_text("utf-8"))
    if (version := record.pop("format", "unknown")) != FORMAT_VERSION:
        raise InputError(
            f"{path}: checkpoint format {version}, but this tongsa reads format {FORMAT_VERSION}. "
            "Resume with the tongsa version that wrote it, or start a new run."
        )
    for name, checksum in record.pop("files").items():
        if storage.file_sha256(path / name) != checksum:
            raise ValueError(f"the checksum of {name} is wrong")
    return Checkpoint(TrainingProgress(**record), path)
