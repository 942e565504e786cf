"""Data of the comparison page: scores, pairs, traits, the sentences in which systems differ most, n-grams, cost."""

import math
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from tongsa.evaluation.comparison import MetricComparison, PairComparison, score_setting
from tongsa.evaluation.metric_statistics import FloatArray, MetricStatistics
from tongsa.evaluation.metrics import Interval
from tongsa.evaluation.ngram_differences import NgramDifference, count_ngrams, lacks_spaces, ngram_differences
from tongsa.evaluation.output_traits import TRAITS, trait_statistics
from tongsa.runs.compared_systems import ComparedSystems
from tongsa.runs.setting_groups import SEED_KEY
from tongsa.runs.systems import System
from tongsa.visualize.comparison import training_summary
from tongsa.visualize.family import show_invisible

MAX_SENTENCES = 200
"""Sentences on the page."""
MAX_NGRAM_SYSTEMS = 8
"""N-grams are compared between the first systems only."""
SENTENCE_METRICS = ("comet", "chrf", "bleu", "ter", "exact_match", "accuracy")
"""Metrics of single sentences, in order of preference: BLEU of a short one is mostly smoothing."""


def comparison_data(compared: ComparedSystems, metrics: Sequence[MetricComparison]) -> dict[str, Any]:
    """Return the data of the page without slices, curves and views, ready for JSON."""
    test_set = compared.test_set
    spaced = not lacks_spaces(test_set.references)
    return {
        "test": {
            "files": [Path(file).name for file in test_set.files],
            "sentences": len(test_set.pairs),
            "languages": list(compared.languages),
            "spaced": spaced,
        },
        "task": compared.task,
        "metrics": [metric_data(metric) for metric in metrics],
        "settings": [{"name": group.name, "systems": list(group.members)} for group in compared.groups],
        "systems": [system_data(compared, i) for i in range(len(compared.systems))],
        "differences": {"keys": compared.differences.keys, "rows": compared.differences.rows},
        "traits": trait_data(compared),
        "sentences": sentence_data(compared),
        "ngrams": ngram_data(compared, spaced=spaced),
        "remarks": [remark.as_json() for remark in compared.remarks],
    }


def metric_data(metric: MetricComparison) -> dict[str, Any]:
    scores = [
        estimate(score.value, score.interval) | {"runs": [finite(value) for value in score.runs]}
        for score in metric.scores
    ]
    return {
        "name": metric.name,
        "signature": metric.signature,
        "lower_is_better": metric.lower_is_better,
        "sentences": metric.sentences,
        "detectable": finite(metric.detectable),
        "scores": scores,
        "pairs": [pair_data(pair) for pair in metric.pairs],
    }


def pair_data(pair: PairComparison) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "difference": finite(pair.test.difference),
        "low": finite(pair.test.interval.low),
        "high": finite(pair.test.interval.high),
        "p_bootstrap": finite(pair.p_bootstrap, digits=8),
        "p_randomization": finite(pair.p_randomization, digits=8),
        "p_bootstrap_single": finite(pair.test.p_bootstrap, digits=8),
        "p_randomization_single": finite(pair.test.p_randomization, digits=8),
        "verdict": pair.verdict,
        "people": finite(pair.human_agreement),
        "seeds": list(pair.test.seeds),
        "covers_seeds": pair.test.covers_seeds,
    }


def estimate(value: float, interval: Interval) -> dict[str, float | None]:
    return {"value": finite(value), "low": finite(interval.low), "high": finite(interval.high)}


def finite(value: float | None, digits: int = 4) -> float | None:
    """Return a rounded number; None for what JSON cannot represent."""
    return None if value is None or not math.isfinite(value) else round(float(value), digits)


def system_data(compared: ComparedSystems, index: int) -> dict[str, Any]:
    """Return origin, size, training and speed of a system."""
    system, outputs = compared.systems[index], compared.outputs[index]
    speed = len(compared.test_set.pairs) / outputs.seconds if outputs.seconds else None
    return {
        "name": system.name,
        "path": str(system.path),
        "origin": system.origin,
        "kind": system.model.kind if system.model else "",
        "seed": _seed(system),
        "parameters": system.model.parameters if system.model else None,
        "size_bytes": system.model.size_bytes if system.model else None,
        "decoding": outputs.decoding,
        "sentences_per_second": finite(speed, digits=1),
        **training_summary(system.records),
    }


def _seed(system: System) -> int | None:
    seed = system.settings.get(SEED_KEY)
    return seed if isinstance(seed, int) else None


def trait_data(compared: ComparedSystems) -> dict[str, Any]:
    """Return the traits of the outputs of each setting, and of the references; none for labels and language models."""
    if compared.task != "seq2seq":
        return {"references": {}, "rows": []}
    test_set = compared.test_set
    of_references = trait_statistics(test_set.sources, test_set.references, test_set.references)
    of_systems = [
        trait_statistics(test_set.sources, outputs.texts, test_set.references) for outputs in compared.outputs
    ]
    shown = [name for name in TRAITS if not math.isnan(of_references[name].value())]  # no number in the test set
    return {
        "references": {name: {"value": finite(of_references[name].value())} for name in shown},
        "rows": [
            {name: setting_estimate([of_systems[i][name] for i in group.members]) for name in shown}
            for group in compared.groups
        ],
    }


def setting_estimate(runs: Sequence[MetricStatistics]) -> dict[str, float | None]:
    """Return the mean of a setting's runs with its interval; None if a run has no value, such as empty outputs."""
    if any(math.isnan(run.value()) for run in runs):
        return estimate(math.nan, Interval(math.nan, math.nan))
    score = score_setting(runs)
    return estimate(score.value, score.interval)


def sentence_data(compared: ComparedSystems) -> dict[str, Any]:
    """Return the sentences in which the outputs of the systems differ most."""
    metric = next((name for name in SENTENCE_METRICS if name in compared.statistics), None)
    empty = {"metric": "", "lower_is_better": False, "of": len(compared.test_set.pairs), "rows": []}
    if metric is None or compared.task == "language_model":
        return empty
    statistics = compared.statistics[metric]
    scores = np.stack([system.sentence_values() for system in statistics])  # (system, sentence)
    rows = []
    for i in differing_sentences(scores, MAX_SENTENCES):
        pair = compared.test_set.pairs[i]
        rows.append(
            {
                "line": compared.test_set.positions[i] + 1,
                "source": pair.source,
                "reference": pair.target,
                "outputs": [outputs.texts[i] for outputs in compared.outputs],
                "scores": [finite(score, digits=1) for score in scores[:, i]],
                "view": None,
            }
        )
    return empty | {"metric": metric, "lower_is_better": statistics[0].lower_is_better, "rows": rows}


def differing_sentences(scores: FloatArray, count: int) -> list[int]:  # (system, sentence)
    """Return the sentences with the largest differences, taken from all pairs of systems in turn."""
    orders: list[list[int]] = []
    for a, b in combinations(range(len(scores)), 2):
        differences = np.nan_to_num(np.abs(scores[a] - scores[b]))
        largest_first = np.argsort(-differences, kind="stable")
        orders.append(largest_first[: int((differences > 0).sum())].tolist())
    chosen: dict[int, None] = {}
    for rank in range(max(map(len, orders), default=0)):
        for order in orders:
            if len(chosen) < count and rank < len(order):
                chosen.setdefault(order[rank])
    return list(chosen)


def ngram_data(compared: ComparedSystems, *, spaced: bool) -> list[dict[str, Any]]:
    """Return for each pair of systems the n-grams that only one of them writes."""
    if compared.task != "seq2seq":
        return []
    references = count_ngrams(compared.test_set.references, spaced=spaced)
    counts = [count_ngrams(outputs.texts, spaced=spaced) for outputs in compared.outputs[:MAX_NGRAM_SYSTEMS]]
    pairs = []
    for a, b in combinations(range(len(counts)), 2):
        only_a, only_b = ngram_differences(counts[a], counts[b], references)
        pairs.append({"a": a, "b": b, "only_a": [*map(_ngram, only_a)], "only_b": [*map(_ngram, only_b)]})
    return pairs


def _ngram(ngram: NgramDifference) -> dict[str, Any]:
    return {**ngram._asdict(), "text": show_invisible(ngram.text)}
