"""The main table of a comparison as text for a terminal, CSV, Markdown and LaTeX; the verdicts in words."""

import csv
import io
import math
import re
from collections.abc import Sequence
from textwrap import fill
from typing import NamedTuple

from tongsa.evaluation.comparison import (
    MetricComparison,
    PairComparison,
    describe_agreement,
    describe_pair,
    describe_seeds,
)
from tongsa.evaluation.metrics import Interval

TERMINAL_WIDTH = 80
MAX_NAME_WIDTH = 24
METRIC_TITLES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "ter": "TER",
    "exact_match": "exact match",
    "wer": "WER",
    "per": "PER",
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "perplexity": "perplexity",
    "comet": "COMET",
}
MAX_VERDICTS = 15
"""Pairs that are printed in words; the page has all of them."""
_LATEX_SPECIAL = re.compile(r"[&%$#_{}~^\\]")
_LATEX_ESCAPES = {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}


def metric_title(name: str) -> str:
    return METRIC_TITLES.get(name, name)


def terminal_table(names: Sequence[str], metrics: Sequence[MetricComparison]) -> str:
    """Return scores with n and intervals in lines of at most 80 columns; the best of the first metric comes first."""
    order = metrics[0].ranking()
    labels = ["system", "", *(_shorten(_with_runs(names[i], metrics[0], i)) for i in order)]
    columns = [
        [_heading(metric), f"n = {metric.sentences:,}", *(_score(metric, i) for i in order)] for metric in metrics
    ]
    first_width = max(map(len, labels))
    blocks: list[list[str]] = []
    width = TERMINAL_WIDTH + 1  # the first metric begins a block
    for column in columns:
        cell_width = max(map(len, column)) + 2
        if width + cell_width > TERMINAL_WIDTH:
            blocks.append([label.ljust(first_width) for label in labels])
            width = first_width
        blocks[-1] = [line + cell.rjust(cell_width) for line, cell in zip(blocks[-1], column, strict=True)]
        width += cell_width
    return "\n\n".join("\n".join(block) for block in blocks)


def _score(metric: MetricComparison, index: int) -> str:
    score = metric.scores[index]
    return f"{score.value:.2f} {_interval(score.interval)}".rstrip()


def _heading(metric: MetricComparison) -> str:
    return f"{metric_title(metric.name)} {'↓' if metric.lower_is_better else '↑'}"


def _with_runs(name: str, metric: MetricComparison, index: int) -> str:
    runs = len(metric.scores[index].runs)
    return f"{name} ({runs} runs)" if runs > 1 else name


def _shorten(name: str) -> str:
    return name if len(name) <= MAX_NAME_WIDTH else f"…{name[1 - MAX_NAME_WIDTH :]}"


def _interval(interval: Interval) -> str:
    digits = 2 if interval.high < 10 else 1  # perplexities
    return "" if math.isnan(interval.low) else f"[{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


def power_sentence(metric: MetricComparison) -> str:
    """Return what difference this test set can show, in lines of at most 80 columns; "" if it is not known."""
    if not metric.detectable or math.isnan(metric.detectable):  # 0 for equal outputs
        return ""
    return fill(
        f"What this test set of {metric.sentences:,} sentences can show: a difference of {metric.detectable:.2f} "
        f"{metric_title(metric.name)} between two systems is found in four of five cases.",
        TERMINAL_WIDTH,
    )


def verdicts(names: Sequence[str], metric: MetricComparison) -> str:
    """Return the verdict about each pair, those of the best systems first, in lines of at most 80 columns."""
    if not metric.pairs:
        return ""
    rank = {i: position for position, i in enumerate(metric.ranking())}
    pairs = [pair if rank[pair.a] < rank[pair.b] else pair.mirror() for pair in metric.pairs]
    pairs.sort(key=lambda pair: (rank[pair.a], rank[pair.b]))
    count = f"{len(pairs)} pairs, p-values corrected for all of them" if len(pairs) > 1 else "1 pair"
    lines = [
        fill(f"{metric_title(metric.name)}, {count}; in brackets: 95 % intervals of the difference", TERMINAL_WIDTH)
    ]
    for pair in pairs[:MAX_VERDICTS]:
        parts = (describe_pair(pair, names), _difference(pair, metric), describe_seeds(pair), describe_agreement(pair))
        text = f"{'; '.join(filter(None, parts))}."
        lines.append(fill(text, TERMINAL_WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False))
    if len(pairs) > MAX_VERDICTS:
        lines.append(f"  … and {len(pairs) - MAX_VERDICTS} more pairs on the page")
    return "\n".join(lines)


def _difference(pair: PairComparison, metric: MetricComparison) -> str:
    low, high = pair.test.interval
    interval = "" if math.isnan(low) else f" [{low:.2f}, {high:.2f}]"
    return f"{pair.test.difference:+.2f} {metric_title(metric.name)}{interval}"


class TableRow(NamedTuple):
    """A setting: its name, its number of runs, and value, low and high of each metric as text."""

    name: str
    runs: int
    cells: list[tuple[str, str, str]]


def _rows(names: Sequence[str], metrics: Sequence[MetricComparison]) -> list[TableRow]:
    """Return the settings, the best of the first metric first."""
    rows = []
    for i in metrics[0].ranking():
        cells = []
        for metric in metrics:
            low, high = metric.scores[i].interval
            ends = ("", "") if math.isnan(low) else (f"{low:.2f}", f"{high:.2f}")
            cells.append((f"{metric.scores[i].value:.2f}", *ends))
        rows.append(TableRow(names[i], len(metrics[0].scores[i].runs), cells))
    return rows


def csv_table(names: Sequence[str], metrics: Sequence[MetricComparison]) -> str:
    """Return a row for each setting with value, low, high and number of sentences of each metric."""
    columns = [f"{metric.name}{suffix}" for metric in metrics for suffix in ("", "_low", "_high", "_n")]
    counts = [str(metric.sentences) for metric in metrics]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["system", "runs", *columns])
    for name, runs, cells in _rows(names, metrics):
        writer.writerow([name, runs, *(text for cell, n in zip(cells, counts, strict=True) for text in (*cell, n))])
    return stream.getvalue()


def markdown_table(names: Sequence[str], metrics: Sequence[MetricComparison]) -> str:
    """Return a table with intervals in brackets, and the signatures below it."""
    headings = [_heading(metric) for metric in metrics]
    lines = [f"| system | runs | {' | '.join(headings)} |", f"| --- | --: |{' --: |' * len(headings)}"]
    for name, runs, cells in _rows(names, metrics):
        texts = [f"{value} [{low}, {high}]" if low else value for value, low, high in cells]
        lines.append(f"| {_escape_markdown(name)} | {runs} | {' | '.join(texts)} |")
    count = f"{metrics[0].sentences:,} sentences, 95 % intervals."
    signatures = [f"{metric_title(metric.name)}: `{metric.signature}`" for metric in metrics]
    return "\n".join([*lines, "", count, "", *(f"- {signature}" for signature in signatures), ""])


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|])", r"\\\1", text)


def latex_table(names: Sequence[str], metrics: Sequence[MetricComparison]) -> str:
    """Return a tabular for the package booktabs; the interval stands below each score."""
    columns = "l" + "r" * len(metrics)
    arrows = [r"$\downarrow$" if metric.lower_is_better else r"$\uparrow$" for metric in metrics]
    headings = [f"{metric_title(metric.name)} {arrow}" for metric, arrow in zip(metrics, arrows, strict=True)]
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", rf"system & {' & '.join(headings)} \\", r"\midrule"]
    for name, runs, cells in _rows(names, metrics):
        label = _escape_latex(name) + (f" ({runs} runs)" if runs > 1 else "")
        lines.append(rf"{label} & {' & '.join(value for value, _, _ in cells)} \\")
        ends = (rf"{{\scriptsize [{low}, {high}]}}" if low else "" for _, low, high in cells)
        lines.append(rf" & {' & '.join(ends)} \\")
    signatures = (f"% {metric_title(metric.name)}: {metric.signature}" for metric in metrics)
    count = f"% {metrics[0].sentences} sentences, 95 % intervals"
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", count, *signatures, ""])


def _escape_latex(text: str) -> str:
    return _LATEX_SPECIAL.sub(lambda match: _LATEX_ESCAPES.get(match[0], "\\" + match[0]), text)
