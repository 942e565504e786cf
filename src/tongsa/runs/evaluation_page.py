"""Page of an evaluation: the scores of one model, and its slices as charts, drawn like those of a comparison."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tongsa.evaluation.evaluate import EvaluationReport
from tongsa.evaluation.metrics import LOWER_IS_BETTER, Interval, Score
from tongsa.evaluation.slices import SliceTable
from tongsa.runs.compared_systems import Remark, dropped_remark, leakage_remark
from tongsa.runs.comparison_data import estimate
from tongsa.runs.evaluation_slices import WORD_SCORES
from tongsa.visualize.comparison import comparison_page
from tongsa.visualize.page import Page

UNDEFINED = Interval(float("nan"), float("nan"))


def evaluation_page(report: EvaluationReport, name: str, files: Sequence[str | Path]) -> Page:
    """Return the page of a report with slices; `name` is that of the run or model."""
    data = {
        "test": {"files": [Path(file).name for file in files], "sentences": report.sentences, "languages": ["", ""]},
        "metrics": [_metric_data(report, metric) for metric in report.scores],
        "settings": [{"name": name, "systems": [0]}],
        "systems": [{"name": name, "origin": "outputs"}],
        "slices": [entry for table in report.slices for entry in _slice_data(table, name)],
        "remarks": [remark.as_json() for remark in _remarks(report, name)],
        "traits": {"rows": []},
        "sentences": {"rows": []},
        "ngrams": [],
    }
    return comparison_page(data, [])


def _metric_data(report: EvaluationReport, name: str) -> dict[str, Any]:
    score = report.scores[name]
    return {
        "name": name,
        "signature": score.signature,
        "lower_is_better": name in LOWER_IS_BETTER,
        "sentences": report.sentences,
        "detectable": None,
        "scores": [_score_data(score) | {"runs": []}],
        "pairs": [],
    }


def _score_data(score: Score) -> dict[str, float | None]:
    return estimate(score.value, score.interval or UNDEFINED)


def _slice_data(table: SliceTable, name: str) -> Iterator[dict[str, Any]]:
    """Yield a chart for each score of the slices that a comparison shows, too."""
    for metric in WORD_SCORES.get(table.by, tuple(table.slices[0].scores)):
        bins = [{"label": part.label, "count": part.count} for part in table.slices]
        line = [_score_data(part.scores[metric]) for part in table.slices]
        yield {"by": table.by, "metric": metric, "unit": table.unit, "bins": bins, "lines": [line], "of": name}


def _remarks(report: EvaluationReport, name: str) -> Iterator[Remark]:
    dropped = sum(count for reason, count in report.dropped.items() if reason != "header")
    if dropped:
        yield dropped_remark(dropped)
    finding = report.leakage or {}
    same = int(finding.get("numbers", {}).get("same", 0))
    if finding.get("level", "ok") != "ok" and same:
        yield leakage_remark(name, same, report.sentences)
