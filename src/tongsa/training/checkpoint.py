"""Checkpoints for exact resume: weights, optimizer state, EMA, data position and best metric so far.

No state of a random generator is saved: each random draw is seeded by its step. A sharded model is written as one file
per rank (torch.distributed.checkpoint on safetensors). Both kinds of checkpoint can be resumed with any
world size, sharded or not.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors.torch import save as save_safetensors
from torch import Tensor, nn
from torch.distributed.checkpoint import state_dict_loader, state_dict_saver
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.tensor import DTensor

from tongsa import storage
from tongsa.bounded_files import MalformedTextError, UnreadableFileError
from tongsa.interface import named_tensors
from tongsa.tensor_file import TensorMismatchError, read_entries
from tongsa.training.checkpoint_files import (
    PROGRESS_FILE,
    STATE_FILE,
    CheckpointMismatchError,
    CheckpointRecord,
    DamagedCheckpointError,
    TrainingProgress,
    check_optimizers,
    check_tensors,
    describe_tensors,
    dump_record,
    mismatch_error,
    parameters_without_state,
    read_record,
)
from tongsa.training.distributed import SINGLE_PROCESS, DistributedContext
from tongsa.training.optimizer import WeightEMA


def save_checkpoint(
    folder: Path,
    progress: TrainingProgress,
    model: nn.Module,
    optimizers: Sequence[torch.optim.Optimizer],
    ema: WeightEMA | None,
    keep: int,
    distributed: DistributedContext = SINGLE_PROCESS,
) -> Path:
    """Write a checkpoint, then delete all but the newest `keep`. All ranks must call this."""
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
            record = CheckpointRecord(
                progress=progress,
                files=checksums,
                tensors=len(tensors),
                without_state=parameters_without_state(optimizers),
            )
            (new / PROGRESS_FILE).write_text(dump_record(record), "utf-8", newline="\n")
        delete_unusable(folder, progress.step)
        keep_newest(folder, keep)
    return path


def keep_newest(folder: Path, keep: int = 1) -> None:
    """Delete all but the newest checkpoints."""
    for step in _saved_steps(folder)[:-keep]:
        storage.remove(folder / f"{step:09d}")


def write_progress(path: Path, progress: TrainingProgress) -> None:
    """Replace the counters of an intact checkpoint."""
    storage.write_text(path / PROGRESS_FILE, dump_record(replace(read_record(path), progress=progress)))


def delete_unusable(folder: Path, newest_step: int) -> None:
    """Delete what a run at this step cannot use: checkpoints of later steps, which are damaged, and incomplete ones.

    They may belong to steps that are not saved again, and would count among those kept.
    """
    damaged = [folder / f"{step:09d}" for step in _saved_steps(folder) if step > newest_step]
    for path in (*damaged, *storage.unfinished_replacements(folder)):
        storage.remove(path)


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
    """Return the steps of all checkpoints; other names in the folder are not ours."""
    names = [path.name for path in folder.glob("*")] if folder.is_dir() else []
    return sorted(int(name) for name in names if re.fullmatch("[0-9]{9,15}", name) and name == f"{int(name):09d}")


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint. `restore` reads the tensors; each rank reads only its shards."""

    progress: TrainingProgress
    path: Path

    @torch.no_grad()
    def restore(self, model: nn.Module, optimizers: Sequence[torch.optim.Optimizer], ema: WeightEMA | None) -> None:
        """Load weights, optimizer state and EMA in place; `latest_checkpoint` has checked that they fit."""
        reader = HuggingFaceStorageReader(str(self.path))
        sizes = {name: entry.size for name, entry in describe_tensors(self.path).items()}
        tensors = _checkpoint_tensors(model, [], ema)
        states = [_empty_optimizer_state(f"optimizer {i}/", sizes, optimizer) for i, optimizer in enumerate(optimizers)]
        for i, state in enumerate(states):
            tensors |= _optimizer_tensors(i, state)
        with warnings.catch_warnings(
            action="ignore", category=UserWarning
        ):  # a warning about running in a single process
            state_dict_loader.load(tensors, storage_reader=reader, no_dist=True)
        for optimizer, state in zip(optimizers, states, strict=True):
            optimizer.load_state_dict(optimizer.state_dict() | {"state": state})


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


def check_headers(folder: Path, model: nn.Module) -> None:
    """Raise InputError if no checkpoint has the weights of a model, which may be on the meta device.

    Only headers are read. Checkpoints with a damaged header and sharded ones are left to `latest_checkpoint`.
    """
    expected = {f"model/{name}": tuple(value.shape) for name, value in named_tensors(model).items()}
    mismatch: CheckpointMismatchError | None = None
    for step in reversed(_saved_steps(folder)):
        path = folder / f"{step:09d}"
        try:
            entries = read_entries(path / STATE_FILE)
        except (UnreadableFileError, TensorMismatchError, MalformedTextError):
            continue
        different = [name for name, shape in expected.items() if name not in entries or entries[name].shape != shape]
        if not different:
            return
        mismatch = mismatch or mismatch_error(path, different[0])
    if mismatch is not None:
        raise mismatch


def latest_checkpoint(
    folder: Path,
    model: nn.Module | None = None,
    optimizers: Sequence[torch.optim.Optimizer] = (),
    ema: WeightEMA | None = None,
) -> tuple[Checkpoint | None, list[str]]:
    """Return the newest intact checkpoint, and a warning for each newer one that is damaged.

    With a model, and optimizers if there are any, only a checkpoint of their tensors is returned. If all intact ones
    are of other settings, that is an InputError.
    """
    reasons: list[str] = []
    mismatch: CheckpointMismatchError | None = None
    for step in reversed(_saved_steps(folder)):
        path = folder / f"{step:09d}"
        try:
            record = read_record(path)
            saved = Checkpoint(record.progress, path)
            if model is not None:
                descriptions = describe_tensors(path)
                check_tensors(path, descriptions, _checkpoint_tensors(model, [], ema))
                if optimizers:
                    check_optimizers(path, descriptions, optimizers, record)
            return saved, [f"{reason} The checkpoint of step {step:,} is used." for reason in reasons]
        except CheckpointMismatchError as error:
            mismatch = mismatch or error
            reasons.append(f"{path}: it is of other settings than run.toml.")
        except (DamagedCheckpointError, OSError) as error:
            reasons.append(f"{path}: damaged ({error}).")
    if mismatch is not None:
        raise mismatch
    return None, [f"{reason} There is no older one: training starts at step 0." for reason in reasons]
