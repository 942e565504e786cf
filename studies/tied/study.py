"""Tied embeddings and √d: section 3.4 of Vaswani et al. 2017."""

from functools import partial
from typing import Any

from matplotlib.figure import Figure

from studies.figures import new_figure
from studies.intervals import verdict_above, verdict_below
from studies.setting_comparison import (
    EXACT_MATCH,
    LOG_PERPLEXITY,
    PERPLEXITY,
    ClaimText,
    RunMetric,
    difference_claim,
    draw_settings,
    run_values,
    setting_table,
)
from studies.small_models import demo_settings, evaluate_demo_test
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values
from studies.trained_runs import TrainingPlan, train_all

STEPS = 300
NAMES = {
    "tied, √d": Text("one matrix, times √d", "행렬 하나, √d를 곱함"),
    "tied, no √d": Text("one matrix, not scaled", "행렬 하나, 곱하지 않음"),
    "separate, √d": Text("three matrices, times √d", "행렬 셋, √d를 곱함"),
    "separate, no √d": Text("three matrices, not scaled", "행렬 셋, 곱하지 않음"),
}
PARAMETERS = RunMetric(("parameters",), Text("parameters", "파라미터"), 0)


def measure(options: MeasureOptions) -> dict[str, Any]:
    settings = {
        f"{tied}, {scaled}": [f"model.tie_embeddings={kind}", f"model.scale_embeddings={value}"]
        for tied, kind in (("tied", "all"), ("separate", "none"))
        for scaled, value in (("√d", "true"), ("no √d", "false"))
    }
    base = demo_settings(32, 10) if options.quick else demo_settings(96, STEPS)
    plan = TrainingPlan(
        settings=settings,
        evaluate=partial(evaluate_demo_test, sentences=50 if options.quick else 0),
        shared=(*base, "tokenizer.shared=true", "tokenizer.vocab_size=3000"),
    )
    return run_values(train_all(plan, options))


def claims(values: Values) -> list[Claim]:
    ran = Text(
        f"Demo pairs, one vocabulary for both languages, width 96, {STEPS} steps.",
        f"데모 문장 쌍, 두 언어가 한 어휘, 너비 96, {STEPS}스텝.",
    )
    tying = ClaimText(
        Text(
            "Vaswani et al. 2017, section 3.4; Press and Wolf 2017", "Vaswani et al. 2017, 3.4절; Press and Wolf 2017"
        ),
        Text("One matrix for both inputs and the output is better.", "두 입력과 출력이 한 행렬을 쓰면 더 낫다."),
        ran,
    )
    scaling = ClaimText(
        Text("Vaswani et al. 2017, section 3.4", "Vaswani et al. 2017, 3.4절"),
        Text("Tied embeddings need the factor √d.", "공유한 임베딩에는 √d를 곱해야 한다."),
        ran,
    )
    return [
        difference_claim(tying, values, LOG_PERPLEXITY, ("tied, √d", "separate, √d"), verdict_below),
        difference_claim(scaling, values, LOG_PERPLEXITY, ("tied, no √d", "tied, √d"), verdict_above),
    ]


def figure(values: Values) -> Figure:
    drawing, axes = new_figure(2)
    names = {name: name.replace(", ", "\n") for name in NAMES}
    for ax, metric, color in zip(axes, (PERPLEXITY, EXACT_MATCH), (0, 1), strict=True):
        draw_settings(ax, values, names, metric, color)
        ax.set_title(f"Test: {metric.name.en}")
        ax.tick_params(axis="x", labelsize=9)
    return drawing


def scores_table(values: Values, language: Language) -> Table:
    table = setting_table(values, language, NAMES, [PERPLEXITY, EXACT_MATCH], Text("embeddings", "임베딩"))
    rows = [[*row, f"{values['runs'][name][0]['parameters']:,}"] for name, row in zip(NAMES, table.rows, strict=True)]
    return Table([*table.header, PARAMETERS.name[language]], rows)


STUDY = Study(
    name="tied",
    title=Text("Tied embeddings and √d", "임베딩 공유와 √d"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"scores": scores_table},
    seeds=(1, 2, 3),
    trains=True,
)
