"""Depth and width: table 3, row C of Vaswani et al. 2017, with small models."""

from functools import partial
from typing import Any

from matplotlib.figure import Figure

from studies.figures import new_figure
from studies.intervals import combine_verdicts, verdict_below
from studies.setting_comparison import (
    EXACT_MATCH,
    LOG_PERPLEXITY,
    PERPLEXITY,
    RunMetric,
    draw_settings,
    run_values,
    setting_difference,
    setting_table,
    show_signed,
)
from studies.small_models import demo_settings, evaluate_demo_test
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values
from studies.trained_runs import TrainingPlan, train_all

STEPS = 300
SIZES = {"N1 d96": (1, 96), "N2 d48": (2, 48), "N2 d96": (2, 96), "N2 d192": (2, 192), "N4 d96": (4, 96)}
"""Layers of each side and width."""
DEPTHS, WIDTHS = ("N1 d96", "N2 d96", "N4 d96"), ("N2 d48", "N2 d96", "N2 d192")
NAMES = {name: Text(f"N = {n}, d = {d}", f"N = {n}, d = {d}") for name, (n, d) in SIZES.items()}
PARAMETERS = RunMetric(("parameters",), Text("parameters", "파라미터"), 0)


def size_settings(layers: int, width: int, steps: int) -> list[str]:
    return [*demo_settings(width, steps), f"model.encoder_layers={layers}", f"model.decoder_layers={layers}"]


def measure(options: MeasureOptions) -> dict[str, Any]:
    steps = 10 if options.quick else STEPS
    plan = TrainingPlan(
        settings={name: size_settings(layers, width, steps) for name, (layers, width) in SIZES.items()},
        evaluate=partial(evaluate_demo_test, sentences=50 if options.quick else 0),
    )
    return run_values(train_all(plan, options))


def size_claim(values: Values, says: Text, order: tuple[str, ...]) -> Claim:
    """Return the claim that each size has a lower perplexity than the next smaller one."""
    pairs = list(zip(order[1:], order[:-1], strict=True))
    differences = [setting_difference(values, LOG_PERPLEXITY, *pair) for pair in pairs]
    shown = "; ".join(
        f"{larger} − {smaller}: {show_signed(difference, 3)}"
        for (larger, smaller), difference in zip(pairs, differences, strict=True)
    )
    return Claim(
        source=Text("Vaswani et al. 2017, section 6.2; table 3, row C", "Vaswani et al. 2017, 6.2절, 표 3 C행"),
        says=says,
        ran=Text(
            f"Demo pairs, {STEPS} steps; N layers on each side, width d, feed-forward width 3d.",
            f"데모 문장 쌍, {STEPS}스텝; 양쪽에 N층, 너비 d, 피드포워드 너비 3d.",
        ),
        seen=Text(f"Log perplexity: {shown}.", f"로그 퍼플렉시티: {shown}."),
        verdict=combine_verdicts(map(verdict_below, differences)),
    )


def claims(values: Values) -> list[Claim]:
    return [
        size_claim(values, Text("More layers are better.", "층이 많을수록 낫다."), DEPTHS),
        size_claim(values, Text("Wider models are better.", "너비가 클수록 낫다."), WIDTHS),
    ]


def figure(values: Values) -> Figure:
    drawing, (depth, width) = new_figure(2)
    draw_settings(depth, values, {name: str(SIZES[name][0]) for name in DEPTHS}, PERPLEXITY)
    depth.set(xlabel="layers on each side (N), d = 96", title="Depth")
    draw_settings(width, values, {name: str(SIZES[name][1]) for name in WIDTHS}, PERPLEXITY, color=1)
    width.set(xlabel="width (d), N = 2", title="Width")
    return drawing


def scores_table(values: Values, language: Language) -> Table:
    table = setting_table(values, language, NAMES, [PERPLEXITY, EXACT_MATCH], Text("size", "크기"))
    rows = [[*row, f"{values['runs'][name][0]['parameters']:,}"] for name, row in zip(NAMES, table.rows, strict=True)]
    return Table([*table.header, PARAMETERS.name[language]], rows)


STUDY = Study(
    name="depth_width",
    title=Text("Depth and width", "깊이와 너비"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"scores": scores_table},
    seeds=(1, 2, 3),
    trains=True,
)
