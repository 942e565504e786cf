"""Report on the cleaning of a corpus: counts, thresholds, histograms and samples, ready for JSON."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from tongsa import config


@dataclass(frozen=True, kw_only=True)
class NamedCount:
    """A number of records, lines or characters with the name of what is counted."""

    name: str
    count: int


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Counts of values between consecutive edges; values outside belong to the first or last bin."""

    edges: tuple[float, ...] = ()
    """One more than counts."""
    counts: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DroppedSample:
    """A dropped pair, as it was after the repairs."""

    file: str
    line: int
    source: str
    target: str
    detail: str = ""
    """Value and threshold in words."""


@dataclass(frozen=True, kw_only=True)
class RepairSample:
    """A text before and after a repair."""

    file: str
    line: int
    side: str
    """source or target."""
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class FilterReport:
    """Work of one filter."""

    name: str
    dropped: int
    """Pairs that this filter drops, alone or with others."""
    alone: int
    """Pairs that no other filter drops."""
    pairs_per_second: float
    """Per second of CPU time; 0 if the filter saw no pair."""
    low: float | None = None
    """Smallest value that is kept."""
    high: float | None = None
    """Largest value that is kept."""
    learnt: bool = False
    """The thresholds are percentiles of this corpus."""
    histogram: Histogram | None = None
    """Values of all pairs; None for a filter without a number."""
    samples: tuple[DroppedSample, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RepairReport:
    """Work of one repair."""

    name: str
    count: int
    """Texts that it changed."""
    samples: tuple[RepairSample, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DuplicateGroup:
    """A pair that occurs several times."""

    source: str
    target: str
    count: int


@dataclass(frozen=True, kw_only=True)
class MisalignedBlock:
    """Consecutive lines of a file whose targets belong to other sources."""

    file: str
    first_line: int
    """The line where the sides slip."""
    last_line: int
    shift: int
    """The target of line n belongs to the source of line n + shift."""


@dataclass(frozen=True, kw_only=True)
class CorpusReport:
    """Result of cleaning a corpus; kept + dropped = read."""

    files: tuple[str, ...]
    languages: tuple[str, str]
    """Codes of source and target; "" if unknown."""
    read: int
    kept: int
    dropped: int
    """By the reader (`unusable`) or by a filter."""
    repaired: int
    """Pairs with a repaired text, kept or dropped."""
    seconds: float
    unusable: tuple[NamedCount, ...] = ()
    """Records that the reader dropped, by reason (empty, not UTF-8, …); no filter has seen them."""
    filters: tuple[FilterReport, ...] = ()
    """In the order in which they run."""
    repairs: tuple[RepairReport, ...] = ()
    source_lengths: tuple[Histogram, Histogram] = (Histogram(), Histogram())
    """Histograms of kept and of dropped pairs, with the same edges, in the unit of the length filter."""
    target_lengths: tuple[Histogram, Histogram] = (Histogram(), Histogram())
    source_length_limits: tuple[float | None, float | None] = (None, None)
    """Smallest and largest length that is kept."""
    target_length_limits: tuple[float | None, float | None] = (None, None)
    ratios: tuple[Histogram, Histogram] = (Histogram(), Histogram())
    """Logarithm (base 2) of target length over source length, in characters."""
    length_units: tuple[str, str] = ("words", "words")
    """words or characters, of source and target."""
    scripts: tuple[tuple[NamedCount, ...], tuple[NamedCount, ...]] = ((), ())
    """Characters by script, of source and target, most frequent first."""
    languages_found: tuple[tuple[NamedCount, ...], tuple[NamedCount, ...]] = ((), ())
    """Lines by language code, of source and target; empty if the language filter did not run."""
    duplicates: tuple[DuplicateGroup, ...] = ()
    """The most frequent pairs."""
    blocks: tuple[MisalignedBlock, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Make a report from `as_json`; raise ConfigError if it is damaged."""
        return config.build_config(cls, record, "report")
