"""What is needed to go on exactly: weights, optimiser, average, place in the data, best score so far.

The generators of random numbers need no place here: every draw of a run is seeded by (seed, step) or (seed, epoch).
"""

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from tongsa import files
from tongsa.interface import put, weights
from tongsa.training.loop import Position
from tongsa.training.optimiser import Average


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a run has come."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    best: float | None = None
    best_step: int = 0
    since_best: int = 0
    """Validations since the best one."""
    tokens: int = 0
    seconds: float = 0.0
    """Time spent in updates, over all sessions."""

    @property
    def position(self) -> Position:
        return Position(self.epoch, self.batch)


def save(
    folder: Path,
    progress: Progress,
    model: nn.Module,
    optimisers: Sequence[torch.optim.Optimizer],
    average: Average | None,
    keep: int,
) -> Path:
    """Write one more snapshot; older ones go only when it is safely there."""
    tensors = {f"model/{name}": value.detach() for name, value in weights(model).items()}
    tensors |= {f"average/{name}": value for name, value in (average.values if average else {}).items()}
    for at, optimiser in enumerate(optimisers):
        for index, state in optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser {at}/{index}/{name}": value for name, value in state.items()}
    content = save_tensors({name: value.contiguous().cpu() for name, value in tensors.items()})
    path = folder / f"{progress.step:09d}"
    with files.new_folder(path) as new:
        (new / "state.safetensors").write_bytes(content)
        record = asdict(progress) | {"sha256": hashlib.sha256(content).hexdigest()}
        (new / "progress.json").write_text(json.dumps(record, indent=1), "utf-8")
    for old in _steps(folder)[:-keep]:
        shutil.rmtree(folder / f"{old:09d}")
    return path


def _steps(folder: Path) -> list[int]:
    return sorted(int(path.name) for path in folder.glob("*") if path.name.isdigit()) if folder.is_dir() else []


@dataclass(frozen=True)
class Snapshot:
    progress: Progress
    tensors: dict[str, Tensor]

    def restore(self, model: nn.Module, optimisers: Sequence[torch.optim.Optimizer], average: Average | None) -> None:
        put(model, self._part("model/"))
        if average:
            average.values = self._part("average/")
        for at, optimiser in enumerate(optimisers):
            state: dict[int, dict[str, Any]] = {}
            for name, value in self._part(f"optimiser {at}/").items():
                index, _, key = name.partition("/")
                state.setdefault(int(index), {})[key] = value
            optimiser.load_state_dict(optimiser.state_dict() | {"state": state})

    def _part(self, prefix: str) -> dict[str, Tensor]:
        return {name.removeprefix(prefix): value for name, value in self.tensors.items() if name.startswith(prefix)}


def latest(folder: Path) -> tuple[Snapshot | None, list[str]]:
    """The newest snapshot that is whole, and a sentence for each damaged one that was passed over."""
    remarks: list[str] = []
    for step in reversed(_steps(folder)):
        path = folder / f"{step:09d}"
        try:
            return _load(path), remarks
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            remarks.append(f"{path}: damaged ({error}); the snapshot before it is used")
    return None, remarks


def _load(path: Path) -> Snapshot:
    record = json.loads((path / "progress.json").read_text("utf-8"))
    content = (path / "state.safetensors").read_bytes()
    if hashlib.sha256(content).hexdigest() != record.pop("sha256"):
        raise ValueError("its checksum is wrong")
    return Snapshot(Progress(**record), load_tensors(content))
