"""Ablation of the filters of a corpus: trainings with all filters, with none, and without each that dropped anything.

All trainings have the same tokenizer, budget, seeds and dev set, and are compared like systems of `tongsa compare`.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tongsa import config
from tongsa.data.cleaning.config import FilterConfig
from tongsa.data.cleaning.report_data import CorpusReport
from tongsa.data.ledger import Ledger
from tongsa.errors import InputError
from tongsa.evaluation.comparison import MetricComparison, PairComparison
from tongsa.runs.cleaning import Cleaning
from tongsa.runs.compared_systems import ComparisonOptions
from tongsa.runs.comparison import compare_systems
from tongsa.runs.comparison_data import finite
from tongsa.runs.corpus_reader import CorpusReader
from tongsa.runs.dev_split import split_corpora
from tongsa.runs.evaluation import EvaluationSet
from tongsa.runs.grid import GridRun, describe_failures, train_grid
from tongsa.runs.grid_plan import DataFiles, GridPlan, Variant
from tongsa.runs.preparation import Preparation
from tongsa.visualize.corpus_report import Ablation, AblationRow, AblationScore, Training

METRIC = "bleu"
FORMAT_KEYS = ("columns", "header", "encoding", "source_language", "target_language")
"""Settings of [data] that say how the files are read."""
SPLIT_KEYS = ("dev_fraction",)
"""Settings of [data] that say which pairs are split off as dev set."""


@dataclass(frozen=True, kw_only=True)
class AblationPlan:
    """Arguments of an ablation."""

    folder: Path
    """Folder of the runs; the same call goes on after an interruption."""
    dev: tuple[str, ...] = ()
    """Files of the dev set; by default pairs of the corpus that are split off before the filters."""
    budget: str | None = None
    seeds: tuple[int, ...] = (1,)
    settings: tuple[str, ...] = ()
    """Further settings of all trainings, as for `--set`."""
    command: str = ""
    """The command that makes this ablation, for messages."""


@dataclass(frozen=True)
class FilterVariant:
    """A training: its filters, and the number of pairs that they keep."""

    kind: Training
    filter: str
    pairs: int

    @property
    def name(self) -> str:
        return f"without-{self.filter}" if self.kind == "without" else self.kind


def filter_variants(report: CorpusReport) -> list[FilterVariant]:
    """Return all filters first, then none, then all but each one that dropped a pair."""
    usable = report.read - sum(reason.count for reason in report.unusable)
    active = [item for item in report.filters if item.dropped]
    without = [FilterVariant("without", item.name, report.kept + item.alone) for item in active]
    return [FilterVariant("all", "", report.kept), FilterVariant("none", "", usable), *without]


def filter_settings(filters: FilterConfig, variant: FilterVariant) -> tuple[str, ...]:
    """Return the settings of [data.filters] as assignments."""
    table = config.to_table(FilterConfig() if variant.kind == "none" else filters)
    if variant.kind == "without":
        table[variant.filter] = False
        if variant.filter == "model_score":
            table["model"] = ""  # a model without its filter is an error
    return tuple(f"data.filters.{key}={json.dumps(value)}" for key, value in table.items())


def ablate_filters(
    cleaning: Cleaning, report: CorpusReport, plan: AblationPlan, log: Callable[[str], None] = lambda _: None
) -> Ablation:
    """Train all variants that are not trained yet, and compare them."""
    variants = filter_variants(report)
    grid = _grid_plan(cleaning, plan, variants)
    runs = train_grid(grid)
    if failures := describe_failures(runs, plan.command):
        raise InputError(failures)
    comparison = compare_systems(
        [run.folder for run in runs], _test_set(cleaning, plan), ComparisonOptions(metrics=(METRIC,))
    )
    for remark in comparison.compared.remarks:
        if plan.dev or remark.code != "leakage":  # a dev set that was split off is in the training file
            log(remark.text)
    settings = [_variant_of(runs[group.members[0]], variants) for group in comparison.compared.groups]
    metric = comparison.metrics[METRIC]
    rows = sorted(_rows(metric, settings), key=lambda row: variants.index(_find(variants, row)))
    return Ablation(
        metric=METRIC,
        sentences=metric.sentences,
        split="dev",
        budget=plan.budget or "",
        seeds=len(plan.seeds),
        rows=tuple(rows),
    )


def _grid_plan(cleaning: Cleaning, plan: AblationPlan, variants: list[FilterVariant]) -> GridPlan:
    data = cleaning.data
    train = tuple(map(str, data.paths(data.train)))
    formats = config.to_table(data)
    settings = [f"data.{key}={json.dumps(formats[key])}" for key in (*FORMAT_KEYS, *SPLIT_KEYS)]
    return GridPlan(
        folder=plan.folder,
        data=DataFiles(train=train, dev=plan.dev),
        settings=(*settings, *plan.settings),
        variants=tuple(
            Variant(
                name=variant.name,
                settings=filter_settings(data.filters, variant),
                tokenizer_of="" if variant.kind == "all" else "all",
            )
            for variant in variants
        ),
        seeds=plan.seeds,
        budget=plan.budget,
        command=plan.command,
    )


def _test_set(cleaning: Cleaning, plan: AblationPlan) -> EvaluationSet:
    """Return the dev set of all trainings: it is split off before the filters, so it is the same."""
    data = cleaning.data
    formats = {key: getattr(data, key) for key in FORMAT_KEYS}
    if plan.dev:
        return EvaluationSet(files=plan.dev, **formats)
    pairs = CorpusReader().read(data, cleaning.task, data.train, Ledger(None))
    _, dev = split_corpora([pairs], data, cleaning.task, Preparation())
    return EvaluationSet(pairs=[(pair.source, pair.target) for pair in dev or pairs], **formats)


def _variant_of(run: GridRun, variants: list[FilterVariant]) -> FilterVariant:
    return next(variant for variant in variants if variant.name == run.variant)


def _find(variants: list[FilterVariant], row: AblationRow) -> FilterVariant:
    return next(variant for variant in variants if (variant.kind, variant.filter) == (row.kind, row.filter))


def _rows(metric: MetricComparison, settings: list[FilterVariant]) -> Iterator[AblationRow]:
    base = next(i for i, variant in enumerate(settings) if variant.kind == "all")
    for i, (variant, score) in enumerate(zip(settings, metric.scores, strict=True)):
        row = AblationRow(
            kind=variant.kind,
            filter=variant.filter,
            pairs=variant.pairs,
            score=AblationScore(
                value=score.value, low=finite(score.interval.low), high=finite(score.interval.high), runs=score.runs
            ),
        )
        pair = next((_pair_from(pair, i) for pair in metric.pairs if {pair.a, pair.b} == {i, base}), None)
        if pair is not None:
            test = pair.test
            row = replace(
                row,
                difference=test.difference,
                low=finite(test.interval.low),
                high=finite(test.interval.high),
                p=pair.p_value,
                verdict=pair.verdict,
            )
        yield row


def _pair_from(pair: PairComparison, first: int) -> PairComparison:
    return pair if pair.a == first else pair.mirror()
