"""False alarms and power of the two-level test over seeds and sentences (evaluation/significance.py), by simulation.

    python benchmarks/seed_test_simulation.py                      the whole table: about ten minutes on one core
    python benchmarks/seed_test_simulation.py --trials 200 --seeds 2 --sentences 200
    python benchmarks/seed_test_simulation.py --record             write the rows to benchmarks/results/statistics.json

Two settings of the same quality are trained with 2, 3 or 5 seeds each and tested on the same sentences. A test at the
level of 5 % should see a difference in 5 % of the simulated comparisons, however much the seeds vary. Three metrics:

    mean         a normal value per sentence, as chrF or COMET have
    exact_match  right or wrong
    bleu         counts of n-grams, drawn from binomials

A sentence is easy or hard for both settings, easier for one of them, and right or wrong by chance in each run. The sd
of the seeds is 0, 0.3, 1 and 5 times the error that the sentences cause: none, small, equal, dominant. "one setting":
dominant, but the second setting does not vary. The baseline resamples runs and sentences and takes percentiles.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from machine import machine
from record import Measurement, add_options, record, to_number, to_slug

from tongsa.evaluation.metric_statistics import (
    FloatArray,
    MetricStatistics,
    bleu_scores,
    mean_statistics,
    sentence_bleu_scores,
)
from tongsa.evaluation.resampling import bootstrap_scores
from tongsa.evaluation.significance import seed_test

LEVELS = {"none": 0.0, "small": 0.3, "equal": 1.0, "dominant": 5.0}
"""Sd of the seeds, as a multiple of the error of the difference that the sentences cause."""
EFFECT = 3.0
"""Difference in the power table, as a multiple of its true standard error."""
BASELINE_SAMPLES, BASELINE_SHARE = 400, 4
"""The baseline is slow: it is computed for every fourth comparison."""
Runs = list[MetricStatistics]


@dataclass(frozen=True)
class Scenario:
    metric: str
    seeds: int
    sentences: int
    seed_factor: float
    """See LEVELS."""
    second_varies: bool = True
    effect: float = 0.0


def main() -> int:
    options = parse_options()
    random = np.random.default_rng(options.seed)
    rows = []
    for metric in options.metrics:
        for seeds in options.seeds:
            for sentences in options.sentences:
                rows.append(false_alarms(random, Scenario(metric, seeds, sentences, 0.0), options.trials))
                print(json.dumps(rows[-1]), file=sys.stderr)
    for seeds in options.seeds if "mean" in options.metrics else ():
        rows.append(power(random, Scenario("mean", seeds, max(options.sentences), 0.0), options.trials))
        print(json.dumps(rows[-1]), file=sys.stderr)
    report = {"rows": rows, "trials": options.trials, "machine": machine()}
    print(json.dumps(report, ensure_ascii=False) if options.json else as_text(rows))
    if options.record:
        record("statistics", [measurement(row, options) for row in rows], options.results)
    return 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metrics", nargs="+", choices=MODELS, default=[*MODELS], metavar="NAME", help=f"{[*MODELS]}")
    parser.add_argument("--seeds", nargs="+", type=int, default=[2, 3, 5], help="runs of each setting")
    parser.add_argument("--sentences", nargs="+", type=int, default=[200, 1000])
    parser.add_argument("--trials", type=int, default=1000, help="simulated comparisons for each figure")
    parser.add_argument("--seed", type=int, default=1, help="seed of the simulation")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_options(parser)
    return parser.parse_args()


# Simulated runs


def simulate(random: np.random.Generator, scenario: Scenario) -> tuple[Runs, Runs]:
    """Draw two settings with their runs on one test set."""
    model = MODELS[scenario.metric]
    count, seeds = scenario.sentences, scenario.seeds
    common = random.normal(0, model.common_sd, count)  # what is hard for all systems
    settings = []
    for is_second in (False, True):
        varies = scenario.second_varies or not is_second
        seed_sd = scenario.seed_factor * sentence_error(model, count) * varies
        quality = scenario.effect * true_error(scenario) * (not is_second)
        ability = common + random.normal(0, model.setting_sd, count)
        ability = ability + random.normal(quality, seed_sd, (seeds, 1))
        settings.append(
            [model.outputs(random, run) for run in ability + random.normal(0, model.run_sd, (seeds, count))]
        )
    return settings[0], settings[1]


def sentence_error(model: "Model", count: int) -> float:
    """Return the standard error of the difference that the two settings' sentences cause, on the scale of ability."""
    return float(model.setting_sd * np.sqrt(2 / count))


def true_error(scenario: Scenario) -> float:
    """Return the standard error of the difference of the metric `mean`."""
    model, count = MODELS[scenario.metric], scenario.sentences
    of_sentences = sentence_error(model, count) ** 2
    of_runs = scenario.seed_factor**2 * of_sentences + model.run_sd**2 / count
    return float(np.sqrt(of_sentences + 2 * of_runs / scenario.seeds))


@dataclass(frozen=True)
class Model:
    """A metric and the sd of its sentences, on the scale of the metric or of log odds."""

    outputs: Callable[[np.random.Generator, FloatArray], MetricStatistics]
    common_sd: float
    setting_sd: float
    run_sd: float


def draw_values(_: np.random.Generator, ability: FloatArray) -> MetricStatistics:
    return mean_statistics("mean", "mean", 50 + ability)


def draw_matches(random: np.random.Generator, ability: FloatArray) -> MetricStatistics:
    return mean_statistics("exact_match", "exact_match", 100.0 * (random.random(len(ability)) < sigmoid(ability)))


def draw_ngrams(random: np.random.Generator, ability: FloatArray) -> MetricStatistics:
    """Draw the counts of BLEU: a longer n-gram matches if the shorter one does, and with the same odds again."""
    lengths = np.clip(np.round(random.lognormal(2.9, 0.5, len(ability))), 4, 80).astype(np.int64)
    totals = np.stack([lengths - order for order in range(4)], axis=1)
    correct, matches = np.zeros(totals.shape, dtype=np.int64), lengths
    for order in range(4):
        matches = correct[:, order] = random.binomial(np.minimum(matches, totals[:, order]), sigmoid(0.6 + ability))
    rows = np.concatenate([lengths[:, None], lengths[:, None], correct, totals], axis=1).astype(np.float64)
    return MetricStatistics("bleu", "bleu", rows, bleu_scores, sentence_bleu_scores)


def sigmoid(values: FloatArray) -> FloatArray:
    return 1 / (1 + np.exp(-values))


MODELS = {
    "mean": Model(draw_values, common_sd=20, setting_sd=8, run_sd=10),
    "exact_match": Model(draw_matches, common_sd=1.5, setting_sd=0.7, run_sd=0.7),
    "bleu": Model(draw_ngrams, common_sd=0.6, setting_sd=0.4, run_sd=0.4),
}


# Rates


def false_alarms(random: np.random.Generator, scenario: Scenario, trials: int) -> dict[str, Any]:
    """Return the percentage of comparisons that show a difference although there is none, by level of the seeds."""
    cases = {name: replace(scenario, seed_factor=factor) for name, factor in LEVELS.items()}
    if scenario.metric == "mean":  # for the others, more variance would change the mean quality
        cases["one setting"] = replace(cases["dominant"], second_varies=False)
    rates, baselines = {}, {}
    for name, case in cases.items():
        rates[name], baselines[name] = (100 * float(np.mean(alarms)) for alarms in compare(random, case, trials))
    counts = {"metric": scenario.metric, "seeds": scenario.seeds, "sentences": scenario.sentences}
    return counts | {"table": "false alarms", "rates": rates, "baseline": baselines}


def power(random: np.random.Generator, scenario: Scenario, trials: int) -> dict[str, Any]:
    """Return the percentage of comparisons that show a difference of EFFECT standard errors."""
    rates = {}
    for name, factor in LEVELS.items():
        case = replace(scenario, seed_factor=factor, effect=EFFECT)
        rates[name] = 100 * float(np.mean([is_different(*simulate(random, case)) for _ in range(trials)]))
    counts = {"metric": scenario.metric, "seeds": scenario.seeds, "sentences": scenario.sentences}
    return counts | {"table": "power", "rates": rates, "baseline": {}}


def compare(random: np.random.Generator, scenario: Scenario, trials: int) -> tuple[list[bool], list[bool]]:
    """Return the alarms of the two-level test and, for every fourth comparison, those of the baseline."""
    alarms, baseline = [], []
    for trial in range(trials):
        a, b = simulate(random, scenario)
        alarms.append(is_different(a, b))
        if trial % BASELINE_SHARE == 0:
            baseline.append(is_different_by_percentiles(random, a, b))
    return alarms, baseline


def is_different(a: Runs, b: Runs) -> bool:
    low, high = seed_test(a, b).interval
    return not low <= 0 <= high


def is_different_by_percentiles(random: np.random.Generator, a: Runs, b: Runs) -> bool:
    """Return whether the middle 95 % of resampled differences leave out 0; runs and sentences are both resampled."""
    scores = bootstrap_scores([*a, *b], BASELINE_SAMPLES, int(random.integers(1 << 31)))
    samples = np.arange(BASELINE_SAMPLES)
    means = [
        group[random.integers(len(group), size=(len(group), BASELINE_SAMPLES)), samples].mean(axis=0)
        for group in (scores[: len(a)], scores[len(a) :])
    ]
    low, high = np.quantile(means[0] - means[1], [0.025, 0.975])
    return not low <= 0 <= high


# Output


def as_text(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        rates = ", ".join(f"{name} {rate:.1f}" for name, rate in row["rates"].items())
        lines.append(f"{row['table']}, {row['metric']}, {row['seeds']} seeds, {row['sentences']} sentences: {rates} %")
    return "\n".join(lines)


def measurement(row: dict[str, Any], options: argparse.Namespace) -> Measurement:
    is_power = row["table"] == "power"
    pick = min if is_power else max
    return Measurement(
        id=f"seed-test-{row['table'].replace(' ', '-')}-{row['metric']}-{row['seeds']}-{row['sentences']}".replace(
            "_", "-"
        ),
        table=to_slug(row["table"]),
        headline=row["metric"] == "bleu" and row["sentences"] == max(options.sentences),
        what=f"{row['metric']}, {row['seeds']} seeds, {row['sentences']:,} sentences",
        value=to_number(pick(row["rates"].values()), 1),
        unit=f"% shown, {EFFECT:g} standard errors" if is_power else "% false alarms at most",
        baseline=None if is_power else "percentiles of resampled runs and sentences",
        baseline_value=None if is_power else to_number(max(row["baseline"].values()), 1),
        seeds=[options.seed],
        details={f"seeds: {name}": to_number(rate, 1) for name, rate in row["rates"].items()}
        | {"comparisons for each": options.trials},
    )


if __name__ == "__main__":
    sys.exit(main())
