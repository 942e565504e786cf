"""Report of a ladder: scores on the test set, by model and by length of the source, and one sentence in all models."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from tongsa import bundle, storage
from tongsa.config import Table
from tongsa.evaluation.metrics import Score, compute_metrics
from tongsa.runs.compared_systems import ComparisonOptions
from tongsa.runs.comparison import Comparison, compare_systems
from tongsa.runs.evaluation import EvaluationOptions, EvaluationSet, evaluate_on
from tongsa.runs.grid import GridRun
from tongsa.runs.ladder_data import LadderData
from tongsa.visualize.family import write_family

MAX_BANDS, MIN_BAND_SENTENCES = 8, 30
"""Bands of source lengths: at most so many, each with at least so many sentences."""
MAIN_METRIC = {"seq2seq": "", "classification": "accuracy", "language_model": "perplexity"}
"""Metric of a task; the first metric of the model for translation."""


class LengthBand(NamedTuple):
    """Sources with this many words, both ends included."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low}–{self.high}" if self.low < self.high else str(self.low)


@dataclass(frozen=True)
class LadderScore:
    """Scores of a run on the test set."""

    run: GridRun
    parameters: int
    metric: str
    """The metric that is shown by length."""
    scores: Mapping[str, float]
    signatures: Mapping[str, str]
    by_length: Sequence[float]
    """The metric in each band; empty for a language model."""


@dataclass(frozen=True)
class LadderReport:
    """Scores of all runs that finished, with the bands of source lengths."""

    runs: Sequence[GridRun]
    """All runs, with those that failed."""
    titles: Mapping[str, str]
    """Title of each model, in the order of the papers."""
    bands: Sequence[LengthBand]
    scores: Sequence[LadderScore]
    files: Sequence[Path] = ()

    def __str__(self) -> str:
        return self.table()

    def table(self) -> str:
        """Return the scores as Markdown: means over the seeds."""
        names = dict.fromkeys(name for score in self.scores for name in score.scores)
        metrics = sorted(names, key=lambda name: name == "perplexity")  # the only one of a language model: last
        metric = next((score.metric for score in self.scores if score.by_length), "")
        heads = ["model", "paper", "parameters", "steps", *metrics, *(f"{metric}, {band} words" for band in self.bands)]
        lines = [f"| {' | '.join(heads)} |", "|---|---|" + "--:|" * (len(heads) - 2)]
        for name, title in self.titles.items():
            group = [score for score in self.scores if score.run.variant == name]
            if group:
                lines.append(f"| {' | '.join([name, title, *self._cells(group, metrics)])} |")
        return "\n".join(lines)

    def _cells(self, group: Sequence[LadderScore], metrics: Sequence[str]) -> list[str]:
        steps = round(fmean(score.run.steps for score in group))
        means = [
            f"{fmean(score.scores[name] for score in group):.1f}" if name in group[0].scores else "–"
            for name in metrics
        ]
        lengths = [f"{fmean(values):.1f}" for values in zip(*(score.by_length for score in group), strict=True)]
        return [f"{group[0].parameters:,}", f"{steps:,}", *means, *(lengths or ["–"] * len(self.bands))]

    def record(self) -> Table:
        return {
            "bands": [list(band) for band in self.bands],
            "runs": [
                score.run.record()
                | {"model": score.run.variant, "seed": score.run.seed, "parameters": score.parameters}
                | {"test": dict(score.scores), "signatures": dict(score.signatures), "by_length": list(score.by_length)}
                for score in self.scores
            ],
        }


class _TestResult(NamedTuple):
    """Scores and outputs of a run on the test set."""

    scores: Mapping[str, Score]
    outputs: Sequence[str]


def write_ladder_report(
    folder: Path, runs: Sequence[GridRun], data: LadderData, titles: Mapping[str, str], tokenize: str = ""
) -> LadderReport:
    """Score the runs on the test set; write ladder.md, ladder.json, the comparison and the page of one sentence."""
    finished = [run for run in runs if run.state == "finished"]
    readers = [run for run in finished if _reads_source(run)]
    sources = [line.split("\t")[0] for line in Path(data.pairs.test[0]).read_text("utf-8").splitlines()]
    bands = length_bands([len(source.split()) for source in sources])
    comparison = _compare(readers, data, tokenize) if len(readers) > 1 else None
    compared = dict(zip(readers, _compared_results(comparison), strict=True)) if comparison else {}
    scores = [_score_run(run, compared.get(run) or _evaluate(run, data, tokenize), data, bands) for run in finished]
    files = [folder / "ladder.md", folder / "ladder.json"]
    report = LadderReport(runs, titles, bands, scores, files)
    storage.write_text(files[0], report.table() + "\n")
    storage.write_text(files[1], json.dumps(report.record(), indent=1, ensure_ascii=False))
    if comparison:
        files.append(comparison.save(folder / "compare.html"))
    first_runs = {run.variant: run.folder for run in reversed(readers)}
    if ordered := [first_runs[name] for name in titles if name in first_runs]:
        files += write_family(folder / "family.html", ordered, data.probe.source, reference=data.probe.target)[:1]
    return report


def _reads_source(run: GridRun) -> bool:
    return bundle.load_bundle(run.folder).config.task != "language_model"


def _compare(readers: Sequence[GridRun], data: LadderData, tokenize: str) -> Comparison:
    options = ComparisonOptions(tokenize=tokenize if data.task == "seq2seq" else "")
    return compare_systems([run.folder for run in readers], EvaluationSet(files=data.pairs.test), options)


def _compared_results(comparison: Comparison) -> Iterator[_TestResult]:
    """Yield what the comparison has decoded and scored, run by run."""
    compared = comparison.compared
    for i, outputs in enumerate(compared.outputs):
        decoding = f"|{outputs.decoding}" if outputs.decoding else ""
        scores = {
            name: Score(runs[i].value(), runs[i].signature + ("" if name == "perplexity" else decoding))
            for name, runs in compared.statistics.items()
        }
        yield _TestResult(scores, outputs.texts)


def _evaluate(run: GridRun, data: LadderData, tokenize: str) -> _TestResult:
    """Return the result of a run that is not compared: a language model, or the only model."""
    text_model = bundle.load_bundle(run.folder).text_model()
    files = data.texts.test if text_model.task == "language_model" else data.pairs.test
    options = EvaluationOptions(tokenize=tokenize if text_model.task == "seq2seq" else "")
    report = evaluate_on(text_model, EvaluationSet(files=files), options)
    return _TestResult(report.scores, report.outputs)


def _score_run(run: GridRun, result: _TestResult, data: LadderData, bands: Sequence[LengthBand]) -> LadderScore:
    model = bundle.load_bundle(run.folder)
    task = model.config.task
    metric = MAIN_METRIC[task] or next(iter(result.scores))
    return LadderScore(
        run=run,
        parameters=sum(parameter.numel() for parameter in model.model.parameters()),
        metric=metric,
        scores={name: score.value for name, score in result.scores.items()},
        signatures={name: score.signature for name, score in result.scores.items()},
        by_length=[] if task == "language_model" else _score_bands(result, data.pairs.test[0], metric, bands),
    )


def length_bands(lengths: Sequence[int]) -> list[LengthBand]:
    """Return bands of about equally many sentences, from the shortest to the longest."""
    values, count = np.sort(lengths), max(1, min(MAX_BANDS, len(lengths) // MIN_BAND_SENTENCES))
    highs = sorted({int(values[len(values) * i // count - 1]) for i in range(1, count + 1)})
    lows = [int(values[0]), *(high + 1 for high in highs[:-1])]
    return [LengthBand(low, high) for low, high in zip(lows, highs, strict=True)]


def _score_bands(result: _TestResult, file: str, metric: str, bands: Sequence[LengthBand]) -> list[float]:
    """Return the metric on the sentences of each band."""
    pairs = [line.split("\t") for line in Path(file).read_text("utf-8").splitlines()]
    tokenize = result.scores[metric].signature.partition("|tok:")[2].partition("|")[0] or "13a"
    name = "exact_match" if metric == "accuracy" else metric
    values = []
    for band in bands:
        rows = [i for i, (source, _) in enumerate(pairs) if band.low <= len(source.split()) <= band.high]
        sources, references = [pairs[i][0] for i in rows], [pairs[i][1] for i in rows]
        outputs = [result.outputs[i] for i in rows]
        values.append(compute_metrics([name], sources, outputs, references, tokenize)[name].value)
    return values
