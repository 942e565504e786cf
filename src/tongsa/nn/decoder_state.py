"""Decoder states: selection and concatenation of rows, written once for every kind of model.

A state is a frozen dataclass that inherits from RowState. Its fields are handled by their type:

    Tensor (row, …)   one row for each hypothesis: selected, concatenated
    tuple             of such values, also nested
    int               one number for all rows; becomes a tensor (row,) if two states with different numbers are joined
    PerSentence       one row for each sentence, shared by its hypotheses
    other             the same for all rows, such as an OutputProjection or None: kept
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import torch
from torch import Tensor

from tongsa.nn.beam_layout import PerSentence, map_leaves


@dataclass(frozen=True)
class RowState:
    """Base of the decoder states: implements interface.DecoderState."""

    def select(self, rows: Tensor) -> Self:
        """Return the state of these rows."""
        selected = {name: map_leaves(lambda leaf: _select(leaf, rows), value) for name, value in self._items}
        return replace(self, **selected)

    def concat(self, other: Self) -> Self:
        """Return these rows followed by those of another state."""
        examples = next(self._row_tensors), next(other._row_tensors)
        pairs = zip(self._items, other._items, strict=True)
        joined = {
            name: map_leaves(lambda *leaves: _concat(leaves, examples), first, second)
            for (name, first), (_, second) in pairs
        }
        return replace(self, **joined)

    @property
    def _items(self) -> Iterator[tuple[str, Any]]:
        return ((field.name, getattr(self, field.name)) for field in fields(self))

    @property
    def _row_tensors(self) -> Iterator[Tensor]:
        """All tensors with one row for each hypothesis: they define the number of rows and the device."""
        leaves: list[Any] = []
        for _, value in self._items:
            map_leaves(leaves.append, value)
        return (leaf for leaf in leaves if isinstance(leaf, Tensor))


def _select(leaf: Any, rows: Tensor) -> Any:
    if isinstance(leaf, Tensor):
        return leaf.index_select(0, rows)
    return leaf.select(rows) if isinstance(leaf, PerSentence) else leaf


def _concat(leaves: tuple[Any, ...], examples: tuple[Tensor, ...]) -> Any:
    first, second = leaves
    if isinstance(first, PerSentence):
        return first.concat(second)
    same_number = isinstance(first, int) and isinstance(second, int) and first == second
    if same_number or not isinstance(first, Tensor | int):
        return first
    return torch.cat([_per_row(leaf, example) for leaf, example in zip(leaves, examples, strict=True)])


def _per_row(value: Tensor | int, example: Tensor) -> Tensor:  # (row, …)
    return value if isinstance(value, Tensor) else torch.full((len(example),), value, device=example.device)
