"""Report on a cleaning: counts of each filter, histograms with thresholds, samples."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tongsa.data.cleaning.chunk import MAX_SAMPLES
from tongsa.data.cleaning.clean import BLOCK_ROWS, CleanedPairs
from tongsa.data.cleaning.duplicates import largest_groups
from tongsa.data.cleaning.filters import FILTERS, LENGTH_EDGES, RATIO_EDGES, Column, Limits, uses_characters
from tongsa.data.cleaning.report_data import (
    CorpusReport,
    DroppedSample,
    DuplicateGroup,
    FilterReport,
    Histogram,
    NamedCount,
    RepairReport,
    RepairSample,
)
from tongsa.data.cleaning.thresholds import LEARN
from tongsa.data.ledger import Ledger

MAX_GROUPS = 20
"""Groups of duplicates in a report."""
MAX_SAMPLE_CHARACTERS = 500
"""A longer text of a sample is cut."""
Counts = NDArray[np.int64]


def corpus_report(cleaned: CleanedPairs, ledger: Ledger, seconds: float) -> CorpusReport:
    """Return the report. The ledger has the records that the reader dropped; those of the filters are not in it yet."""
    plan, tally = cleaned.plan, cleaned.tally
    kept = len(cleaned.kept_rows)
    sides = range(2)
    lengths = [_kept_and_dropped(cleaned, cleaned.lengths[:, side], LENGTH_EDGES) for side in sides]
    ratios = (cleaned.lengths[:, 3] + 1) / (cleaned.lengths[:, 2] + 1)
    limits = {column.side: limits for column, limits in _limits_of(cleaned, "length")}
    return CorpusReport(
        files=tuple(dict.fromkeys(name for part in cleaned.pairs.parts for _, name in part.files)),
        languages=plan.languages,
        read=ledger.read,
        kept=kept,
        dropped=ledger.read - kept,
        repaired=int(np.count_nonzero(cleaned.repair_bits)),
        seconds=round(seconds, 3),
        unusable=_counts(Counter(ledger.dropped)),
        filters=tuple(_filter_report(cleaned, name) for name in plan.filter_names),
        repairs=tuple(_repair_report(cleaned, name) for name in plan.filters.repair_names),
        source_lengths=lengths[0],
        target_lengths=lengths[1],
        source_length_limits=limits.get(0, Limits()),
        target_length_limits=limits.get(1, Limits()),
        ratios=_kept_and_dropped(cleaned, np.log2(ratios), tuple(np.log2(RATIO_EDGES).tolist())),
        length_units=(_unit(plan.languages[0]), _unit(plan.languages[1])),
        scripts=(_counts(tally.scripts[0]), _counts(tally.scripts[1])),
        languages_found=(_counts(tally.languages[0]), _counts(tally.languages[1])),
        duplicates=_duplicate_groups(cleaned),
        blocks=tuple(cleaned.blocks),
    )


def _unit(language: str) -> str:
    return "characters" if uses_characters(language) else "words"


def _counts(counter: Counter[str]) -> tuple[NamedCount, ...]:
    ordered = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    return tuple(NamedCount(name=name, count=count) for name, count in ordered)


def _limits_of(cleaned: CleanedPairs, name: str) -> list[tuple[Column, Limits]]:
    columns = zip(cleaned.plan.columns, cleaned.limits, strict=True)
    return [(column, limits) for column, limits in columns if column.filter_name == name]


def histogram(values: NDArray[np.float32], edges: Sequence[float]) -> Counts:
    """Count values between edges; those outside belong to the first or last bin."""
    inner = np.asarray(edges[1:-1], np.float32)
    counts = np.zeros(len(edges) - 1, np.int64)
    for start in range(0, len(values), BLOCK_ROWS):
        bins = np.searchsorted(inner, values[start : start + BLOCK_ROWS], side="right")
        counts += np.bincount(bins, minlength=len(counts))
    return counts


def _kept_and_dropped(
    cleaned: CleanedPairs, values: NDArray[np.float32], edges: Sequence[float]
) -> tuple[Histogram, Histogram]:
    is_kept = cleaned.drops == 0
    first, second = (
        Histogram(edges=tuple(edges), counts=tuple(histogram(values[mask], edges).tolist()))
        for mask in (is_kept, ~is_kept)
    )
    return first, second


def _filter_report(cleaned: CleanedPairs, name: str) -> FilterReport:
    bit = np.uint32(cleaned.plan.bit(name))
    is_dropped = (cleaned.drops & bit) > 0
    rows = np.flatnonzero(is_dropped)
    seconds = cleaned.tally.seconds[name]
    columns = _limits_of(cleaned, name)
    limits = columns[0][1] if columns and name != "length" else Limits()
    return FilterReport(
        name=name,
        dropped=len(rows),
        alone=int(np.count_nonzero(cleaned.drops == bit)),
        pairs_per_second=round(len(cleaned.drops) / seconds, 1) if seconds else 0.0,
        low=limits.low,
        high=limits.high,
        learnt=cleaned.plan.filters.setting(name) == LEARN,
        histogram=_value_histogram(cleaned, name),
        samples=tuple(_dropped_sample(cleaned, int(row), name) for row in _spread(rows)),
    )


def _value_histogram(cleaned: CleanedPairs, name: str) -> Histogram | None:
    """Return the values of a filter, those of both sides together; lengths have histograms of their own."""
    if name not in FILTERS or name == "length":
        return None
    edges = FILTERS[name].edges
    counts = np.zeros(len(edges) - 1, np.int64)
    for index, column in enumerate(cleaned.plan.columns):
        if column.filter_name == name:
            counts += histogram(cleaned.values[:, index], edges)
    return Histogram(edges=edges, counts=tuple(counts.tolist()))


def _spread(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return at most MAX_SAMPLES of the rows, evenly spaced."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, MAX_SAMPLES).astype(int))] if len(rows) else rows


def _dropped_sample(cleaned: CleanedPairs, row: int, name: str) -> DroppedSample:
    pair = cleaned.pairs[row]
    source, target = pair.source[:MAX_SAMPLE_CHARACTERS], pair.target[:MAX_SAMPLE_CHARACTERS]
    return DroppedSample(file=pair.file, line=pair.line, source=source, target=target, detail=cleaned.detail(name, row))


def _repair_report(cleaned: CleanedPairs, name: str) -> RepairReport:
    samples = []
    for row, side, before, after in cleaned.tally.samples.get(name, []):
        pair = cleaned.pairs[row]
        texts = before[:MAX_SAMPLE_CHARACTERS], after[:MAX_SAMPLE_CHARACTERS]
        samples.append(RepairSample(file=pair.file, line=pair.line, side=side, before=texts[0], after=texts[1]))
    return RepairReport(name=name, count=cleaned.tally.repairs[name], samples=tuple(samples))


def _duplicate_groups(cleaned: CleanedPairs) -> tuple[DuplicateGroup, ...]:
    groups = []
    for row, count in largest_groups(cleaned.keys, MAX_GROUPS):
        pair = cleaned.pairs[row]
        source, target = pair.source[:MAX_SAMPLE_CHARACTERS], pair.target[:MAX_SAMPLE_CHARACTERS]
        groups.append(DuplicateGroup(source=source, target=target, count=count))
    return tuple(groups)
