"""Weights of the last validations, recent/STEP.safetensors, for their average at the end of a training.

The header of a file has the SHA-256 of its tensors: a damaged file would change the average without a word.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from tongsa import storage
from tongsa.bounded_files import MalformedTextError, UnreadableFileError
from tongsa.tensor_file import TensorMismatchError, load_finite

CHECKSUM = "sha256"


def save_recent_weights(folder: Path, step: int, tensors: Mapping[str, Tensor], keep: int) -> None:
    """Write the weights of a validation, and delete all but the newest `keep`."""
    tensors = {name: value.detach().contiguous().cpu() for name, value in tensors.items()}
    with storage.explain_os_errors(folder):
        folder.mkdir(exist_ok=True)
        temporary = folder / "new.part"
        storage.remove(temporary)
        save_file(tensors, temporary, metadata={CHECKSUM: _tensors_sha256(tensors)})
        temporary.replace(folder / f"{step:09d}.safetensors")
        for old in list_recent(folder)[:-keep]:
            old.unlink()


def list_recent(folder: Path, last_step: int | None = None) -> list[Path]:
    """Return the files up to a step, oldest first; other names in the folder are not ours."""
    paths = [path for path in folder.glob("*.safetensors") if re.fullmatch(r"[0-9]{9,15}", path.stem, re.ASCII)]
    return sorted(path for path in paths if last_step is None or int(path.stem) <= last_step)


def average_weights(paths: Sequence[Path], model: nn.Module, log: Callable[[str], None]) -> dict[str, Tensor] | None:
    """Return the mean of the weights in files; None for fewer than two. `log` gets a line for a file left out."""
    loaded = [weights for path in paths if (weights := _load_verified(path, model, log)) is not None]
    if len(loaded) < 2:
        return None
    return {
        name: torch.stack([weights[name].double() for weights in loaded]).mean(0).to(loaded[0][name].dtype)
        for name in loaded[0]
    }


def _load_verified(path: Path, model: nn.Module, log: Callable[[str], None]) -> dict[str, Tensor] | None:
    try:
        tensors = load_finite(path, model)
        with safe_open(path, framework="pt") as file:
            if (file.metadata() or {}).get(CHECKSUM) == _tensors_sha256(tensors):
                return tensors
        reason = "damaged (its checksum is wrong)"
    except UnreadableFileError as error:
        reason = error.reason
    except (TensorMismatchError, MalformedTextError, SafetensorError, OSError) as error:
        reason = f"damaged ({error})"
    log(f"{path}: {reason}; the average is that of the other weights")
    return None


def _tensors_sha256(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {list(tensors[name].shape)}\n".encode())
        digest.update(tensors[name].flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
