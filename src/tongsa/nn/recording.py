"""Recording of named tensors: one call at each point of the mathematics.

    scores = record("attention.scores", self, query @ keys.mT * scale, Q=query, K=keys, scale=scale)

`record` returns its value. Outside `recording()` it does nothing else. Inside, the tensor is kept with its name, the
path of the module, the time step of a loop, the operands, and the line of code that called `record`. An edit may
replace the value at the same point. `visualize/equations.py` explains every name.

Operands are found by identity: an operand that was recorded before, or that is a view of a recorded tensor, refers to
it. Parameters, numbers and masks are operands too.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

AttentionRole = Literal["encoder", "decoder", "cross", "hops"]
"""Attention from source to source, target to target, target to memory, and from hops (Lin et al. 2017) to source."""

Operand = Tensor | float


@dataclass(frozen=True)
class RecordedTensor:
    """One value of a recording."""

    name: str
    """Key of the equation table."""
    path: str
    """Path of the module, such as "encoder.layers.0.self_attention"."""
    time: int | None
    """Time step of a loop, from 0; None for values of all positions at once."""
    value: Tensor
    operands: Mapping[str, Operand]
    """Symbol → operand, as it was given."""
    sources: Mapping[str, int]
    """Symbol → index of the recorded tensor that the operand is, or is a part of."""
    file: str
    line: int
    is_edited: bool = False
    """The value is that of an edit, not what the operands give."""


TensorEdit = Callable[[RecordedTensor], Tensor | None]
"""A change of a value where it is recorded; None leaves it as it is."""


class Observer(Protocol):
    """The target of all recorded values inside a block."""

    keeps_tensors: bool
    """False if only attention weights are recorded: then other layers stay fused."""
    time: int | None

    def tensor(self, name: str, module: nn.Module, value: Tensor, operands: Mapping[str, Operand]) -> Tensor: ...

    def copy(self, value: Tensor, original: Tensor) -> None: ...

    def attention(self, role: AttentionRole, weights: Tensor) -> None: ...


_observer: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def observe(observer: Observer) -> Iterator[None]:
    """Send all values that are recorded inside this block to an observer, in this thread only."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def record(name: str, module: nn.Module, value: Tensor, **operands: Operand) -> Tensor:
    """Record a value and its operands if inside `recording()`; return it, or what an edit makes of it."""
    if torch.compiler.is_compiling():  # a compiled graph cannot record
        return value
    observer = _observer.get()
    return value if observer is None else observer.tensor(name, module, value, operands)


def record_weights(role: AttentionRole, weights: Tensor) -> None:  # (batch, head, query, key)
    """Record attention weights if inside `record_attention()`."""
    observer = _observer.get()
    if observer is not None:
        observer.attention(role, weights)


def record_copy(value: Tensor, original: Tensor) -> Tensor:
    """Return a value that holds the same numbers as a recorded tensor, in another order or with other time steps.

    As an operand it refers to the original: all states of a loop, for example, to the last one that was recorded.
    """
    if torch.compiler.is_compiling():
        return value
    observer = _observer.get()
    if observer is not None:
        observer.copy(value, original)
    return value


def record_time(time: int | None) -> None:
    """Set the time step of the values that are recorded next; None after the loop."""
    if torch.compiler.is_compiling():
        return
    observer = _observer.get()
    if observer is not None:
        observer.time = time


def is_recording() -> bool:
    """Return True if attention weights or tensors are recorded; then attention is not fused.

    A compiled graph cannot record. ONNX export runs inside `record_attention()` to avoid the fused kernel, which
    specializes on lengths.
    """
    compiled = torch.compiler.is_compiling() and not torch.compiler.is_exporting()
    return not compiled and _observer.get() is not None


def is_recording_tensors() -> bool:
    """Return True inside `recording()`; then no layer is fused."""
    if torch.compiler.is_compiling():
        return False
    observer = _observer.get()
    return observer is not None and observer.keeps_tensors


class Recorder:
    """All tensors of a computation, in its order."""

    keeps_tensors = True

    def __init__(self, model: nn.Module, edits: Sequence[TensorEdit] = ()) -> None:
        self.model = model
        self.edits = edits
        self.time: int | None = None
        self.tensors: list[RecordedTensor] = []
        self._paths = {id(module): path for path, module in model.named_modules()}
        self._index_by_id: dict[int, int] = {}
        self._index_by_storage: dict[int, int] = {}
        self._copies: list[Tensor] = []

    def enter(self, part: str) -> None:
        """Name modules as parts of this module: one that encoder and decoder share has a path in each of them."""
        modules = self.model.get_submodule(part).named_modules(prefix=part)
        self._paths |= {id(module): path for path, module in modules}

    def index(self, tensor: Tensor) -> int | None:
        """Return the index of a recorded tensor, or of the recorded tensor that this one is a view of."""
        index = self._index_by_id.get(id(tensor))
        return self._index_by_storage.get(_storage(tensor)) if index is None else index

    def tensor(self, name: str, module: nn.Module, value: Tensor, operands: Mapping[str, Operand]) -> Tensor:
        caller = sys._getframe(2)  # the function that called `record`
        sources = {symbol: self.index(operand) for symbol, operand in operands.items() if isinstance(operand, Tensor)}
        recorded = RecordedTensor(
            name=name,
            path=self._paths.get(id(module), ""),
            time=self.time,
            value=value,
            operands=operands,
            sources={symbol: index for symbol, index in sources.items() if index is not None},
            file=caller.f_code.co_filename,
            line=caller.f_lineno,
        )
        for edit in self.edits:
            edited = edit(recorded)
            recorded = recorded if edited is None else replace(recorded, value=edited, is_edited=True)
        is_operand = any(recorded.value is operand for operand in operands.values())
        if not is_operand and id(recorded.value) not in self._index_by_id:  # else nothing was computed
            self._keep(recorded)
        return recorded.value

    def _keep(self, recorded: RecordedTensor) -> None:
        # the list keeps all tensors alive, so that neither an id nor a storage is used again
        index = len(self.tensors)
        self.tensors.append(recorded)
        self._index_by_id[id(recorded.value)] = index
        self._own_storage(recorded.value, index)

    def copy(self, value: Tensor, original: Tensor) -> None:
        index = self.index(original)
        if index is not None:
            self._copies.append(value)
            self._index_by_id[id(value)] = index
            self._own_storage(value, index)

    def _own_storage(self, value: Tensor, index: int) -> None:
        """Let views of this storage refer to the largest tensor that was recorded in it."""
        known = self._index_by_storage.get(_storage(value))
        if known is None or value.numel() > self.tensors[known].value.numel():
            self._index_by_storage[_storage(value)] = index

    def attention(self, role: AttentionRole, weights: Tensor) -> None:
        """Attention weights are among the tensors."""


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


@contextmanager
def recording(model: nn.Module, *, edits: Sequence[TensorEdit] = ()) -> Iterator[Recorder]:
    """Record every named tensor that is computed inside this block, in this thread only."""
    recorder = Recorder(model, edits)
    with observe(recorder):
        yield recorder
