"""NumPy reference of the operations that the trace page computes again, on the page's own data."""

import base64
import math
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tongsa.visualize.equations import RECOMPUTED
from tongsa.visualize.packing import unpack_floats

Array = Any
"""A NumPy array."""
Values = Mapping[str, Any]
"""Operands and parameters of one tensor by symbol, its mask and its shape."""


def gelu(x: Array) -> Array:
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def normalize(x: Array, mean: Array, variance: Array, values: Values) -> Array:
    return (x - mean) / np.sqrt(variance + values["eps"]) * values["gamma"] + values.get("beta", 0)


def norm(variant: str, values: Values) -> Array:
    x: Array = values["x"]
    if variant == "rms":
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + values["eps"]) * values["gamma"]
    if variant == "batch":
        return normalize(x, values["mean"], values["variance"], values)
    groups = x.reshape(*x.shape[:-1], values.get("groups", 1), -1)
    mean = np.broadcast_to(groups.mean(-1, keepdims=True), groups.shape).reshape(x.shape)
    variance = np.broadcast_to(groups.var(-1, keepdims=True), groups.shape).reshape(x.shape)
    return normalize(x, mean, variance, values)


def halves(x: Array) -> list[Array]:
    return np.split(x, 2, axis=-1)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": gelu,
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "silu_gate": lambda x: halves(x)[0] * sigmoid(halves(x)[0]) * halves(x)[1],
    "glu": lambda x: halves(x)[0] * sigmoid(halves(x)[1]),
}
GATE_MIXES: dict[str, Callable[[Values], Array]] = {
    "gru": lambda v: v["z"] * v["h"] + (1 - v["z"]) * v["n"],
    "ssru_cell": lambda v: v["f"] * v["c"] + (1 - v["f"]) * v["n"],
    "lstm_cell": lambda v: v["f"] * v["c"] + v["i"] * v["g"],
    "lstm_hidden": lambda v: v["o"] * np.tanh(v["c"]),
}


def additive_score(_: str, values: Values) -> Array:
    query, keys, vector = values["Q"], values["K"], values["v"]
    vector = vector[:, None, None] if query.ndim == 3 else vector[0]  # one vector for each head, or one
    return (np.tanh(query[..., :, None, :] + keys[..., None, :, :]) * vector).sum(-1)


def softmax(_: str, values: Values) -> Array:
    exponentials = np.exp(values["S"] - values["S"].max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def concat(_: str, values: Values) -> Array:
    """Join the heads of one operand, the rows of one operand, or several operands."""
    operands = [value for value in values.values() if isinstance(value, np.ndarray)]
    if len(operands) > 1:
        return np.concatenate(operands, axis=-1)
    (only,) = operands
    return (only.transpose(1, 0, 2) if only.ndim == 3 else only).reshape(values["shape"])


def penalty(_: str, values: Values) -> Array:
    overlap = values["A"] @ values["A"].T
    return np.asarray(((overlap - np.eye(len(overlap))) ** 2).sum())


OPERATIONS: dict[str, Callable[[str, Values], Array]] = {
    "add": lambda _, v: (v["x"] + v["y"]) * v.get("scale", 1),
    "residual": lambda _, v: (v["x"] + v["y"]) * v.get("scale", 1),
    "scale": lambda _, v: v["x"] * v["scale"],
    "norm": norm,
    "scaled_dot": lambda _, v: v["Q"] @ np.swapaxes(v["K"], -1, -2) * v["scale"],
    "additive_score": additive_score,
    "mask": lambda _, v: np.where(v["mask"], v["S"], -np.inf),
    "softmax": softmax,
    "weighted_sum": lambda _, v: v["A"] @ v["V"],
    "concat": concat,
    "activation": lambda variant, v: ACTIVATIONS[variant](v["x"]),
    "gate_mix": lambda variant, v: GATE_MIXES[variant](v),
    "maxout": lambda _, v: np.maximum(*halves(v["x"])),
    "mean": lambda _, v: v["x"].mean(0),
    "penalty": penalty,
}
assert OPERATIONS.keys() == RECOMPUTED


def unpack_mask(text: str, shape: tuple[int, ...]) -> Array:
    bits = np.unpackbits(np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8))
    return bits[: math.prod(shape)].reshape(shape).astype(bool)


class PageTensors:
    """The tensors of a page, computed again where they are not stored."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.tensors, self.equations = data["tensors"], data["equations"]
        self.cache: dict[str, Array] = {}

    def __getitem__(self, key: str) -> Array:
        if key not in self.cache:
            tensor = self.tensors[key]
            stored = tensor["values"]
            self.cache[key] = (
                self.recompute(key)
                if stored is None
                else unpack_floats(stored, tensor.get("dtype", "float32")).astype(np.float64).reshape(tensor["shape"])
            )
        return self.cache[key]

    def recompute(self, key: str) -> Array:
        tensor = self.tensors[key]
        equation = self.equations[tensor["name"]]
        values = {symbol: self.operand(operand) for symbol, operand in tensor["operands"].items()}
        values |= {symbol: self.parameter(value) for symbol, value in tensor["parameters"].items()}
        values["shape"] = tuple(tensor["shape"])
        values["mask"] = unpack_mask(tensor["mask"], values["shape"]) if "mask" in tensor else None
        return OPERATIONS[equation["operation"]](equation["variant"], values)

    def parameter(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return unpack_floats(value["values"]).astype(np.float64).reshape(value["shape"])

    def operand(self, operand: str | dict[str, Any]) -> Array:
        """Return an operand: its columns, and its time steps shifted, with the initial state in the empty place."""
        if isinstance(operand, str):
            return self[operand]
        values = self[operand["tensor"]]
        start, stop = operand.get("part", (0, values.shape[-1]))
        values = values[..., start:stop]
        if "row" in operand:
            return values[operand["row"]]
        shift = operand.get("shift", 0)
        if not shift:
            return values
        initial = unpack_floats(operand["initial"])[None].astype(np.float64)
        return np.concatenate([initial, values[:-1]] if shift < 0 else [values[1:], initial])
