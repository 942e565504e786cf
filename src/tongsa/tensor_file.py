"""Safetensors files that are checked before their tensors are loaded: names, shapes and dtypes against the model.

    8 bytes: size of the header │ header: JSON, name → dtype, shape, begin and end of its data │ data

The header is read first and compared with a model on the meta device, which has shapes and no data. So a file that does
not fit, or has another SHA-256, is refused before memory is taken. The tensors are read into their own memory.
"""

import hashlib
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import torch
from torch import Tensor, nn

from tongsa import system
from tongsa.bounded_files import MAX_JSON_BYTES, MAX_WEIGHTS_BYTES, UnreadableFileError, open_regular, parse_json
from tongsa.interface import EncoderDecoder, load_tensors, named_tensors

LENGTH_BYTES = 8
"""Bytes that hold the size of the header."""
MAX_DIMENSIONS = 8
DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
"""Names of dtypes in the header, for the dtypes that models have."""


class TensorMismatchError(ValueError):
    """A tensor file that does not fit a model: other names, shapes or dtypes, or values that are not finite."""


class TensorEntry(NamedTuple):
    """Description of a tensor in the header."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    begin: int
    """First byte, counted from the end of the header."""
    end: int


class TensorFile(NamedTuple):
    """An open file with the header that was read from it. A file that is replaced meanwhile stays the same here."""

    path: Path
    file: BinaryIO
    data_begin: int
    """First byte after the header."""
    entries: dict[str, TensorEntry]


@contextmanager
def open_tensors(path: Path) -> Iterator[TensorFile]:
    """Open a file and read its header; raise TensorMismatchError if that is damaged."""
    with open_regular(path, MAX_WEIGHTS_BYTES) as file:
        try:
            data_begin, entries = _read_header(file, file.seek(0, os.SEEK_END))
        except OSError as error:
            raise UnreadableFileError(path, f"cannot be read ({error.strerror})") from None
        yield TensorFile(path, file, data_begin, entries)


def load_model(
    weights: TensorFile, sha256: str, build: Callable[[], EncoderDecoder], *, min_tensors: int, is_own_kind: bool
) -> EncoderDecoder:
    """Return a model with the weights of a file. Names, shapes and dtypes are compared before memory is taken.

    A file of fewer than `min_tensors` is refused before the model is built: many layers take time without data too. A
    kind of the user's own is built again in memory: it may hold tensors that are neither parameters nor buffers.
    """
    if (count := len(weights.entries)) < min_tensors:
        raise TensorMismatchError(f"tensor names differ: {count} tensors, but {min_tensors} layers in the settings")
    model = build_on_meta(build, is_own_kind=is_own_kind)
    tensors = load_verified(weights, sha256, model)
    check_finite(tensors)
    if is_own_kind:
        model = build()
        load_tensors(model, tensors)
    else:
        assign_tensors(model, tensors)
    return model


def build_on_meta(build: Callable[[], EncoderDecoder], *, is_own_kind: bool) -> EncoderDecoder:
    """Return a model with shapes and no data; a kind of the user's own that has no such form is built in memory."""
    try:
        with torch.device("meta"):
            return build()
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:
        if is_own_kind:
            return build()
        raise TensorMismatchError(str(error).partition("\n")[0]) from None


def load_verified(weights: TensorFile, sha256: str, model: nn.Module) -> dict[str, Tensor]:
    """Return the tensors of a file for a model, which may be on the meta device.

    Raise TensorMismatchError if they do not fit the model, InputError if the file is damaged or too large for memory.
    The checksum is computed before memory is taken, so the file is read twice; the second time it is in the page cache.
    """
    check_entries(weights.entries, model)
    _check_memory(weights.path, sum(entry.end - entry.begin for entry in weights.entries.values()))
    try:
        version = _file_version(weights.file)
        weights.file.seek(0)
        digest = hashlib.file_digest(weights.file, "sha256")  # type: ignore[arg-type]
        if digest.hexdigest() != sha256:
            raise UnreadableFileError(weights.path, "damaged (its checksum is wrong)")
        tensors = {name: _read_tensor(weights, entry) for name, entry in weights.entries.items()}
        if _file_version(weights.file) != version:
            raise UnreadableFileError(weights.path, "it was changed while it was read")
    except OSError as error:
        raise UnreadableFileError(weights.path, f"cannot be read ({error.strerror})") from None
    return tensors


def load_finite(path: Path, model: nn.Module) -> dict[str, Tensor]:
    """Return the tensors of a file without a checksum for a model; they must fit it and be finite."""
    with open_tensors(path) as weights:
        check_entries(weights.entries, model)
        try:
            tensors = {name: _read_tensor(weights, entry) for name, entry in weights.entries.items()}
        except OSError as error:
            raise UnreadableFileError(path, f"cannot be read ({error.strerror})") from None
    check_finite(tensors)
    return tensors


def _file_version(file: BinaryIO) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


def read_entries(path: Path) -> dict[str, TensorEntry]:
    """Return the descriptions of all tensors of a file, without their data."""
    with open_tensors(path) as weights:
        return weights.entries


def _read_header(file: BinaryIO, size: int) -> tuple[int, dict[str, TensorEntry]]:
    """Return where the header ends, and the tensors in it; raise TensorMismatchError for a damaged header."""
    file.seek(0)
    length = int.from_bytes(file.read(LENGTH_BYTES), "little")
    header_end = LENGTH_BYTES + length
    if length > MAX_JSON_BYTES or header_end > size:
        raise TensorMismatchError("the file is truncated, or its header is too large")
    header = parse_json(file.read(length))
    if not isinstance(header, dict):
        raise TensorMismatchError("the header is not a table")
    header.pop("__metadata__", None)
    entries = {name: _parse_entry(name, value, size - header_end) for name, value in header.items()}
    if sum(entry.end - entry.begin for entry in entries.values()) != size - header_end:
        raise TensorMismatchError("the file has another size than its header says")
    return header_end, entries


def _parse_entry(name: str, value: Any, data_size: int) -> TensorEntry:
    try:
        dtype, shape, (begin, end) = DTYPES[value["dtype"]], value["shape"], value["data_offsets"]
        is_valid = len(shape) <= MAX_DIMENSIONS and all(type(size) is int and size >= 0 for size in (*shape, begin))
        is_valid = is_valid and type(end) is int and begin <= end <= data_size
        if is_valid and math.prod(shape) * dtype.itemsize == end - begin:
            return TensorEntry(dtype, tuple(shape), begin, end)
    except (KeyError, TypeError, ValueError):
        pass
    raise TensorMismatchError(f"the header describes {name[:100]!r} wrongly, or the file is truncated")


def check_entries(entries: Mapping[str, TensorEntry], model: nn.Module) -> None:
    """Raise TensorMismatchError unless the tensors have the names, shapes and dtypes of the model's."""
    expected = named_tensors(model)
    if entries.keys() != expected.keys():
        names = sorted(entries.keys() ^ expected.keys())
        raise TensorMismatchError(f"tensor names differ: {[name[:100] for name in names[:4]]}")
    for name, entry in entries.items():
        shape, dtype = tuple(expected[name].shape), expected[name].dtype
        if entry.shape != shape:
            raise TensorMismatchError(f"{name}: shape {entry.shape} does not match {shape} of the settings")
        if entry.dtype != dtype:
            raise TensorMismatchError(f"{name}: the precision is {entry.dtype}, not {dtype}")


def _check_memory(path: Path, size: int) -> None:
    """Raise UnreadableFileError if the tensors of a file do not fit into memory."""
    available = system.available_memory()
    if available is not None and size > available:
        needed = f"loading takes {size / 1e9:,.1f} GB of memory, and {available / 1e9:,.1f} GB are available"
        raise UnreadableFileError(path, needed, "End other programs, or use a machine with more memory.")


def _read_tensor(weights: TensorFile, entry: TensorEntry) -> Tensor:
    tensor = torch.empty(entry.shape, dtype=entry.dtype, device="cpu")
    if entry.end > entry.begin:
        weights.file.seek(weights.data_begin + entry.begin)
        content: Any = tensor.view(-1).view(torch.uint8).numpy()
        if weights.file.readinto(content) != entry.end - entry.begin:  # type: ignore[attr-defined]
            raise UnreadableFileError(weights.path, "it was changed while it was read")
    return tensor


def check_finite(tensors: Mapping[str, Tensor]) -> None:
    """Raise TensorMismatchError if a value is NaN or infinite."""
    for name, tensor in tensors.items():
        if not tensor.is_floating_point() or tensor.sum().isfinite():  # one pass; NaN and infinity spread to the sum
            continue
        if not tensor.isfinite().all():  # the sum of large values may overflow
            raise TensorMismatchError(f"{name}: a weight is NaN or infinite")


@torch.no_grad()
def assign_tensors(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Replace the parameters and buffers of a model on the meta device; shared ones stay shared."""
    expected = named_tensors(model)
    values = {id(expected[name]): value for name, value in tensors.items()}
    parameters: dict[int, nn.Parameter] = {}
    for module in model.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is not None and (key := id(parameter)) in values:
                new = parameters.setdefault(key, nn.Parameter(values[key], requires_grad=parameter.requires_grad))
                setattr(module, name, new)  # nn.LSTM keeps a list of its weights, which this updates
        for name, buffer in list(module._buffers.items()):
            if buffer is not None and id(buffer) in values:
                setattr(module, name, values[id(buffer)])
