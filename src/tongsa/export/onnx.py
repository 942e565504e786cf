"""Export of any kind of model to ONNX: an encoder graph and a decoder step graph, or one classifier graph.

encoder.onnx     source (batch, length), lengths (batch,)  →  the decoder state before the first token
step.onnx        token (batch,), the decoder state         →  logits (batch, token), and the updated parts of the state
classifier.onnx  source (batch, length), lengths (batch,)  →  logits (batch, label)

A decoder state is flattened to named tensors, whatever its structure is. A language model has both graphs, so that the
same code runs it; its encoder uses only the batch size. All graphs work for any batch size, and for any length that
the model supports.
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
"""Larger weights are stored in a separate file: an ONNX file is limited to 2 GiB."""

Graphs = dict[str, Any]
"""File name without suffix → ONNX program."""
Metadata = dict[str, Any]
"""Entries of tongsa.json."""


def write(folder: Path, bundle: Bundle, *, int8: bool) -> Metadata:
    """Write the graphs into a folder and return their metadata."""
    assert not int8  # noqa: S101 - the command line rejects it
    if find_spec("onnxscript") is None:
        raise InputError(
            "--to onnx: onnx and onnxscript are not installed. Run: pip install -e '.[onnx]' -c constraints.txt"
        )
    model = bundle.model
    is_large = sum(value.nbytes for value in named_tensors(model).values()) > MAX_INLINE_WEIGHT_BYTES
    # recorded attention is computed step by step, without fused kernels that specialize on lengths
    with _silence_exporter(), torch.no_grad(), record_attention():
        graphs, metadata = (
            _export_classifier(bundle) if bundle.config.task == "classification" else _export_encoder_decoder(model)
        )
        for name, graph in graphs.items():
            graph.save(folder / f"{name}.onnx", external_data=is_large)
    return {"max_positions": model.max_positions} | metadata


def _export_classifier(bundle: Bundle) -> tuple[Graphs, Metadata]:
    """Return the classifier graph, and the labels in the order of the logits."""
    graph = _export_source_graph(_ClassifierGraph(bundle.model), ["logits"])
    return {"classifier": graph}, {"labels": bundle.target_tokenizer.token_strings(range(len(bundle.target_tokenizer)))}


def _export_encoder_decoder(model: EncoderDecoder) -> tuple[Graphs, Metadata]:
    """Return encoder and step graph, the names of the state's tensors, and which of them a step updates."""
    names = _state_names(model)
    graphs = {
        "encoder": _export_source_graph(_EncoderGraph(model, names), names.tensors),
        "step": _export_step_graph(model, names),
    }
    return graphs, {"state": names.tensors, "updated": names.updated, "counters": bool(names.counters)}


class _StateNames(NamedTuple):
    """Names of the values in a flattened decoder state."""

    tensors: list[str]
    """All tensors."""
    updated: list[str]
    """Tensors that a step replaces; the others stay as the encoder graph returned them."""
    counters: list[str]
    """Integers that count the tokens so far. Other integers are constant."""


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
    """Export a module whose inputs are source and lengths."""
    dynamic = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC}, {0: Dim.DYNAMIC})
    program = torch.export.export(module, tuple(_dummy_source([5, 7, 4])), dynamic_shapes=dynamic, strict=False)
    return torch.onnx.export(program, input_names=["source", "lengths"], output_names=output_names, verbose=False)


def _export_step_graph(model: EncoderDecoder, names: _StateNames) -> Any:
    # two states with different batch sizes, lengths and steps: the dimensions in which they differ are dynamic
    state = _state_after_steps(model, [5, 7, 4], 2)
    values, other_values = flatten_state(state), flatten_state(_state_after_steps(model, [9, 6], 0))
    dynamic_dims = {
        name: {dim: Dim.DYNAMIC for dim, size in enumerate(values[name].shape) if size != other_values[name].shape[dim]}
        for name in names.tensors
    }
    tensors = {name: _example_input(values[name], dynamic_dims[name]) for name in names.tensors}
    program = torch.export.export(
        _StepGraph(model, state, names),
        (torch.tensor([4, 5, 6]), 2 if names.counters else None, tensors),
        dynamic_shapes=({0: Dim.DYNAMIC}, Dim.DYNAMIC if names.counters else None, dynamic_dims),
        strict=False,
    )
    inputs = ["token", *(["position"] if names.counters else []), *names.tensors]
    outputs = ["logits", *(f"new_{name}" for name in names.updated)]
    return torch.onnx.export(program, input_names=inputs, output_names=outputs, verbose=False)


def _example_input(values: Tensor, dynamic_dims: Iterable[int]) -> Tensor:
    """Return a copy without dynamic dimensions of size 1, which the exporter would treat as constant.

    A copy, because a view of a larger tensor would export the larger one.
    """
    for dim in dynamic_dims:
        values = values.repeat_interleave(2, dim) if values.shape[dim] == 1 else values
    return values.clone()


def _dummy_source(lengths: list[int]) -> Padded:
    return pad([[UNK] * (length - 1) + [EOS] for length in lengths])


def _state_after_steps(model: EncoderDecoder, lengths: list[int], steps: int) -> Any:
    """Return the decoder state after this many steps."""
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
        updated = flatten_state(after)
        return (logits, *(updated[name] for name in self.names.updated))


def flatten_state(state: Any, prefix: str = "") -> dict[str, Any]:
    """Return all tensors and numbers of a nested state by their paths, such as cache_0_keys."""
    children = _children(state)
    if children is None:
        return {prefix: state}
    values: dict[str, Any] = {}
    for key, child in children.items():
        values |= flatten_state(child, f"{prefix}_{key}" if prefix else key)
    return values


def unflatten_state(template: Any, values: Mapping[str, Any], prefix: str = "") -> Any:
    """Return a state with the structure of `template` and these values: the inverse of `flatten_state`."""
    children = _children(template)
    if children is None:
        return values[prefix]
    state = {
        key: unflatten_state(child, values, f"{prefix}_{key}" if prefix else key) for key, child in children.items()
    }
    return tuple(state.values()) if type(template) is tuple else type(template)(**state)


def _children(state: Any) -> dict[str, Any] | None:
    """Return the fields of a dataclass or the items of a tuple; None for a leaf."""
    if dataclasses.is_dataclass(state):
        return {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
    if not isinstance(state, tuple):
        return None
    return dict(zip(getattr(state, "_fields", map(str, range(len(state)))), state, strict=True))


@contextmanager
def _silence_exporter() -> Iterator[None]:
    """Suppress the exporter's warnings, which are meant for its developers."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
