"""Recorded tensors as data of the trace page: one sentence, loops over time joined, operands by id.

A tensor that the page can compute again from its operands has no values, only a check: row sums and some cells.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tongsa.nn.recording import RecordedTensor
from tongsa.visualize.equations import RECOMPUTED, Equation, equations
from tongsa.visualize.packing import FloatType, pack_bits, pack_floats
from tongsa.visualize.trace_source import SourceLine

Array = NDArray[np.float32]
NUMBERS = frozenset({"scale", "eps", "groups", "rate", "kernel", "left"})
VECTORS = frozenset({"gamma", "beta", "mean", "variance", "v"})
"""Operands that are not recorded tensors, but parameters and statistics of a module."""
INTERNAL_NAMES = frozenset({"lstm.state"})
"""Tensors that only carry others to the next step: they are not shown, but operands are found through them."""
CHECK_CELLS = 4
"""Cells of a recomputed tensor that are compared one by one, besides the sums of all rows."""


@dataclass(frozen=True)
class TraceTensor:
    """One tensor of a trace: a recorded value, or all time steps of a loop."""

    id: str
    name: str
    path: str
    steps: tuple[RecordedTensor, ...]
    """In the order of time; one for a tensor that was computed at once."""
    occurrence: int
    """From 1, for a module that records the same name more than once."""

    @property
    def equation(self) -> Equation | None:
        return equations().get(self.name)

    @property
    def first(self) -> RecordedTensor:
        return self.steps[0]

    @property
    def is_loop(self) -> bool:
        return self.first.time is not None

    @property
    def is_edited(self) -> bool:
        """True if an edit replaced the value: then it does not follow from the operands."""
        return any(step.is_edited for step in self.steps)

    @property
    def axes(self) -> tuple[str, ...]:
        rank = self.first.value.dim() - 1
        return self.equation.axes if self.equation else ("token", *["width"] * rank)[:rank]

    @property
    def key(self) -> str:
        """The path of the module and the name: "encoder.layers.0.self_attention.attention.attention.scores"."""
        key = f"{self.path}.{self.name}"
        return key if self.occurrence == 1 else f"{key}#{self.occurrence}"

    @property
    def array(self) -> Array:
        """The values of the sentence, without the batch dimension."""
        if self.is_loop:
            return np.stack([_to_array(step.value, len(self.axes) - 1) for step in self.steps])
        return _to_array(self.first.value, len(self.axes))


def _to_array(value: Tensor, rank: int) -> Array:
    """Return a value of a batch with one sentence as an array of this rank."""
    array: Array = value.detach().float().cpu().numpy()
    while array.ndim > rank and 1 in array.shape:
        array = array.squeeze(array.shape.index(1))
    return array


def join_steps(recorded: Sequence[RecordedTensor]) -> tuple[list[TraceTensor], list[TraceTensor]]:
    """Return the tensors in the order of the computation, and the tensor of each recorded value."""
    groups: list[list[int]] = []
    loops: dict[tuple[str, str], list[int]] = {}
    for index, step in enumerate(recorded):
        if step.time is None:
            groups.append([index])
        elif (key := (step.name, step.path)) in loops:
            loops[key].append(index)
        else:
            groups.append(loops.setdefault(key, [index]))
    counts: dict[tuple[str, str], int] = {}
    tensors: list[TraceTensor] = []
    by_index: dict[int, TraceTensor] = {}
    for number, group in enumerate(groups):
        first = recorded[group[0]]
        key = first.name, first.path
        counts[key] = counts.get(key, 0) + 1
        steps = tuple(sorted((recorded[index] for index in group), key=lambda step: step.time or 0))
        tensors.append(TraceTensor(f"t{number}", first.name, first.path, steps, counts[key]))
        by_index |= dict.fromkeys(group, tensors[-1])
    return tensors, [by_index[index] for index in range(len(recorded))]


class TensorWriter:
    """Turns tensors into JSON; those that are left out cannot be operands."""

    def __init__(
        self,
        recorded: Sequence[RecordedTensor],
        owners: Sequence[TraceTensor],
        included: Iterable[TraceTensor],
        dtype: FloatType = "float32",
    ) -> None:
        self.recorded = recorded
        self.owners = owners
        self.included = {tensor.id for tensor in included}
        self.dtype: FloatType = dtype

    def is_recomputed(self, tensor: TraceTensor) -> bool:
        """Return True if the page computes the values again: all operands are whole tensors of the page."""
        if tensor.equation is None or tensor.equation.operation not in RECOMPUTED or tensor.is_edited:
            return False
        operands = self.operands(tensor)
        is_complete = tensor.first.operands.keys() - {"mask"} == {*operands, *self._constants(tensor)}
        return is_complete and all(isinstance(operand, str) for operand in operands.values())

    def is_stored(self, tensor: TraceTensor) -> bool:
        """Return True if the page holds the values. Logits are too many: the page has those of the likeliest tokens."""
        return tensor.name != "output.logits" and not self.is_recomputed(tensor)

    def data(self, tensor: TraceTensor, location: SourceLine) -> dict[str, Any]:
        array = tensor.array
        data: dict[str, Any] = {
            "name": tensor.name,
            "path": tensor.path,
            "axes": list(tensor.axes),
            "shape": list(array.shape),
            "operands": self.operands(tensor),
            "left_out": self._left_out(tensor),
            "edited": tensor.is_edited,
            "parameters": self._constants(tensor),
            "dtype": self.dtype,
            "occurrence": tensor.occurrence,
            "file": location.file,
            "line": location.line,
            "values": pack_floats(array, self.dtype) if self.is_stored(tensor) else None,
        }
        if self.is_recomputed(tensor):
            data["check"] = check_digest(array)
        if "mask" in tensor.first.operands:
            data["mask"] = pack_bits(self._mask(tensor, array.shape))
        return data

    def operands(self, tensor: TraceTensor) -> dict[str, Any]:
        """Return the operands that are part of the page: an id, or an object for a part or another time step."""
        return {symbol: operand for symbol, operand in self._operands(tensor).items() if operand is not None}

    def _left_out(self, tensor: TraceTensor) -> list[str]:
        """Return the symbols of operands in layers that are not part of the page."""
        return [symbol for symbol, operand in self._operands(tensor).items() if operand is None]

    def _operands(self, tensor: TraceTensor) -> dict[str, str | dict[str, Any] | None]:
        step = max(tensor.steps, key=self._loop_operands)  # the first step of a loop reads the initial state
        return {symbol: self._operand(tensor, step, symbol, index) for symbol, index in step.sources.items()}

    def _loop_operands(self, step: RecordedTensor) -> int:
        return sum(self.recorded[index].time is not None for index in step.sources.values())

    def _operand(
        self, tensor: TraceTensor, step: RecordedTensor, symbol: str, index: int
    ) -> str | dict[str, Any] | None:
        operand = step.operands[symbol]
        assert isinstance(operand, Tensor)  # noqa: S101 - only tensors have a source
        index, part = self._resolve_part(operand, index)
        owner, source = self.owners[index], self.recorded[index]
        if owner.id not in self.included:
            return None
        details: dict[str, Any] = {"part": part} if part else {}
        row = _row(operand, step, source, len(owner.steps))
        if row is not None:
            details["row"] = row
        if source.time is not None and step.time is not None and source.time != step.time:
            details["shift"] = source.time - step.time
            if (initial := self._initial(tensor, symbol)) is not None:
                details["initial"] = pack_floats(initial)
        return {"tensor": owner.id} | details if details else owner.id

    def _resolve_part(self, operand: Tensor, index: int) -> tuple[int, list[int] | None]:
        """Return the tensor that an operand is, and its columns; a part of a concatenation is what was concatenated."""
        source = self.recorded[index]
        width = source.value.shape[-1] if source.value.dim() else 1
        if not operand.dim() or operand.shape[-1] == width:
            return index, None
        start = int(operand.storage_offset() - source.value.storage_offset()) % width
        equation = equations().get(source.name)
        if equation is not None and equation.operation == "concat":
            offset = 0
            for symbol, part in source.operands.items():
                if isinstance(part, Tensor):
                    if (offset, part.shape[-1]) == (start, operand.shape[-1]) and symbol in source.sources:
                        return self._resolve_part(part, source.sources[symbol])
                    offset += part.shape[-1]
        return index, [start, start + operand.shape[-1]]

    def _initial(self, tensor: TraceTensor, symbol: str) -> Array | None:
        """Return an operand before the first time step: a loop in reverse begins with the last one."""
        for step in (tensor.steps[0], tensor.steps[-1]):
            source, operand = step.sources.get(symbol), step.operands[symbol]
            is_in_loop = source is not None and self.recorded[source].time is not None
            if isinstance(operand, Tensor) and not is_in_loop:
                return _to_array(operand, 1)
        return None

    def _constants(self, tensor: TraceTensor) -> dict[str, Any]:
        """Return learned vectors and statistics, packed, and numbers; a factor of the only sentence is a number."""
        constants: dict[str, Any] = {}
        for symbol, value in tensor.first.operands.items():
            if symbol in NUMBERS:
                constants[symbol] = value.item() if isinstance(value, Tensor) else value
            elif isinstance(value, Tensor) and symbol in VECTORS:
                array = value.detach().float().cpu().numpy()
                constants[symbol] = {"shape": list(array.shape), "values": pack_floats(array)}
        return constants

    def _mask(self, tensor: TraceTensor, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        masks = [step.operands["mask"].expand_as(step.value) for step in tensor.steps]  # type: ignore[union-attr]
        return torch.stack(masks).cpu().numpy().reshape(shape)


def _row(operand: Tensor, step: RecordedTensor, source: RecordedTensor, num_steps: int) -> int | None:
    """Return the row of a matrix that an operand is: one state of a loop, or one slot."""
    if step.time is not None:
        return None  # a loop reads the row of its own time step
    if source.time is not None:
        return source.time if num_steps > 1 and operand.numel() <= source.value.numel() else None
    if operand.dim() >= source.value.dim() or operand.numel() > source.value.shape[-1]:
        return None
    return int(operand.storage_offset() - source.value.storage_offset()) // source.value.shape[-1]


def check_digest(array: Array) -> dict[str, Any]:
    """Return what a recomputed tensor is compared with: the sum of each row's finite values, and some finite cells."""
    rows = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    finite = np.where(np.isfinite(rows), rows, 0)
    indices = np.flatnonzero(np.isfinite(rows))
    cells = indices[np.linspace(0, len(indices) - 1, min(CHECK_CELLS, len(indices))).astype(int)]
    flat = rows.reshape(-1)
    return {
        "rows": pack_floats(finite.sum(axis=1, dtype=np.float64).astype(np.float32)),
        "cells": [[int(cell), float(f"{flat[cell]:.7g}")] for cell in cells],
    }
