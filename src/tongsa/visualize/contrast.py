"""Why A and not B: the difference of two logits, split over the parts of the model that wrote into the last state.

A logit is a product with the last hidden state, which is a sum: of embeddings and the outputs of all sub-layers, with
norms in between. A norm is linear once its mean and deviation are known, and a maxout or ReLU once its winners are. So
the difference w_A·h - w_B·h is walked back through the recorded tensors, exactly, as far as they are sums: to the
heads of each attention, the feed-forward networks, the state, the context, the embeddings, or the slots of a pool.
What happened inside those parts is not linear, and is not split (direct logit attribution).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from tongsa.interface import EncoderDecoder
from tongsa.nn.recording import RecordedTensor
from tongsa.visualize.equations import equations
from tongsa.visualize.trace_stages import TITLES, layer_number, part_of
from tongsa.visualize.trace_tensors import TraceTensor

Vector = NDArray[np.float64]


LINEAR_LAYERS = {
    "readout.output": "output_projection",
    "maxout.units": "projection",
    "classifier.hidden": "hidden_layer",
}
"""Linear layers that a direction is walked through: recorded name → layer of the module."""
LAST_ACTIVATIONS = ("classifier.relu", "readout.relu")
"""Activations of the last hidden layer; what is inside other parts is not split."""


class LogitTerm(NamedTuple):
    """One part of a difference of logits."""

    en: str
    ko: str
    path: str
    layer: int | None
    head: int | None
    value: float


class Attribution:
    """Walks a direction back from the last hidden state of one step to the parts that sum up to it."""

    def __init__(
        self, model: EncoderDecoder, recorded: Sequence[RecordedTensor], owners: Sequence[TraceTensor]
    ) -> None:
        self.model, self.recorded, self.owners = model, recorded, owners
        self.handlers: Mapping[str, Callable[[TraceTensor, Vector, int], Iterator[LogitTerm]]] = {
            "residual": self._sum,
            "add": self._sum,
            "norm": self._norm,
            "maxout": self._maxout,
            "activation": self._relu,
            "mean": self._slots,
            "concat": self._concat,
            "dropout": self._dropout,
        }

    def terms(self, step: int, first: int, second: int) -> list[LogitTerm]:
        """Return the terms of logit(first) - logit(second) at a step, from 0."""
        logits = next(item for item in reversed(self.recorded) if item.name == "output.logits")
        projection = self.model.decoder.output
        weights = _array(projection.weight)
        terms = list(self._walk(self.owners[logits.sources["h"]], weights[first] - weights[second], step))
        if projection.bias is not None:
            bias = _array(projection.bias)
            terms.append(_constant("decoder", float(bias[first] - bias[second])))
        return terms

    def _walk(self, tensor: TraceTensor, direction: Vector, row: int) -> Iterator[LogitTerm]:
        """Yield the terms of direction · tensor[row]."""
        if tensor.name == "lstm.state":  # [h, c]: only h is read
            tensor = self.owners[tensor.first.sources["x"]]
        equation = equations().get(tensor.name)
        operation = equation.operation if equation else ""
        if tensor.name == "attention.output":
            yield from self._heads(tensor, direction, row)
        elif tensor.name in LINEAR_LAYERS:
            yield from self._linear(tensor, direction, row)
        elif tensor.name == "maxout.summary_units":
            yield from self._summary_units(tensor, direction, row)
        elif operation in self.handlers and (operation != "activation" or tensor.name in LAST_ACTIVATIONS):
            yield from self.handlers[operation](tensor, direction, row)
        else:
            yield self._leaf(tensor, float(direction @ self._row(tensor, row)))

    def _operand(self, tensor: TraceTensor, symbol: str) -> TraceTensor | None:
        index = tensor.first.sources.get(symbol)
        return None if index is None else self.owners[index]

    def _row(self, tensor: TraceTensor, row: int) -> Vector:
        array = tensor.array.astype(np.float64)
        return array[min(row, len(array) - 1)] if array.ndim > 1 else array

    def _leaf(self, tensor: TraceTensor, value: float, head: int | None = None) -> LogitTerm:
        part, layer = part_of(tensor), layer_number(tensor.path)
        title, title_ko = TITLES.get(part, (part, part))
        if part == "embedding":
            is_position = tensor.name.endswith("position")
            title, title_ko = ("Position", "위치") if is_position else ("Token embedding", "토큰 임베딩")
        if layer:
            title, title_ko = f"Layer {layer} · {title}", f"{layer}층 · {title_ko}"
        if head:
            title, title_ko = f"{title} · head {head}", f"{title_ko} · 헤드 {head}"
        return LogitTerm(title, title_ko, tensor.path, layer, head, value)

    def _sum(self, tensor: TraceTensor, direction: Vector, row: int) -> Iterator[LogitTerm]:
        scaled = direction * float(tensor.first.operands.get("scale", 1.0))
        for symbol in ("x", "y"):
            operand = self._operand(tensor, symbol)
            assert operand is not None  # noqa: S101 - both operands of a sum are recorded
            yield from self._walk(operand, scaled, row)

    def _norm(self, tensor: TraceTensor, direction: Vector, row: int) -> Iterator[LogitTerm]:
        """The mean and the deviation are taken as constants: then the norm is linear."""
        operands, source = tensor.first.operands, self._operand(tensor, "x")
        assert source is not None  # noqa: S101 - the input of a norm is recorded
        x, scaled = self._row(source, row), direction * _array(operands["gamma"])
        constant = float(direction @ _array(operands["beta"])) if "beta" in operands else 0.0
        eps = float(operands["eps"])
        if tensor.name == "norm.rms":
            inner = scaled / np.sqrt((x**2).mean() + eps)
        elif tensor.name == "norm.batch":
            inner = scaled / np.sqrt(_array(operands["variance"]) + eps)
            constant -= float(inner @ _array(operands["mean"]))
        else:
            shape = int(operands.get("groups", 1)), -1
            deviations = np.sqrt(x.reshape(shape).var(axis=1, keepdims=True) + eps)
            grouped = scaled.reshape(shape) / deviations
            inner = (grouped - grouped.mean(axis=1, keepdims=True)).reshape(-1)  # the mean of x is subtracted
        yield from self._walk(source, inner, row)
        if constant:
            yield _constant(tensor.path, constant)

    def _heads(self, tensor: TraceTensor, direction: Vector, row: int) -> Iterator[LogitTerm]:
        module, merged = self.model.get_submodule(tensor.path), self._operand(tensor, "x")
        assert merged is not None  # noqa: S101 - the merged heads are recorded
        projection = _linear_of(module, "output_projection")
        products = (direction @ _array(projection.weight)) * self._row(merged, row)
        for head, part in enumerate(np.split(products, module.heads.count), 1):  # type: ignore[union-attr, arg-type]
            yield self._leaf(tensor, float(part.sum()), head)
        yield self._leaf(tensor, float(direction @ _array(projection.bias)))

    def _linear(self, tensor: TraceTensor, direction: Vector, row: int) -> Iterator[LogitTerm]:
        projection = _linear_of(self.model.get_submodule(tensor.path), LINEAR_LAYERS[tensor.name])
        source = self._operand(tensor, "x")
        assert source is not None  # noqa: S101 - the input of the layer is recorded
        yield from self._walk(source, direction @ _array(projection.weight), row)
        yield _constant(tensor.path, float(direction @ _array(projection.bias)))

    def _summary_units(self, tensor: TraceTensor, direction: Vector, row: int) -> Iterator[LogitTerm]:
        """The maxout units of Cho et al.: state, last token and summary."""
        module = self.model.get_submodule(tensor.path)
        state, token = _linear_of(module, "state_projection"), _linear_of(module, "token_projection")
        for symbol, weight in (("h", state.weight), ("e", token.weight)):
            operand = self._operand(tensor, symbol)
            assert operand is not None  # noqa: S101 - state and token are recorded
            yield from self._walk(operand, direction @ _array(weight), row)
        summary = self._operand(tensor, "c")
        if summary is not None:
            yield self._leaf(summary, float(direction @ self._row(summary, row)))
        yield _constant(tensor.path, float(direction @ _array(state.bias)))

    def _maxout(self, tensor: TraceTensor, direction: Vector, row: int) -> Iterator[LogitTerm]:
        units = self._operand(tensor, "x")
        assert units is not None  # noqa: S101 - the units are recorded
        first, second = np.split(self._row(units, row), 2)
        is_first = first >= second
        yield from self._walk(units, np.concatenate([direction * is_first, direction * ~is_first]), row)

    def _relu(self, tensor: TraceTensor, direction: Vector, row: int) -> Iterator[LogitTerm]:
        hidden = self._operand(tensor, "x")
        assert hidden is not None  # noqa: S101 - the hidden layer is recorded
        yield from self._walk(hidden, direction * (self._row(hidden, row) > 0), row)

    def _dropout(self, tensor: TraceTensor, direction: Vector, row: int) -> Iterator[LogitTerm]:
        source = self._operand(tensor, "x")
        if source is None:
            yield self._leaf(tensor, float(direction @ self._row(tensor, row)))
            return
        before, after = self._row(source, row), self._row(tensor, row)
        factor = np.divide(after, before, out=np.zeros_like(after), where=before != 0)
        yield from self._walk(source, direction * factor, row)

    def _slots(self, tensor: TraceTensor, direction: Vector, _row: int) -> Iterator[LogitTerm]:
        """Mean pooling: one term for each slot."""
        slots = self._operand(tensor, "x")
        assert slots is not None  # noqa: S101 - the memory is recorded
        for number, values in enumerate(slots.array.astype(np.float64) @ direction / len(slots.array), 1):
            yield LogitTerm(f"Slot {number}", f"슬롯 {number}", slots.path, None, None, float(values))

    def _concat(self, tensor: TraceTensor, direction: Vector, row: int) -> Iterator[LogitTerm]:
        """Several operands side by side, or the slots of one."""
        symbols = list(tensor.first.sources)
        if len(symbols) == 1:
            slots = self._operand(tensor, symbols[0])
            assert slots is not None  # noqa: S101 - it has a source
            products = (slots.array.astype(np.float64).reshape(-1) * direction).reshape(slots.array.shape)
            for number, value in enumerate(products.reshape(len(products), -1).sum(axis=1), 1):
                yield LogitTerm(f"Slot {number}", f"슬롯 {number}", slots.path, None, None, float(value))
            return
        names = {"s": ("State", "상태"), "e": ("Previous token", "직전 토큰"), "c": ("Context", "문맥 벡터")}
        values, offset = self._row(tensor, row), 0
        for symbol, operand in tensor.first.operands.items():
            assert isinstance(operand, Tensor)  # noqa: S101 - only tensors are concatenated
            part = slice(offset, offset := offset + operand.shape[-1])
            title, title_ko = names.get(symbol, (symbol, symbol))
            yield LogitTerm(title, title_ko, tensor.path, None, None, float(values[part] @ direction[part]))


def _constant(path: str, value: float) -> LogitTerm:
    return LogitTerm("Constants (biases, β)", "상수 (편향, β)", path, None, None, value)


def _linear_of(module: nn.Module, name: str) -> nn.Linear:
    layer = getattr(module, name)
    assert isinstance(layer, nn.Linear)  # noqa: S101 - for the type
    return layer


def _array(value: Tensor | float) -> Vector:
    assert isinstance(value, Tensor)  # noqa: S101 - for the type: parameters are tensors
    return value.detach().double().cpu().numpy()


def contrast_data(attribution: Attribution, step: int, tokens: tuple[int, int], names: Sequence[str]) -> dict[str, Any]:
    """Return the terms of one pair, ready for JSON; constants are one term."""
    terms = attribution.terms(step, *tokens)
    constants = [term for term in terms if term.en.startswith("Constants")]
    parts = [term for term in terms if term not in constants]
    if constants:
        parts.append(_constant("", sum(term.value for term in constants)))
    return {
        "step": step + 1,
        "a": names[0],
        "b": names[1],
        "difference": _round_digits(sum(term.value for term in terms)),
        "terms": [term._asdict() | {"value": _round_digits(term.value)} for term in parts],
    }


def _round_digits(value: float) -> float:
    return float(f"{value:.6g}")
