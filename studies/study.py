"""A study: claims of a paper, the measurement that tests them, a figure, tables, and a verdict for each claim.

A study is a folder `studies/NAME/` with a module `study.py`, which defines `STUDY`:

    measure(options) ─► values (JSON) ─► results.json ─► claims(values)   ─► verdicts in the pages and in docs/claims.md
                                                     ├─► figure(values)   ─► figure.svg, figure.png
                                                     └─► tables(values)   ─► README.md, README.ko.md

Everything after `measure` is a pure function of results.json. So a page, a figure or a verdict is made again without a
new measurement, and a test checks that the files are current.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).parent
Language = Literal["en", "ko"]
LANGUAGES: tuple[Language, ...] = ("en", "ko")
Values = Mapping[str, Any]
"""Measured numbers as JSON: mappings, lists, numbers and strings. Values of several seeds are lists."""


@dataclass(frozen=True)
class Text:
    """The same sentence in English and in Korean."""

    en: str
    ko: str

    def __getitem__(self, language: Language) -> str:
        return self.en if language == "en" else self.ko


class Table(NamedTuple):
    """A table of a page. The first column is a name, the others are numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def table_in(language: Language, header: Sequence[object], rows: Sequence[Sequence[object]]) -> Table:
    """Return a table in one language; cells that are not a Text are the same in both."""

    def select(cells: Sequence[object]) -> list[str]:
        return [cell[language] if isinstance(cell, Text) else str(cell) for cell in cells]

    return Table(select(header), [select(row) for row in rows])


Verdict = Literal["holds", "fails", "partly", "undecided"]
VERDICTS: dict[Verdict, Text] = {
    "holds": Text("holds here", "여기서 성립한다"),
    "fails": Text("does not hold here", "여기서 성립하지 않는다"),
    "partly": Text("holds here in part", "여기서 일부만 성립한다"),
    "undecided": Text("not decided here", "여기서 판정할 수 없다"),
}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of a paper, with what was run, what was seen, and the verdict of the study's rule."""

    source: Text
    """Paper and section."""
    says: Text
    ran: Text
    seen: Text
    """Sentence with the measured numbers, formatted from the values."""
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """Arguments of a measurement."""

    seeds: Sequence[int]
    quick: bool = False
    """Measure less, in about a minute: fewer sizes, seeds and training steps."""
    runs: Path = Path("runs/studies")
    """Folder for trained runs; a finished run is used again."""
    processes: int = 1
    """Trainings at the same time, one thread each."""
    parallel_studies: int = 1
    """Studies that are measured at the same time."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """The definition of a study. Every function but `measure` depends on the values alone."""

    name: str
    title: Text
    measure: Callable[[MeasureOptions], dict[str, Any]]
    claims: Callable[[Values], Sequence[Claim]]
    figure: Callable[[Values], "Figure"]
    tables: Mapping[str, Callable[[Values, Language], Table]] = field(default_factory=dict)
    """Tables by the name that the page's marker has."""
    numbers: Callable[[Values], Mapping[str, str]] = lambda _: {}
    """Formatted numbers for sentences of the page, by the name that the page's marker has."""
    seeds: Sequence[int] = (1, 2, 3, 4, 5)
    quick_seeds: Sequence[int] = (1, 2)
    trains: bool = False
    """True if the measurement trains models for longer than a minute."""

    @property
    def folder(self) -> Path:
        return ROOT / self.name


def study_names() -> list[str]:
    return sorted(path.parent.name for path in ROOT.glob("*/study.py"))


def load_study(name: str) -> Study:
    study: Study = import_module(f"studies.{name}.study").STUDY
    return study
