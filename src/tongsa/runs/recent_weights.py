"""Weights of the last validations, recent/STEP.safetensors, for their average at the end of a training.

The header of a file has the SHA-256 of its tensors: a damaged file would change the average without a word.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from tongsa import storage
from tongsa.bounded_files import MalformedTextError, UnreadableFileError
from tongsa.errors import InputError
from tongsa.tensor_file import TensorMismatchError, check_entries, check_finite, read_entries

CHECKSUM = "sha256"


def save_recent_weights(folder: Path, step: int, tensors: Mapping[str, Tensor], keep: int) -> None:
    """Write the weights of a validation, and delete all but the newest `keep`."""
    tensors = {name: value.detach().contiguous().cpu() for name, value in tensors.items()}
    with storage.explain_os_errors(folder):
        folder.mkdir(exist_ok=True)
        temporary = folder / "new.part"
        storage.remove(temporary)  # of a killed process; it may also be a link, which is not written through
        save_file(tensors, temporary, metadata={CHECKSUM: _tensors_sha256(tensors)})
        temporary.replace(folder / f"{step:09d}.safetensors")
        for old in list_recent(folder)[:-keep]:
            old.unlink()


def list_recent(folder: Path, last_step: int | None = None) -> list[Path]:
    """Return the files up to a step, oldest first; other names in the folder are not ours."""
    paths = [path for path in folder.glob("*.safetensors") if re.fullmatch(r"[0-9]{9,15}", path.stem, re.ASCII)]
    return sorted(path for path in paths if last_step is None or int(path.stem) <= last_step)


def average_weights(paths: list[Path], model: nn.Module) -> dict[str, Tensor]:
    """Return the mean of the weights in files that fit a model."""
    loaded = [_load_verified(path, model) for path in paths]
    return {
        name: torch.stack([weights[name].double() for weights in loaded]).mean(0).to(loaded[0][name].dtype)
        for name in loaded[0]
    }


def _load_verified(path: Path, model: nn.Module) -> dict[str, Tensor]:
    try:
        check_entries(read_entries(path), model)
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dictionary
            checksum = (file.metadata() or {}).get(CHECKSUM)
        check_finite(tensors)
    except UnreadableFileError as error:
        raise _unusable(path, error.reason) from None
    except (TensorMismatchError, MalformedTextError, SafetensorError, OSError) as error:
        raise _unusable(path, f"damaged ({error})") from None
    if checksum != _tensors_sha256(tensors):
        raise _unusable(path, "damaged (its checksum is wrong)")
    return tensors


def _unusable(path: Path, reason: str) -> InputError:
    return InputError(f"{path}: {reason}. Remove it; the average is then over the other validations.")


def _tensors_sha256(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {list(tensors[name].shape)}\n".encode())
        digest.update(tensors[name].flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
