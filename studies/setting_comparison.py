"""Settings of a trained study compared: tables, points with intervals, and verdicts on differences over seeds.

The values of such a study are {"runs": {setting: [evaluation of each seed]}}; a metric is a path in an evaluation.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from studies.figures import COLORS, MARKERS, use_log_scale
from studies.intervals import Interval, Scale, difference_interval, scaled_interval
from studies.korean import SETTINGS, with_object_particle
from studies.study import Claim, Language, Table, Text, Values, Verdict
from studies.trained_runs import seed_values


class RunMetric(NamedTuple):
    """A number of every run."""

    path: tuple[str, ...]
    name: Text
    digits: int = 1
    scale: Scale = "linear"


EXACT_MATCH = RunMetric(("test", "exact_match"), Text("exact match (%)", "완전 일치(%)"), scale="percent")
BLEU = RunMetric(("test", "bleu"), Text("BLEU", "BLEU"), scale="percent")
PERPLEXITY = RunMetric(("test", "perplexity"), Text("perplexity", "퍼플렉시티"), 2, "log")
LOG_PERPLEXITY = RunMetric(("test", "log_perplexity"), Text("log perplexity", "로그 퍼플렉시티"), 3)
TOKEN_ACCURACY = RunMetric(("test", "token_accuracy"), Text("token accuracy (%)", "토큰 정확도(%)"), scale="percent")


def setting_values(values: Values, setting: str, metric: RunMetric) -> list[float]:
    """Return the metric of each seed that did not diverge."""
    return seed_values(values["runs"][setting], *metric.path)


def setting_mean(values: Values, setting: str, metric: RunMetric) -> Interval:
    return scaled_interval(setting_values(values, setting, metric), metric.scale)


def setting_difference(values: Values, metric: RunMetric, setting: str, baseline: str) -> Interval:
    """Return the metric of a setting minus that of the baseline."""
    return difference_interval(setting_values(values, setting, metric), setting_values(values, baseline, metric))


def verdict_equal(interval: Interval, margin: float) -> Verdict:
    """Return the verdict on "equal up to a margin": holds if the whole interval is within, fails if it is outside."""
    if -margin < interval.low and interval.high < margin:
        return "holds"
    return "fails" if interval.low > margin or interval.high < -margin else "undecided"


def show_signed(interval: Interval, digits: int = 1) -> str:
    """Return `+mean [low, high]` of a difference."""
    text = interval.show(digits)
    return text if text.startswith("−") else f"+{text}"


def setting_table(
    values: Values, language: Language, names: Mapping[str, Text], metrics: Sequence[RunMetric], title: Text
) -> Table:
    """Return a row for each setting with mean and 95 % interval of each metric, and how many runs diverged."""
    diverged = {name: sum("diverged" in run for run in values["runs"][name]) for name in names}
    header = [title[language], *(metric.name[language] for metric in metrics)]
    rows = [
        [text[language], *(_cell(values, name, metric) for metric in metrics)]
        + ([str(diverged[name])] if any(diverged.values()) else [])
        for name, text in names.items()
    ]
    return Table(header + ([Text("diverged", "발산")[language]] if any(diverged.values()) else []), rows)


def _cell(values: Values, setting: str, metric: RunMetric) -> str:
    if len(setting_values(values, setting, metric)) < 2:
        return "–"
    return setting_mean(values, setting, metric).show(metric.digits)


def draw_settings(axes: Axes, values: Values, names: Mapping[str, str], metric: RunMetric, color: int = 0) -> None:
    """Draw a small point for each seed, and the mean with its 95 % interval, for each setting."""
    for x, setting in enumerate(names):
        seeds = setting_values(values, setting, metric)
        axes.plot(
            [x] * len(seeds), seeds, MARKERS[color], color=COLORS[color], alpha=0.45, markersize=5, linestyle="none"
        )
        if len(seeds) > 1:
            interval = scaled_interval(seeds, metric.scale)
            error = [[interval.mean - interval.low], [interval.high - interval.mean]]
            axes.errorbar([x + 0.15], [interval.mean], yerr=error, fmt=MARKERS[color], color=COLORS[color], capsize=4)
    axes.set_xticks(range(len(names)), list(names.values()))
    axes.set_xlim(-0.5, len(names) - 0.4)
    axes.set_ylabel(metric.name.en)
    if metric.scale == "log":
        use_log_scale(axes)


class ClaimText(NamedTuple):
    """The fixed sentences of a claim."""

    source: Text
    says: Text
    ran: Text


def difference_claim(
    text: ClaimText,
    values: Values,
    metric: RunMetric,
    pair: tuple[str, str],
    rule: Callable[[Interval], Verdict],
) -> Claim:
    """Return a claim on the metric of one setting minus that of another one."""
    difference = show_signed(setting_difference(values, metric, *pair), metric.digits)
    korean = [SETTINGS.get(name, name) for name in pair]
    return Claim(
        source=text.source,
        says=text.says,
        ran=text.ran,
        seen=Text(
            f"{metric.name.en[0].upper()}{metric.name.en[1:]}, {pair[0]} minus {pair[1]}: {difference}.",
            f"{metric.name.ko}, {korean[0]}에서 {with_object_particle(korean[1])} 뺀 값: {difference}.",
        ),
        verdict=rule(setting_difference(values, metric, *pair)),
    )


def run_values(evaluations: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    return {"runs": {name: list(runs) for name, runs in evaluations.items()}}
