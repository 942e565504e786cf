"""Heads and key size: table 3, rows A and B of Vaswani et al. 2017, with small models."""

from functools import partial
from typing import Any

from matplotlib.figure import Figure

from studies.figures import new_figure
from studies.intervals import combine_verdicts, verdict_above
from studies.setting_comparison import (
    EXACT_MATCH,
    LOG_PERPLEXITY,
    PERPLEXITY,
    ClaimText,
    difference_claim,
    draw_settings,
    run_values,
    setting_difference,
    setting_table,
    show_signed,
)
from studies.small_models import demo_settings, evaluate_demo_test
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values
from studies.trained_runs import TrainingPlan, train_all

WIDTH, BASE = 96, "4 heads"
HEADS = {f"{count} head{'s' * (count > 1)}": count for count in (1, 4, 16)}
KEYS = {f"key width {width}": width for width in (2, 6)}
NAMES = {
    "1 head": Text("1 head, d_k = 96", "헤드 1개, d_k = 96"),
    BASE: Text("4 heads, d_k = 24 (base)", "헤드 4개, d_k = 24(기준)"),
    "16 heads": Text("16 heads, d_k = 6", "헤드 16개, d_k = 6"),
    "key width 2": Text("4 heads, d_k = 2", "헤드 4개, d_k = 2"),
    "key width 6": Text("4 heads, d_k = 6", "헤드 4개, d_k = 6"),
}


def measure(options: MeasureOptions) -> dict[str, Any]:
    settings = {name: [f"model.heads={count}"] for name, count in HEADS.items()}
    settings |= {name: ["model.heads=4", f"model.key_width={width}"] for name, width in KEYS.items()}
    plan = TrainingPlan(
        settings=settings,
        evaluate=partial(evaluate_demo_test, sentences=50 if options.quick else 0),
        shared=demo_settings(WIDTH, 10) if options.quick else demo_settings(WIDTH, 300),
    )
    return run_values(train_all(plan, options))


def claims(values: Values) -> list[Claim]:
    ran = Text(
        f"Demo pairs, width {WIDTH}, 2 + 2 layers, 300 steps; heads × d_k is constant.",
        f"데모 문장 쌍, 너비 {WIDTH}, 2 + 2층, 300스텝; 헤드 수 × d_k는 일정.",
    )
    row_a = Text("Vaswani et al. 2017, section 6.2; table 3, row A", "Vaswani et al. 2017, 6.2절, 표 3 A행")
    single = Text("A single head is worse than several.", "헤드 하나는 여럿보다 나쁘다.")
    many = Text("Quality drops with too many heads.", "헤드가 너무 많아도 품질이 떨어진다.")
    return [
        difference_claim(ClaimText(row_a, single, ran), values, LOG_PERPLEXITY, ("1 head", BASE), verdict_above),
        difference_claim(ClaimText(row_a, many, ran), values, LOG_PERPLEXITY, ("16 heads", BASE), verdict_above),
        claim_key_width(values),
    ]


def claim_key_width(values: Values) -> Claim:
    differences = {width: setting_difference(values, LOG_PERPLEXITY, name, BASE) for name, width in KEYS.items()}
    shown = {width: show_signed(difference, 3) for width, difference in differences.items()}
    return Claim(
        source=Text("Vaswani et al. 2017, section 6.2; table 3, row B", "Vaswani et al. 2017, 6.2절, 표 3 B행"),
        says=Text("Reducing the key size d_k hurts.", "키의 크기 d_k를 줄이면 나빠진다."),
        ran=Text("The same with 4 heads; d_k reduced from 24.", "같은 모델에 헤드 4개; d_k를 24에서 줄임."),
        seen=Text(
            "Log perplexity minus that of d_k = 24: " + ", ".join(f"{value} (d_k = {k})" for k, value in shown.items()),
            "로그 퍼플렉시티에서 d_k = 24의 값을 뺌: " + ", ".join(f"{value}(d_k = {k})" for k, value in shown.items()),
        ),
        verdict=combine_verdicts(map(verdict_above, differences.values())),
    )


def figure(values: Values) -> Figure:
    drawing, (heads, keys) = new_figure(2)
    draw_settings(heads, values, {name: str(count) for name, count in HEADS.items()}, PERPLEXITY)
    heads.set(xlabel="heads, with heads × d_k = 96", title="Row A: number of heads")
    names = {"key width 2": "2", "key width 6": "6", BASE: "24"}
    draw_settings(keys, values, names, PERPLEXITY, color=1)
    keys.set(xlabel="d_k, with 4 heads", title="Row B: key size")
    return drawing


def scores_table(values: Values, language: Language) -> Table:
    return setting_table(values, language, NAMES, [PERPLEXITY, EXACT_MATCH], Text("setting", "설정"))


STUDY = Study(
    name="heads",
    title=Text("Number of heads and key size", "헤드의 수와 키의 크기"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"scores": scores_table},
    seeds=(1, 2, 3, 4, 5),
    trains=True,
)
