"""The equation of every recorded tensor: symbol, formula, axes, operation, paper, one sentence in English and Korean.

The table is in assets/equations/*.toml, by the names that `nn.recording.record` is called with. Formulas are plain
text: `x_t`, `x_{t-1}` and `W^Q` have a subscript or superscript, `sqrt(…)` is a root, `a / b` a fraction, ⊙ the
elementwise product. The symbols of the operands are those of the call.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

Axis = Literal[
    "head",
    "query",
    "key",
    "token",
    "width",
    "unit",
    "hop",
    "gate",
    "kernel",
    "layer",
    "time",
    "slot",
    "vocabulary",
]
RecomputedOperation = Literal[
    "add",
    "scale",
    "norm",
    "scaled_dot",
    "additive_score",
    "mask",
    "softmax",
    "weighted_sum",
    "concat",
    "residual",
    "activation",
    "gate_mix",
    "maxout",
    "mean",
    "penalty",
]
"""Operations that need no weight matrix: the page computes them again from their operands."""
Operation = Literal["lookup", "linear", "window", "rotate", "dropout", "logits"] | RecomputedOperation
RECOMPUTED: frozenset[Operation] = frozenset(get_args(RecomputedOperation))


@dataclass(frozen=True, kw_only=True)
class Equation:
    """Explanation of one recorded name."""

    symbol: str
    title: str
    """Name of the tensor, in English and Korean."""
    title_ko: str
    formula: str
    axes: tuple[Axis, ...]
    operation: Operation
    variant: str = ""
    """Form of the operation, such as "layer" of a norm or "relu" of an activation."""
    paper: str
    en: str
    ko: str


@cache
def equations() -> dict[str, Equation]:
    """Return all equations by name."""
    folder = files("tongsa.visualize") / "assets" / "equations"
    tables = [tomllib.loads(file.read_text("utf-8")) for file in folder.iterdir() if file.name.endswith(".toml")]
    return {
        name: Equation(**entry | {"axes": tuple(entry["axes"])}) for table in tables for name, entry in table.items()
    }
