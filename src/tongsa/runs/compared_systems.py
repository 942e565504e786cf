"""Systems with their outputs on one test set, their settings grouped by seed, and the statistics of all metrics."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tongsa.data.language_id import has_script_of, language_name
from tongsa.errors import InputError
from tongsa.evaluation.comet import comet_statistics, load_comet
from tongsa.evaluation.evaluate import DEFAULT_METRICS
from tongsa.evaluation.metric_statistics import MetricStatistics, metric_statistics, perplexity_scores
from tongsa.interface import Task
from tongsa.runs.evaluation import EvaluationSet, choose_bleu_tokenizer
from tongsa.runs.leakage import find_leakage
from tongsa.runs.setting_groups import SettingDifferences, SettingGroup, group_by_seed, setting_differences
from tongsa.runs.system_outputs import DecodingOptions, SystemOutputs, system_outputs
from tongsa.runs.systems import AlignedTestSet, Log, System, common_languages, common_task, open_systems, read_test_set

FEW_SENTENCES = 100
"""Test sets with fewer sentences get a remark: percentile intervals of small samples are too narrow."""
TASK_METRICS: dict[Task, tuple[str, ...]] = {
    "seq2seq": DEFAULT_METRICS,
    "classification": ("accuracy", "macro_f1"),
    "language_model": (),
}
"""Default metrics of each task besides perplexity."""


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    """Metrics and decoding of a comparison."""

    metrics: Sequence[str] = ()
    """By default those of the first model."""
    tokenize: str = ""
    """SacreBLEU's tokenizer for BLEU; by default chosen by the target language."""
    comet_model: str = ""
    """Checkpoint file of a COMET model; adds the score `comet`."""
    decoding: DecodingOptions = field(default_factory=DecodingOptions)
    group_seeds: bool = True
    """False compares the runs of one setting with each other."""


@dataclass(frozen=True)
class Remark:
    """Remark about the test set or a system; the page translates it by its code and values."""

    code: str
    text: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code, "text": self.text, **self.values}


@dataclass(frozen=True, kw_only=True)
class ComparedSystems:
    """Everything that is compared."""

    task: Task
    languages: tuple[str, str]
    test_set: AlignedTestSet
    systems: list[System]
    outputs: list[SystemOutputs]
    groups: list[SettingGroup]
    differences: SettingDifferences
    tokenize: str
    statistics: Mapping[str, Sequence[MetricStatistics]]
    """Metric → statistics of each system."""
    remarks: list[Remark]

    @property
    def names(self) -> list[str]:
        """Names of the settings."""
        return [group.name for group in self.groups]

    def by_setting(self, statistics: Sequence[MetricStatistics]) -> list[list[MetricStatistics]]:
        """Return the statistics of the runs of each setting."""
        return [[statistics[i] for i in group.members] for group in self.groups]


def collect_systems(
    paths: Sequence[str | Path], evaluation_set: EvaluationSet, options: ComparisonOptions, log: Log = lambda _: None
) -> ComparedSystems:
    """Read the systems and the test set, decode, and compute the statistics of all metrics; `log` gets the progress."""
    if len(paths) < 2:
        raise InputError("compare: one system only. Give at least two runs, models or files of outputs.")
    systems = open_systems(paths, options.decoding.device)
    task, languages = common_task(systems), common_languages(systems)
    _check_options(options, task)
    comet = load_comet(options.comet_model) if options.comet_model else None  # before the decoding, which takes long
    test_set = read_test_set(evaluation_set, task)
    metrics = tuple(options.metrics) or _default_metrics(task, systems)
    tokenize = options.tokenize or "13a"
    if not options.tokenize and "bleu" in metrics:
        language = evaluation_set.target_language or languages[1]
        tokenize = choose_bleu_tokenizer(language, test_set.references, log)
    outputs = [system_outputs(system, test_set, options.decoding, log) for system in systems]
    scored = {name: score_outputs(name, test_set, outputs, tokenize) for name in metrics if name != "comet"}
    if comet:
        scored["comet"] = [
            comet_statistics(comet, test_set.sources, output.texts, test_set.references) for output in outputs
        ]
    statistics, left_out = check_statistics(scored, systems, outputs)
    settings = [system.settings if options.group_seeds else {} for system in systems]
    groups = group_by_seed([system.name for system in systems], settings)
    found_remarks = [*_test_set_remarks(test_set, languages), *_system_remarks(systems, outputs, test_set), *left_out]
    return ComparedSystems(
        task=task,
        languages=languages,
        test_set=test_set,
        systems=systems,
        outputs=outputs,
        groups=groups,
        differences=setting_differences(groups, [system.settings for system in systems]),
        tokenize=tokenize,
        statistics=statistics,
        remarks=[*found_remarks, *_fitted_steps(groups, systems)],
    )


def _default_metrics(task: Task, systems: Sequence[System]) -> tuple[str, ...]:
    models = [system.model for system in systems if system.model and system.model.metrics]
    return models[0].metrics if models and task == "seq2seq" else TASK_METRICS[task]


def score_outputs(
    metric: str, test_set: AlignedTestSet, outputs: Sequence[SystemOutputs], tokenize: str
) -> list[MetricStatistics]:
    """Return the statistics of all systems under a metric."""
    sources, references = test_set.sources, test_set.references
    return [metric_statistics(metric, sources, output.texts, references, tokenize) for output in outputs]


def _check_options(options: ComparisonOptions, task: Task) -> None:
    names = [name for name in ("metrics", "tokenize", "comet_model") if getattr(options, name)]
    if task != "seq2seq" and names:
        flag = f"--{names[0].replace('_', '-')}"
        raise InputError(f"{flag}: these models do not translate. Leave out {flag}.")
    if "comet" in options.metrics and not options.comet_model:
        raise InputError("--metrics comet: COMET needs a model. Add --comet-model FILE, a downloaded checkpoint.")


def check_statistics(
    statistics: dict[str, list[MetricStatistics]], systems: Sequence[System], outputs: Sequence[SystemOutputs]
) -> tuple[dict[str, list[MetricStatistics]], list[Remark]]:
    """Add perplexities if they are comparable, leave out what is not a number; return remarks about what is missing."""
    remarks = []
    if obstacle := _perplexity_obstacle(systems):
        remarks += [obstacle] if any(system.model for system in systems) else []
    else:
        statistics["perplexity"] = [perplexity_statistics(output) for output in outputs]
    for name, values in list(statistics.items()):
        undefined = [system.name for system, value in zip(systems, values, strict=True) if math.isnan(value.value())]
        if undefined:
            del statistics[name]
            text = f"{name} is left out: it is not a number for {undefined[0]}."
            remarks.append(Remark("nan_metric", text, {"metric": name, "name": undefined[0]}))
    if not statistics:
        raise InputError(f"compare: no metric is left. {' '.join(remark.text for remark in remarks)} Leave it out.")
    return statistics, remarks


def perplexity_statistics(output: SystemOutputs) -> MetricStatistics:
    """Return the statistics of the references' log-probabilities, which a model has and a file of outputs has not."""
    rows = np.array(output.log_probs, dtype=np.float64).reshape(-1, 2)
    return MetricStatistics("perplexity", output.perplexity_signature, rows, perplexity_scores)


def _perplexity_obstacle(systems: Sequence[System]) -> Remark | None:
    """Return why perplexities cannot be compared; None if they can."""
    files = [system.name for system in systems if system.model is None]
    if files:
        text = f"Perplexity is left out: {', '.join(files)} has outputs only, no probabilities."
        return Remark("perplexity_outputs", text, {"names": files})
    if len({system.model.tokenizer for system in systems if system.model}) > 1:
        text = "Perplexity is left out: the models have different tokenizers, so it is not comparable."
        return Remark("perplexity_tokenizers", text)
    return None


def _test_set_remarks(test_set: AlignedTestSet, languages: tuple[str, str]) -> Iterator[Remark]:
    count, dropped = len(test_set.pairs), sum(n for reason, n in test_set.dropped.items() if reason != "header")
    if count < FEW_SENTENCES:
        text = f"Only {count} sentences: the intervals are rough, and only large differences can be seen."
        yield Remark("few_sentences", text, {"count": count})
    if dropped:
        yield dropped_remark(dropped)
    target = languages[1]
    if target and language_name(target) != target and not _looks_like(target, test_set.references):
        text = f"The references do not look like {language_name(target)}, the language that the models write."
        yield Remark("language", text, {"language": language_name(target)})


def _looks_like(language: str, references: Sequence[str]) -> bool:
    """Return whether the references may be in a language; short lines such as phonemes are not judged."""
    words = sum(len(reference.split()) for reference in references) / max(1, len(references))
    return words < 3 or has_script_of(language, references)


def _system_remarks(
    systems: Sequence[System], outputs: Sequence[SystemOutputs], test_set: AlignedTestSet
) -> Iterator[Remark]:
    """Yield remarks about sources that are too long for a model, and about test lines in its training files."""
    leakages: dict[str, Remark | None] = {}
    for system, output in zip(systems, outputs, strict=True):
        if output.truncated:
            text = f"{system.name}: {output.truncated} sources were longer than the model can read."
            yield Remark("truncated", text, {"name": system.name, "count": output.truncated})
        if system.origin == "run":
            files = str(system.settings.get("data.train"))
            if files not in leakages:  # runs of one grid have the same files
                leakages[files] = _leakage(system, test_set)
            if remark := leakages[files]:
                yield remark
                leakages[files] = None


def _leakage(system: System, test_set: AlignedTestSet) -> Remark | None:
    finding = find_leakage(system.path, test_set.pairs)
    same, lines = int(finding.numbers.get("same", 0)), len(test_set.pairs)
    if finding.level == "ok" or not same:
        return None
    return leakage_remark(system.name, same, lines)


def dropped_remark(count: int) -> Remark:
    text = f"{count:,} lines of the test set could not be used and are left out."
    return Remark("dropped", text, {"count": count})


def leakage_remark(name: str, same: int, lines: int) -> Remark:
    text = f"{name}: {same:,} of {lines:,} test lines are in its training files, so its scores are too high."
    return Remark("leakage", text, {"name": name, "same": same, "lines": lines})


def _fitted_steps(groups: Sequence[SettingGroup], systems: Sequence[System]) -> Iterator[Remark]:
    for group in groups:
        steps = sorted({systems[i].settings.get("training.steps", 0) for i in group.members})
        if len(group.members) > 1 and len(steps) > 1:
            text = f"{group.name}: its runs have {steps[0]:,} to {steps[-1]:,} steps, fitted to a time budget."
            yield Remark("fitted_steps", text, {"name": group.name, "low": steps[0], "high": steps[-1]})
