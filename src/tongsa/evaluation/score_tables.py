"""Scores as text: aligned columns for a terminal, CSV for a spreadsheet."""

import csv
import io
import math
from collections.abc import Mapping, Sequence

from tongsa.evaluation.metrics import Score
from tongsa.evaluation.slices import SliceTable

CSV_HEADER = ("by", "bin", "count", "metric", "value", "low", "high", "signature")
UNDEFINED = "–"


def format_interval(score: Score) -> str:
    return f"[{score.interval.low:.2f}, {score.interval.high:.2f}]" if score.interval else ""


def align_columns(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return rows of cells as lines; the columns with these indices are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(f"{cell:{'>' if i in right else '<'}{widths[i]}}" for i, cell in enumerate(row) if widths[i])
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def slice_text(table: SliceTable) -> str:
    """Return a line for each bin: its name, its number of sentences or words, and each score with its interval."""
    names = list(table.slices[0].scores) if table.slices else []
    rows = [["", table.unit, *(cell for name in names for cell in (name, ""))]]
    for part in table.slices:
        cells = [cell for score in part.scores.values() for cell in (format_value(score), format_interval(score))]
        rows.append([part.label, f"{part.count:,}", *cells])
    values = range(2, 2 + 2 * len(names), 2)
    return f"by {table.by}: {table.definition}\n{align_columns(rows, right=[1, *values])}"


def scores_csv(scores: Mapping[str, Score], sentences: int, tables: Sequence[SliceTable]) -> str:
    """Return one line for each score: of the whole test set (by: all), then of each slice."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    parts = [("all", "", sentences, scores)]
    parts += [(table.by, part.label, part.count, part.scores) for table in tables for part in table.slices]
    for by, label, count, part_scores in parts:
        for name, score in part_scores.items():
            ends = [f"{end:.4f}" for end in score.interval] if score.interval else ["", ""]
            value = "" if math.isnan(score.value) else f"{score.value:.4f}"
            writer.writerow([by, label, count, name, value, *ends, score.signature])
    return file.getvalue().rstrip("\n")


def format_value(score: Score) -> str:
    return UNDEFINED if math.isnan(score.value) else f"{score.value:.2f}"
