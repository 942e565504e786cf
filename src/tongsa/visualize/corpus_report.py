"""Page of a corpus report: what the filters dropped and the repairs changed, and the ablation of the filters."""

from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any, Literal

from tongsa.data.cleaning.report_data import CorpusReport
from tongsa.visualize.page import Page

Training = Literal["all", "none", "without"]


@dataclass(frozen=True, kw_only=True)
class AblationScore:
    """Score of a training, with its 95 % interval and the scores of its seeds."""

    value: float
    low: float | None
    high: float | None
    runs: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class AblationRow:
    """A training on the corpus with all filters, with none, or without one of them."""

    kind: Training
    filter: str = ""
    """The filter that is left out."""
    pairs: int
    """Training pairs that the filters keep."""
    score: AblationScore
    difference: float | None = None
    """From the training with all filters."""
    low: float | None = None
    high: float | None = None
    p: float | None = None
    """Corrected for all pairs of trainings."""
    verdict: str = ""
    """About this row: better, worse, disagree, none; "" for all filters."""


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """Scores of the same training with and without filters; the first row has all of them."""

    metric: str
    sentences: int
    split: str
    """dev or test."""
    budget: str
    seeds: int
    rows: tuple[AblationRow, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def corpus_page(report: CorpusReport, ablation: Ablation | None = None) -> Page:
    """Return the page of a report."""
    names = " · ".join(PurePath(file).name for file in report.files)
    data = report.as_json() | {"ablation": ablation and ablation.as_json()}
    return Page(names, {"corpus": data})
