"""Comparison of systems on one test set: `tongsa compare` and `tongsa.compare`.

    systems ─► outputs on the test set ─► statistics of each metric ─► scores and pairs ─► table, page, files

Runs that differ only in their seed are one setting, and settings are compared over seeds and sentences.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tongsa import bundle
from tongsa.bundle import Bundle
from tongsa.data.sentence_splitter import split_sentences
from tongsa.errors import InputError
from tongsa.evaluation.comparison import MetricComparison, compare_settings, describe_pair
from tongsa.runs.compared_systems import ComparedSystems, ComparisonOptions, collect_systems
from tongsa.runs.comparison_data import comparison_data
from tongsa.runs.comparison_slices import slice_data
from tongsa.runs.comparison_tables import (
    csv_table,
    latex_table,
    markdown_table,
    power_sentence,
    terminal_table,
    verdicts,
)
from tongsa.runs.evaluation import EvaluationSet
from tongsa.runs.systems import Log
from tongsa.storage import write_text
from tongsa.visualize.comparison import comparison_page
from tongsa.visualize.family import MAX_RUNS, family_page, source_tokens
from tongsa.visualize.page import Page

TABLES = {".csv": csv_table, ".md": markdown_table, ".tex": latex_table}
"""Suffix of a file → the main table in its format."""
SUFFIXES = (".html", ".json", *TABLES)
MAX_VIEW_WORDS = 60
"""Longer sentences have no view: their matrices would make the file large."""


@dataclass(frozen=True)
class Comparison:
    """Comparison of several systems. Printed, it is the table of `tongsa compare`; a notebook displays the page."""

    compared: ComparedSystems
    metrics: dict[str, MetricComparison]
    """Metric → scores of all settings and tests of all pairs."""

    @property
    def names(self) -> list[str]:
        """Names of the settings: a setting is one system, or runs that differ only in their seed."""
        return self.compared.names

    @property
    def remarks(self) -> list[str]:
        """Remarks about the test set, the systems, and metrics that were left out."""
        return [remark.text for remark in self.compared.remarks]

    def score(self, name: str, metric: str) -> float:
        """Return the score of a setting: the mean of its runs."""
        if metric not in self.metrics or name not in self.names:
            known = ", ".join(self.names if metric in self.metrics else self.metrics)
            raise InputError(f"score({name!r}, {metric!r}): not compared. Choose from {known}.")
        return self.metrics[metric].scores[self.names.index(name)].value

    def verdicts(self, metric: str = "") -> list[str]:
        """Return the verdict about each pair in words, by default under the first metric."""
        chosen = self.metrics[metric] if metric else next(iter(self.metrics.values()))
        return [describe_pair(pair, self.names) for pair in chosen.pairs]

    def __str__(self) -> str:
        """Return what the test set can show, the table, and the verdicts under the first metric."""
        metrics = list(self.metrics.values())
        parts = [power_sentence(metrics[0]), terminal_table(self.names, metrics), verdicts(self.names, metrics[0])]
        return "\n\n".join(part for part in parts if part)

    def __repr__(self) -> str:
        count = len(self.compared.test_set.pairs)
        return f"<Comparison: {', '.join(self.names)}; {', '.join(self.metrics)}; {count:,} sentences>"

    @cached_property
    def data(self) -> dict[str, Any]:
        """All numbers, ready for JSON."""
        data = comparison_data(self.compared, list(self.metrics.values()))
        return data | {"slices": slice_data(self.compared)}

    @property
    def page(self) -> Page:
        """The comparison as one HTML page that needs no network."""
        return comparison_page(self.data, [system.records for system in self.compared.systems])

    def as_json(self) -> str:
        """Return all numbers as one JSON object."""
        return json.dumps(self.data, ensure_ascii=False, allow_nan=False)

    def save(self, path: str | Path) -> Path:
        """Write the page (.html), the main table (.csv, .md, .tex) or all numbers (.json), by the suffix."""
        suffix = check_suffix(path)
        tables = list(self.metrics.values())
        if suffix == ".html":
            return self.page.save(path)
        content = self.as_json() + "\n" if suffix == ".json" else TABLES[suffix](self.names, tables)
        write_text(Path(path), content)
        return Path(path)

    def save_views(self, page: Path, count: int) -> list[Path]:
        """Write a page for each of the sentences that differ most, with attention and beam of all models side by side.

        Call it before `save`: the links go into the page.
        """
        language = self.compared.languages[0]
        rows = [row for row in self.data["sentences"]["rows"] if is_viewable(row["source"], language)][:count]
        models = load_models(self.compared)
        files: list[Path] = []
        for row in rows:
            path = page.with_name(f"{page.stem}-view-{len(files) + 1}.html")
            columns = {i: model for i, model in models.items() if is_readable(model, row["source"])}
            if columns:
                named = {self.compared.systems[i].name: model for i, model in columns.items()}
                files.append(family_page(named, row["source"], row["reference"]).save(path))
                row["view"] = {"file": quote(path.name), "systems": list(columns)}
        return files

    def _repr_html_(self) -> str:
        return self.page._repr_html_()


def compare_systems(
    paths: Sequence[str | Path],
    evaluation_set: EvaluationSet,
    options: ComparisonOptions | None = None,
    log: Log = lambda _: None,
) -> Comparison:
    """Compare runs, models and files of outputs on a test set; `log` gets progress and remarks."""
    compared = collect_systems(paths, evaluation_set, options or ComparisonOptions(), log)
    for remark in compared.remarks:
        log(remark.text)
    settings = {name: compared.by_setting(statistics) for name, statistics in compared.statistics.items()}
    return Comparison(compared, {name: compare_settings(runs) for name, runs in settings.items()})


def check_suffix(path: str | Path) -> str:
    """Return the suffix of an output file; raise InputError for an unknown format."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"-o {path}: unknown format. Give a name that ends in {', '.join(SUFFIXES)}.")
    return suffix


def load_models(compared: ComparedSystems) -> dict[int, Bundle]:
    """Return the models of a page side by side, by their index: all, or the first run of each setting."""
    indices = [i for i, system in enumerate(compared.systems) if system.model]
    if len(indices) > MAX_RUNS:
        indices = [group.members[0] for group in compared.groups if group.members[0] in indices][:MAX_RUNS]
    return {i: bundle.load_bundle(compared.systems[i].path) for i in indices}


def is_readable(model: Bundle, source: str) -> bool:
    """Return whether the page has room for this sentence in the tokens of this model."""
    try:
        source_tokens("", model.text_model(), source)
    except InputError:
        return False
    return True


def is_viewable(source: str, language: str) -> bool:
    return len(source.split()) <= MAX_VIEW_WORDS and len(split_sentences(source, language)) == 1
