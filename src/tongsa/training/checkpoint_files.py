"""Verification of a checkpoint before it is loaded: checksums, counters, names, shapes, dtypes, finite weights.

A checkpoint that is damaged or does not fit is not loaded in part: an older one can still be used.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader

from tongsa import config, storage
from tongsa.bounded_files import MAX_JSON_BYTES, MalformedTextError, UnreadableFileError, read_json
from tongsa.config import ConfigError, In, NonNegative, NonNegativeFloat, PositiveFloat, check_ranges
from tongsa.errors import InputError
from tongsa.tensor_file import TensorMismatchError, check_finite, read_entries
from tongsa.training.loop import DataPosition

FORMAT_VERSION = 1
"""Increased when older versions of tongsa could not read what this one writes."""
STATE_FILE, PROGRESS_FILE = "state.safetensors", "progress.json"
FINITE_PREFIXES = ("model/", "ema/")
"""Tensors that must be finite: a moment of the optimizer may overflow in a run that diverges."""


class DamagedCheckpointError(ValueError):
    """A checkpoint that is incomplete or was changed."""


class CheckpointMismatchError(InputError):
    """An intact checkpoint of other settings than those of the run."""


@dataclass(frozen=True, kw_only=True)
class TrainingProgress:
    """Counters of a run at a checkpoint."""

    step: NonNegative = 0
    epoch: NonNegative = 0
    batch: NonNegative = 0
    best_score: float | None = None
    best_step: NonNegative = 0
    validations_since_best: NonNegative = 0
    """Validations since the best one, for early stopping."""
    tokens: Annotated[int, In(0)] = 0
    seconds: NonNegativeFloat = 0.0
    """Time spent in updates, including those before a resume."""
    loss_scale: PositiveFloat = 1.0
    """Loss scale of fp16 training."""

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def position(self) -> DataPosition:
        return DataPosition(self.epoch, self.batch)


@dataclass(frozen=True)
class TensorDescription:
    """Shape and dtype of a tensor in a checkpoint, whole even if its file holds a shard."""

    size: torch.Size
    dtype: torch.dtype


def read_progress(path: Path) -> TrainingProgress:
    """Return the counters of a checkpoint whose files have their checksums; raise DamagedCheckpointError otherwise."""
    try:
        record = read_json(path / PROGRESS_FILE, MAX_JSON_BYTES)
        if not isinstance(record, dict):
            raise DamagedCheckpointError(f"{PROGRESS_FILE} is not a table")
        version = record.pop("format", "unknown")
        if type(version) is int and version != FORMAT_VERSION:
            raise InputError(
                f"{path}: checkpoint format {version}, but this tongsa reads format {FORMAT_VERSION}. "
                "Resume with the tongsa version that wrote it, or start a new run."
            )
        _verify_files(path, record.pop("files", None), record.pop("tensors", None))
        progress = config.build_config(TrainingProgress, record)
    except UnreadableFileError as error:
        raise DamagedCheckpointError(error.reason) from None
    except ConfigError as error:
        raise DamagedCheckpointError(f"{PROGRESS_FILE}: {error}") from None
    if path.name != f"{progress.step:09d}":
        raise DamagedCheckpointError(f"{PROGRESS_FILE} is that of step {progress.step}")
    return progress


def _verify_files(path: Path, checksums: object, tensor_count: object) -> None:
    """Raise DamagedCheckpointError unless the tensor files are those that were written, with as many tensors."""
    if not isinstance(checksums, dict) or not checksums:
        raise DamagedCheckpointError(f"{PROGRESS_FILE} has no checksums")
    for name, checksum in checksums.items():
        try:
            if not re.fullmatch(r"[\w.-]+\.safetensors", name):
                raise DamagedCheckpointError(f"{name[:100]!r} is not a file of a checkpoint")
            read_entries(path / name)  # first: a damaged header needs no checksum of the data
        except (TensorMismatchError, MalformedTextError) as error:
            raise DamagedCheckpointError(f"{name}: {error}") from None
        if storage.folder_file_sha256(path / name) != checksum:
            raise DamagedCheckpointError(f"the checksum of {name} is wrong")
    if added := {file.name for file in path.glob("*.safetensors")} - checksums.keys():
        raise DamagedCheckpointError(f"{min(added)[:100]!r} was added")
    if tensor_count is not None and tensor_count != len(describe_tensors(path)):
        raise DamagedCheckpointError("tensors are missing")


def describe_tensors(path: Path) -> dict[str, TensorDescription]:
    """Return the tensors of a checkpoint by name, from the headers of its files."""
    try:
        metadata = HuggingFaceStorageReader(str(path)).read_metadata().state_dict_metadata
        return {
            name: TensorDescription(entry.size, entry.properties.dtype)  # type: ignore[union-attr]
            for name, entry in metadata.items()
        }
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise DamagedCheckpointError(f"the tensors cannot be read: {error}") from None


def check_tensors(path: Path, saved: Mapping[str, TensorDescription], expected: Mapping[str, Tensor]) -> None:
    """Raise an error unless a checkpoint has the tensors of a model with their shapes and dtypes, all finite."""
    for name, tensor in expected.items():
        if name not in saved or saved[name].size != tensor.size():
            raise mismatch_error(path, name)
        if saved[name].dtype != tensor.dtype:
            raise DamagedCheckpointError(f"{name}: the precision is {saved[name].dtype}, not {tensor.dtype}")
    try:
        for file in sorted(path.glob("*.safetensors")):
            with safe_open(file, framework="pt") as tensors:
                for name in tensors.keys():  # noqa: SIM118 - not a dictionary
                    if name.startswith(FINITE_PREFIXES):
                        check_finite({name: tensors.get_tensor(name)})
    except (SafetensorError, OSError) as error:
        raise DamagedCheckpointError(f"the tensors cannot be read: {error}") from None
    except TensorMismatchError as error:
        raise DamagedCheckpointError(str(error)) from None


def check_optimizers(
    path: Path,
    saved: Mapping[str, TensorDescription],
    optimizers: Sequence[torch.optim.Optimizer],
    progress: TrainingProgress,
) -> None:
    """Raise an error unless the checkpoint has the state of these optimizers, with the dtypes of their parameters."""
    parameters = {
        f"optimizer {i}/{index}": parameter
        for i, optimizer in enumerate(optimizers)
        for index, parameter in enumerate(
            parameter for group in optimizer.param_groups for parameter in group["params"]
        )
    }
    states = {name: name.rpartition("/")[0] for name in saved if name.startswith("optimizer ")}
    for name, key in sorted(states.items()):
        if key not in parameters:
            raise mismatch_error(path, key)
        if saved[name].size == parameters[key].size() and saved[name].dtype != parameters[key].dtype:
            raise DamagedCheckpointError(f"{name}: the precision is {saved[name].dtype}, not {parameters[key].dtype}")
    for i in range(len(optimizers)):
        has_parameters = f"optimizer {i}/0" in parameters
        if progress.step > 0 and has_parameters and not any(key.startswith(f"optimizer {i}/") for key in states):
            raise DamagedCheckpointError("the state of the optimizer is missing")


def mismatch_error(path: Path, name: str) -> CheckpointMismatchError:
    return CheckpointMismatchError(
        f"{path}: {name} does not match the settings in run.toml. Restore the run.toml of this run, or start a new run."
    )
