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
from tongsa.interface import EncoderDecoder, named_tensors
from tongsa.nn.attention import record_attention
from tongsa.tokenization.special import EOS, UNK

MAX_INLINE_WEIGHT_BYTES = 1 << 30
"""Bytes of weights from which they stand in a file of their own: a graph is limited to two of these."""

Graphs = dict[str, Any]
"""By the names of their files."""
Metadata = dict[str, Any]
"""What a reader has to know of them."""


def write(folder: Path, bundle: Bundle, *, int8: bool) -> Metadata:
    """Fill a folder; `int8` is for another format."""
    assert not int8  # noqa: S101 - the verb has refused it
    if find_spec("onnxscript") is None:
        raise InputError(
            "--to onnx needs onnx and onnxscript, which are not installed: pip install -e '.[onnx]' -c constraints.txt"
        )
    model, external = (
        bundle.model,
        sum(value.nbytes for value in named_tensors(bundle.model).values()) > MAX_INLINE_WEIGHT_BYTES,
    )
    with (
        _silence_exporter(),
        torch.no_grad(),
        record_attention(),
    ):  # watched, attention is spelt out, and knows no special lengths
        graphs, facts = (
            _export_classifier(bundle) if bundle.config.task == "classification" else _export_encoder_decoder(model)
        )
        for name, graph in graphs.items():
            graph.save(folder / f"{name}.onnx", external_data=external)
    return {"max_positions": model.max_positions} | facts


def _export_classifier(bundle: Bundle) -> tuple[Graphs, Metadata]:
    """With the labels, in the order of the logits."""
    graph = _export_source_graph(_ClassifierGraph(bundle.model), ["logits"])
    return {"classifier": graph}, {"labels": bundle.target_tokenizer.token_strings(range(len(bundle.target_tokenizer)))}


def _export_encoder_decoder(model: EncoderDecoder) -> tuple[Graphs, Metadata]:
    """With the names in a state, and which of them change."""
    names = _state_names(model)
    graphs = {
        "encoder": _export_source_graph(_EncoderGraph(model, names), names.tensors),
        "step": _export_step_graph(model, names),
    }
    return graphs, {"state": names.tensors, "changing": names.updated, "counts": bool(names.counters)}


class _StateNames(NamedTuple):
    """What is in a state."""

    tensors: list[str]
    """Its tensors."""
    updated: list[str]
    """Those that a step makes anew; the others are given to every step as the encoder left them."""
    counters: list[str]
    """Numbers that count the pieces so far. Other numbers stay as they are."""


def _state_names(model: EncoderDecoder) -> _StateNames:
    before = _state_after_steps(model, [3, 2], 0)
    _, state = model.decoder.step(torch.tensor([UNK, UNK]), before)
    old, new = flatten_state(before), flatten_state(state)
    tensors = [name for name, leaf in old.items() if isinstance(leaf, Tensor)]
    return _StateNames(
        tensors=tensors,
        updated=[name for name in tensors if new[name] is not old[name]],
        counters=[name for name in old if name not in tensors and new[name] != old[name]],
    )


def _export_source_graph(module: nn.Module, output_names: list[str]) -> Any:
    """The graph of what takes a source."""
    dynamic = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC}, {0: Dim.DYNAMIC})
    program = torch.export.export(module, tuple(_dummy_source([5, 7, 4])), dynamic_shapes=dynamic, strict=False)
    return torch.onnx.export(program, input_names=["source", "lengths"], output_names=output_names, verbose=False)


def _export_step_graph(model: EncoderDecoder, names: _StateNames) -> Any:
    state, other = _state_after_steps(model, [5, 7, 4], 2), _state_after_steps(model, [9, 6], 0)
    one, two = flatten_state(state), flatten_state(other)
    sizes = {
        name: {at: Dim.DYNAMIC for at, size in enumerate(one[name].shape) if size != two[name].shape[at]}
        for name in names.tensors
    }
    given = {name: _example_input(one[name], sizes[name]) for name in names.tensors}
    program = torch.export.export(
        _StepGraph(model, state, names),
        (torch.tensor([4, 5, 6]), 2 if names.counters else None, given),
        dynamic_shapes=({0: Dim.DYNAMIC}, Dim.DYNAMIC if names.counters else None, sizes),
        strict=False,
    )
    inputs = ["piece", *(["place"] if names.counters else []), *names.tensors]
    outputs = ["logits", *(f"new_{name}" for name in names.updated)]
    return torch.onnx.export(program, input_names=inputs, output_names=outputs, verbose=False)


def _example_input(values: Tensor, dynamic_dims: Iterable[int]) -> Tensor:
    """A copy, for a part of a larger tensor would bring the larger one along; a size of 1 would be taken for fixed."""
    for at in dynamic_dims:
        values = values.repeat_interleave(2, at) if values.shape[at] == 1 else values
    return values.clone()


def _dummy_source(lengths: list[int]) -> Padded:
    return pad([[UNK] * (length - 1) + [EOS] for length in lengths])


def _state_after_steps(model: EncoderDecoder, lengths: list[int], steps: int) -> Any:
    """The state after so many pieces."""
    state = model.decoder.start(model.encoder(_dummy_source(lengths)))
    for _ in range(steps):
        _, state = model.decoder.step(torch.full((len(lengths),), UNK), state)
    return state


class _ClassifierGraph(nn.Module):
    def __init__(self, model: EncoderDecoder) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, lengths: Tensor) -> Tensor:  # (batch, label)
        state = self.model.decoder.start(self.model.encoder(Padded(source, lengths)))
        logits, _ = self.model.decoder.step(torch.zeros_like(lengths), state)
        return logits


class _EncoderGraph(nn.Module):
    def __init__(self, model: EncoderDecoder, names: _StateNames) -> None:
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Any, ...]:
        state = flatten_state(self.model.decoder.start(self.model.encoder(Padded(source, lengths))))
        return tuple(state[name] for name in self.names.tensors)


class _StepGraph(nn.Module):
    def __init__(self, model: EncoderDecoder, template: Any, names: _StateNames) -> None:
        super().__init__()
        self.model = model
        self.template = template
        self.names = names

    def forward(self, token: Tensor, position: int | None, state: dict[str, Tensor]) -> tuple[Any, ...]:
        values = flatten_state(self.template) | dict.fromkeys(self.names.counters, position) | state
        logits, after = self.model.decoder.step(token, unflatten_state(self.template, values))
        found = flatten_state(after)
        return (logits, *(found[name] for name in self.names.updated))


def flatten_state(state: Any, prefix: str = "") -> dict[str, Any]:
    """Every tensor and number in a state by the path to it: past_0_keys."""
    parts = _children(state)
    if parts is None:
        return {prefix: state}
    found: dict[str, Any] = {}
    for key, part in parts.items():
        found |= flatten_state(part, f"{prefix}_{key}" if prefix else key)
    return found


def unflatten_state(template: Any, values: Mapping[str, Any], prefix: str = "") -> Any:
    """A state made as `like` is, of other tensors and numbers."""
    parts = _children(template)
    if parts is None:
        return values[prefix]
    made = {key: unflatten_state(part, values, f"{prefix}_{key}" if prefix else key) for key, part in parts.items()}
    return tuple(made.values()) if type(template) is tuple else type(template)(**made)


def _children(state: Any) -> dict[str, Any] | None:
    """By name, or by place; nothing where there is nothing to take apart."""
    if dataclasses.is_dataclass(state):
        return {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
    if not isinstance(state, tuple):
        return None
    return dict(zip(getattr(state, "_fields", map(str, range(len(state)))), state, strict=True))


@contextmanager
def _silence_exporter() -> Iterator[None]:
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
