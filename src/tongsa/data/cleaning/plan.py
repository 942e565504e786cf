"""Plan of a cleaning: settings, languages and sides. All that determines what is measured and dropped."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from tongsa import config
from tongsa.data.cleaning.config import FilterConfig
from tongsa.data.cleaning.filters import FILTERS, Column, measured_columns

EMPTY = "empty"
"""Reason of a text that is empty after its repairs."""


@dataclass(frozen=True, kw_only=True)
class CleaningPlan:
    filters: FilterConfig
    languages: tuple[str, str] = ("", "")
    sides: tuple[int, ...] = (0, 1)
    """Sides with text: (0,) with labels as targets, (1,) for monolingual text."""

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Numbers that are measured for each pair."""
        return tuple(measured_columns(self.filters, self.sides))

    @cached_property
    def filter_names(self) -> tuple[str, ...]:
        """Filters that run, in this order. With one text per pair there are none of both sides."""
        measured = {column.filter_name for column in self.columns}
        of_sets = {"duplicates", "near_duplicates"}
        if len(self.sides) == 2:
            of_sets |= {"alignment", "model_score", "same_target"}
        return tuple(
            name for name in self.filters.filter_names if name in measured or (name not in FILTERS and name in of_sets)
        )

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Reasons in the order of the bits of a drop."""
        return (EMPTY, *self.filter_names)

    def bit(self, name: str) -> int:
        return 1 << self.reasons.index(name)

    def as_json(self) -> dict[str, Any]:
        return {"filters": config.to_table(self.filters), "languages": self.languages, "sides": self.sides}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        return config.build_config(cls, record, "plan")
