"""Slices of a comparison: each setting by source length, by word frequency in the training data, by position."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tongsa.errors import InputError
from tongsa.evaluation.metric_statistics import MetricStatistics
from tongsa.evaluation.slices import (
    Slice,
    SliceTable,
    slice_by_frequency,
    slice_by_length,
    slice_by_position,
    word_splitter,
)
from tongsa.runs.compared_systems import ComparedSystems
from tongsa.runs.comparison_data import setting_estimate
from tongsa.runs.evaluation_slices import WORD_SCORES, training_word_counts


def slice_data(compared: ComparedSystems) -> list[dict[str, Any]]:
    """Return the slices that the task allows and whose training files can be read."""
    test_set = compared.test_set
    tables = [
        slice_by_length(
            {name: statistics[i] for name, statistics in compared.statistics.items()},
            test_set.sources,
            test_set.references,
        )
        for i in range(len(compared.systems))
    ]
    data = [merge_tables(compared, tables, metric) for metric in compared.statistics]
    if compared.task != "seq2seq":
        return data
    split, texts = word_splitter(test_set.references), [outputs.texts for outputs in compared.outputs]
    by_words = {"position": [slice_by_position(outputs, test_set.references, split) for outputs in texts]}
    counts, origin = training_counts(compared)
    if counts:
        by_words["frequency"] = [slice_by_frequency(outputs, test_set.references, counts, split) for outputs in texts]
    for by, scores in WORD_SCORES.items():
        data += [merge_tables(compared, by_words[by], score) | {"of": origin} for score in scores if by in by_words]
    return data


def training_counts(compared: ComparedSystems) -> tuple[Counter[str], str]:
    """Return the word counts of the training data of the first run that still has it, and the name of this run."""
    for system in compared.systems:
        if system.origin == "run":
            try:
                return training_word_counts(system.path, compared.test_set.references), system.name
            except InputError:  # the files were moved
                continue
    return Counter(), ""


def merge_tables(compared: ComparedSystems, tables: Sequence[SliceTable], score: str) -> dict[str, Any]:
    """Return one score of all settings by slice; `tables` are those of the systems."""
    slices = [{part.label: part for part in table.slices} for table in tables]
    first = max(tables, key=lambda table: len(table.slices))  # a system may have no word in a slice
    bins = [{"label": part.label, "count": part.count} for part in first.slices]

    def line(members: Sequence[int]) -> list[dict[str, float | None] | None]:
        return [_estimate([slices[i].get(part.label) for i in members], score) for part in first.slices]

    lines = [line(group.members) for group in compared.groups]
    return {"by": first.by, "metric": score, "unit": first.unit, "bins": bins, "lines": lines}


def _estimate(parts: Sequence[Slice | None], score: str) -> dict[str, float | None] | None:
    runs: list[MetricStatistics] = [part.statistics[score] for part in parts if part is not None]
    return setting_estimate(runs) if len(runs) == len(parts) else None
