"""Any kind as ONNX graphs. What writes pieces is two: one reads the source, the other goes one piece further.

encoder.onnx     source (batch, length), lengths (batch,)  →  the state before the first piece
step.onnx        piece (batch,), the state                 →  logits (batch, piece), and what has changed in the state
classifier.onnx  source (batch, length), lengths (batch,)  →  logits (batch, label)

A state is a handful of named tensors, made by taking apart what the decoder of each kind carries along, whatever that
is. A language model has both graphs too, so that one reader serves it: its encoder sees nothing but how large the batch
is. All graphs hold for any batch, and for any length that the model itself can hold.
"""

import dataclasses
import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.export import Dim

from tongsa.batch import Padded, pad
from tongsa.bundle import Bundle
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder, weights
from tongsa.layers.attention import watching
from tongsa.text import EOS, UNK

LARGE = 1 << 30
"""Bytes of weights from which they stand in a file of their own: a graph is limited to two of these."""

Graphs = dict[str, Any]
"""By the names of their files."""
Facts = dict[str, Any]
"""What a reader has to know of them."""


def write(folder: Path, bundle: Bundle, *, int8: bool) -> Facts:
    """Fill a folder; `int8` is for another format."""
    assert not int8  # noqa: S101 - the verb has refused it
    if find_spec("onnxscript") is None:
        raise InputError("--to onnx needs onnx and onnxscript, which are not installed: pip install 'tongsa[onnx]'")
    model, external = bundle.model, sum(value.nbytes for value in weights(bundle.model).values()) > LARGE
    with _quietly(), torch.no_grad(), watching():  # watched, attention is spelt out, and knows no special lengths
        graphs, facts = _classifying(bundle) if bundle.config.task == "labels" else _writing(model)
        for name, graph in graphs.items():
            graph.save(folder / f"{name}.onnx", external_data=external)
    return {"longest": model.longest} | facts


def _classifying(bundle: Bundle) -> tuple[Graphs, Facts]:
    """With the labels, in the order of the logits."""
    graph = _reading(_Label(bundle.model), ["logits"])
    return {"classifier": graph}, {"labels": bundle.target.names(range(len(bundle.target)))}


def _writing(model: EncoderDecoder) -> tuple[Graphs, Facts]:
    """With the names in a state, and which of them change."""
    names = _names(model)
    graphs = {"encoder": _reading(_Start(model, names), names.state), "step": _stepping(model, names)}
    return graphs, {"state": names.state, "changing": names.changing, "counts": bool(names.counts)}


class _Names(NamedTuple):
    """What is in a state."""

    state: list[str]
    """Its tensors."""
    changing: list[str]
    """Those that a step makes anew; the others are given to every step as the encoder left them."""
    counts: list[str]
    """Numbers that count the pieces so far. Other numbers stay as they are."""


def _names(model: EncoderDecoder) -> _Names:
    before = _after(model, [3, 2], 0)
    _, state = model.decoder.step(torch.tensor([UNK, UNK]), before)
    old, new = leaves(before), leaves(state)
    tensors = [name for name, leaf in old.items() if isinstance(leaf, Tensor)]
    return _Names(
        state=tensors,
        changing=[name for name in tensors if new[name] is not old[name]],
        counts=[name for name in old if name not in tensors and new[name] != old[name]],
    )


def _reading(module: nn.Module, outputs: list[str]) -> Any:
    """The graph of what takes a source."""
    dynamic = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC}, {0: Dim.DYNAMIC})
    program = torch.export.export(module, tuple(_source([5, 7, 4])), dynamic_shapes=dynamic, strict=False)
    return torch.onnx.export(program, input_names=["source", "lengths"], output_names=outputs, verbose=False)


def _stepping(model: EncoderDecoder, names: _Names) -> Any:
    state, other = _after(model, [5, 7, 4], 2), _after(model, [9, 6], 0)
    one, two = leaves(state), leaves(other)
    sizes = {
        name: {at: Dim.DYNAMIC for at, size in enumerate(one[name].shape) if size != two[name].shape[at]}
        for name in names.state
    }
    given = {name: _example(one[name], sizes[name]) for name in names.state}
    program = torch.export.export(
        _Step(model, state, names),
        (torch.tensor([4, 5, 6]), 2 if names.counts else None, given),
        dynamic_shapes=({0: Dim.DYNAMIC}, Dim.DYNAMIC if names.counts else None, sizes),
        strict=False,
    )
    inputs = ["piece", *(["place"] if names.counts else []), *names.state]
    outputs = ["logits", *(f"new_{name}" for name in names.changing)]
    return torch.onnx.export(program, input_names=inputs, output_names=outputs, verbose=False)


def _example(values: Tensor, dynamic: Iterable[int]) -> Tensor:
    """A copy, for a part of a larger tensor would bring the larger one along; a size of 1 would be taken for fixed."""
    for at in dynamic:
        values = values.repeat_interleave(2, at) if values.shape[at] == 1 else values
    return values.clone()


def _source(lengths: list[int]) -> Padded:
    return pad([[UNK] * (length - 1) + [EOS] for length in lengths])


def _after(model: EncoderDecoder, lengths: list[int], steps: int) -> Any:
    """The state after so many pieces."""
    state = model.decoder.start(model.encoder(_source(lengths)))
    for _ in range(steps):
        _, state = model.decoder.step(torch.full((len(lengths),), UNK), state)
    return state


class _Label(nn.Module):
    def __init__(self, model: EncoderDecoder) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, lengths: Tensor) -> Tensor:  # (batch, label)
        state = self.model.decoder.start(self.model.encoder(Padded(source, lengths)))
        logits, _ = self.model.decoder.step(torch.zeros_like(lengths), state)
        return logits


class _Start(nn.Module):
    def __init__(self, model: EncoderDecoder, names: _Names) -> None:
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Any, ...]:
        state = leaves(self.model.decoder.start(self.model.encoder(Padded(source, lengths))))
        return tuple(state[name] for name in self.names.state)


class _Step(nn.Module):
    def __init__(self, model: EncoderDecoder, like: Any, names: _Names) -> None:
        super().__init__()
        self.model = model
        self.like = like
        self.names = names

    def forward(self, piece: Tensor, place: int | None, state: dict[str, Tensor]) -> tuple[Any, ...]:
        values = leaves(self.like) | dict.fromkeys(self.names.counts, place) | state
        logits, after = self.model.decoder.step(piece, rebuilt(self.like, values))
        found = leaves(after)
        return (logits, *(found[name] for name in self.names.changing))


def leaves(state: Any, name: str = "") -> dict[str, Any]:
    """Every tensor and number in a state by the path to it: past_0_keys."""
    parts = _parts(state)
    if parts is None:
        return {name: state}
    found: dict[str, Any] = {}
    for key, part in parts.items():
        found |= leaves(part, f"{name}_{key}" if name else key)
    return found


def rebuilt(like: Any, values: Mapping[str, Any], name: str = "") -> Any:
    """A state made as `like` is, of other tensors and numbers."""
    parts = _parts(like)
    if parts is None:
        return values[name]
    made = {key: rebuilt(part, values, f"{name}_{key}" if name else key) for key, part in parts.items()}
    return tuple(made.values()) if type(like) is tuple else type(like)(**made)


def _parts(state: Any) -> dict[str, Any] | None:
    """By name, or by place; nothing where there is nothing to take apart."""
    if dataclasses.is_dataclass(state):
        return {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
    if not isinstance(state, tuple):
        return None
    return dict(zip(getattr(state, "_fields", map(str, range(len(state)))), state, strict=True))


@contextmanager
def _quietly() -> Iterator[None]:
    """The exporter tells its developers much that is no matter of the user's."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
