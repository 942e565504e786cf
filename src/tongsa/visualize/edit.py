"""Edits of a recorded computation: their types and fields, for Python and for the server. No torch."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from tongsa.errors import InputError

EditType = Literal[
    "head_off",
    "scale_off",
    "positions_off",
    "norm_off",
    "causal_off",
    "dropout",
    "temperature",
    "source_token",
    "source_text",
    "force",
    "attention_row",
]


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One change; each type reads the fields that its comment names."""

    type: EditType
    path: str = ""
    """Module of the attention or norm (head_off, attention_row; norm_off: all norms without it)."""
    head: int = 1
    """Head, from 1 (head_off, attention_row)."""
    query: int = 1
    """Row, from 1 (attention_row)."""
    weights: tuple[float, ...] = ()
    """New weights of the row, divided by their sum (attention_row)."""
    seed: int = 1
    """Seed of the masks (dropout)."""
    value: float = 1.0
    """Divisor of the logits (temperature)."""
    index: int = 0
    """Source token, from 0 (source_token)."""
    step: int = 1
    """Step, from 1 (force)."""
    token: str = ""
    """Token of the vocabulary (source_token, force)."""
    text: str = ""
    """New source (source_text)."""

    def __post_init__(self) -> None:
        if self.type not in get_args(EditType):
            raise InputError(f"edit {self.type!r}: unknown. Use one of {', '.join(get_args(EditType))}.")
        if self.type == "temperature" and not 0 < self.value < math.inf:
            raise InputError(f"temperature {self.value}: must be positive. Try 0.7.")
        if self.type == "attention_row" and not (
            self.weights and all(0 <= weight < math.inf for weight in self.weights) and sum(self.weights) > 0
        ):
            raise InputError("attention_row: the weights must be 0 or more, and one of them positive. Give numbers.")
        if min(self.head, self.query, self.step) < 1:
            raise InputError(f"edit {self.type!r}: head, query and step count from 1. Give a larger number.")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Edit":
        """Return the edit of a JSON object."""
        if unknown := values.keys() - {field.name for field in fields(cls)}:
            raise InputError(f"edit: unknown field {min(unknown)!r}. Remove it.")
        if "type" not in values:
            raise InputError("edit: no type. Write for example {'type': 'scale_off'}.")
        weights = tuple(float(weight) for weight in values.get("weights", ()))
        return cls(**{**values, "weights": weights})
