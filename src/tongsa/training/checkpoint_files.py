"""Verification of a checkpoint before it is loaded: checksums, counters, names, shapes, dtypes, finite weights.

A checkpoint that is damaged or does not fit is not loaded in part: an older one can still be used.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader

from tongsa import config, storage
from tongsa.bounded_files import MAX_JSON_BYTES, MalformedTextError, UnreadableFileError, read_json
from tongsa.config import MAX_COUNT, AtMost, ConfigError, In, NonNegative, check_ranges
from tongsa.errors import InputError
from tongsa.tensor_file import TensorMismatchError, check_finite, read_entries
from tongsa.training.loop import DataPosition
from tongsa.training.muon import Muon

FORMAT_VERSION = 2
"""Increased when older versions of tongsa could not read what this one writes."""
STATE_FILE, PROGRESS_FILE = "state.safetensors", "progress.json"
RECORD_CHECKSUM = "record_sha256"
"""Key of the checksum of all other entries of progress.json."""
FINITE_PREFIXES = ("model/", "ema/")
"""Tensors that must be finite: a moment of the optimizer may overflow in a run that diverges."""


ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")
OPTIMIZER_STATE: dict[type[torch.optim.Optimizer], tuple[str, ...]] = {Muon: ("momentum",)}
"""Tensors of each parameter, for optimizers other than Adam and AdamW."""


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
    seconds: Annotated[float, In(0), AtMost(MAX_COUNT)] = 0.0
    """Time spent in updates, including those before a resume."""
    loss_scale: Annotated[float, In(0, open_low=True), AtMost(MAX_COUNT)] = 1.0
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


@dataclass(frozen=True, kw_only=True)
class CheckpointRecord:
    """Content of progress.json."""

    progress: TrainingProgress
    files: dict[str, str]
    """SHA-256 of each tensor file."""
    tensors: int
    """Number of tensors in these files."""
    without_state: tuple[str, ...]
    """Parameters for which the optimizer has no state: they had no gradient so far."""


def dump_record(record: CheckpointRecord) -> str:
    """Return the content of progress.json, with its own checksum."""
    table: dict[str, Any] = {"format": FORMAT_VERSION} | asdict(record.progress)
    table |= {"files": record.files, "tensors": record.tensors, "without_state": list(record.without_state)}
    return json.dumps(table | {RECORD_CHECKSUM: storage.table_sha256(table)}, indent=1)


def read_record(path: Path) -> CheckpointRecord:
    """Read progress.json of a checkpoint whose files have their checksums; raise DamagedCheckpointError otherwise."""
    try:
        table = read_json(path / PROGRESS_FILE, MAX_JSON_BYTES)
        if not isinstance(table, dict):
            raise DamagedCheckpointError(f"{PROGRESS_FILE} is not a table")
        checksum = table.pop(RECORD_CHECKSUM, None)
        is_intact, version = checksum == storage.table_sha256(table), table.pop("format", "unknown")
        if type(version) is int and version != FORMAT_VERSION and (is_intact or checksum is None):
            raise InputError(
                f"{path}: checkpoint format {version}, but this tongsa reads format {FORMAT_VERSION}. "
                "Resume with the tongsa version that wrote it, or start a new run."
            )
        if not is_intact:
            raise DamagedCheckpointError(f"the checksum of {PROGRESS_FILE} is wrong")
        files, tensors = table.pop("files", None), table.pop("tensors", None)
        without_state = table.pop("without_state", None)
        progress = config.build_config(TrainingProgress, table)
    except UnreadableFileError as error:
        raise DamagedCheckpointError(error.reason) from None
    except ConfigError as error:
        raise DamagedCheckpointError(f"{PROGRESS_FILE}: {error}") from None
    if path.name != f"{progress.step:09d}":
        raise DamagedCheckpointError(f"{PROGRESS_FILE} is that of step {progress.step}")
    if not isinstance(without_state, list):
        raise DamagedCheckpointError(f"{PROGRESS_FILE} does not list the parameters without optimizer state")
    _verify_files(path, files, tensors)
    return CheckpointRecord(progress=progress, files=files, tensors=tensors, without_state=tuple(without_state))


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
        except UnreadableFileError as error:
            raise DamagedCheckpointError(f"{name}: {error.reason}") from None
        if storage.folder_file_sha256(path / name) != checksum:
            raise DamagedCheckpointError(f"the checksum of {name} is wrong")
    if added := {file.name for file in path.glob("*.safetensors")} - checksums.keys():
        raise DamagedCheckpointError(f"{min(added)[:100]!r} was added")
    if tensor_count != len(describe_tensors(path)):
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
    record: CheckpointRecord,
) -> None:
    """Raise an error unless the checkpoint has the whole state of these optimizers, as their parameters need it."""
    expected: dict[str, Tensor] = {}
    for key, optimizer, parameter in _optimizer_parameters(optimizers):
        if record.progress.step and key not in record.without_state:
            names = OPTIMIZER_STATE.get(type(optimizer), ADAM_STATE)
            expected |= {f"{key}/{name}": parameter for name in names}
    states = {name for name in saved if name.startswith("optimizer ")}
    for name in sorted(states):
        if name not in expected:
            raise mismatch_error(path, name)
        size, dtype, parameter = saved[name].size, saved[name].dtype, expected[name]
        if name.endswith("/step"):
            if size.numel() != 1:
                raise DamagedCheckpointError(f"{name}: {size.numel()} counters instead of one")
        elif size != parameter.size():
            raise mismatch_error(path, name)
        elif dtype != parameter.dtype:
            raise DamagedCheckpointError(f"{name}: the precision is {dtype}, not {parameter.dtype}")
    if missing := sorted(expected.keys() - states):
        raise DamagedCheckpointError(f"the state of the optimizer is missing: {missing[0]}")


def _optimizer_parameters(
    optimizers: Sequence[torch.optim.Optimizer],
) -> Iterator[tuple[str, torch.optim.Optimizer, Tensor]]:
    """Yield the name of each parameter in a checkpoint, its optimizer and itself."""
    for i, optimizer in enumerate(optimizers):
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        for index, parameter in enumerate(parameters):
            yield f"optimizer {i}/{index}", optimizer, parameter


def parameters_without_state(optimizers: Sequence[torch.optim.Optimizer]) -> tuple[str, ...]:
    """Return the names of parameters for which the optimizers have no state."""
    return tuple(
        key for key, optimizer, parameter in _optimizer_parameters(optimizers) if not optimizer.state.get(parameter)
    )


def mismatch_error(path: Path, name: str) -> CheckpointMismatchError:
    return CheckpointMismatchError(
        f"{path}: {name} does not match the settings in run.toml. Restore the run.toml of this run, or start a new run."
    )
