"""Normalization in the Transformer: layer, batch, group, RMS, none; with batches of many sentences and of one.

Ba et al. 2016; Ioffe and Szegedy 2015; Wu and He 2018; Zhang and Sennrich 2019.
"""

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
    difference_claim,
    draw_settings,
    run_values,
    setting_table,
)
from studies.small_models import demo_settings, evaluate_demo_test, step_settings
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values
from studies.trained_runs import TrainingPlan, train_all

STEPS, SINGLE_STEPS = 300, 1500
KINDS = {
    "layer": Text("layer", "층"),
    "batch": Text("batch", "배치"),
    "group": Text("group", "그룹"),
    "rms": Text("RMS", "RMS"),
    "none": Text("none", "없음"),
}
SINGLE_KINDS = ("layer", "batch", "group")
SINGLE_NAMES = {f"{kind}, one sentence": KINDS[kind] for kind in SINGLE_KINDS}


def measure(options: MeasureOptions) -> dict[str, Any]:
    many = demo_settings(32, 10) if options.quick else demo_settings(96, STEPS)
    single = (
        *many,
        *step_settings(10 if options.quick else SINGLE_STEPS),
        "training.batch_tokens=1",  # a sentence is never split: each batch has one
        "training.lr.peak=1e-3",
    )
    settings = {kind: [*many, f"model.norm_kind={kind}"] for kind in KINDS}
    settings |= {f"{kind}, one sentence": [*single, f"model.norm_kind={kind}"] for kind in SINGLE_KINDS}
    plan = TrainingPlan(
        settings=settings,
        evaluate=partial(evaluate_demo_test, sentences=50 if options.quick else 0),
    )
    return run_values(train_all(plan, options))


def claims(values: Values) -> list[Claim]:
    many = Text(
        f"Demo pairs, width 96, pre-norm, {STEPS} steps of about 900 tokens.",
        f"데모 문장 쌍, 너비 96, pre-norm, 약 900토큰씩 {STEPS}스텝.",
    )
    single_ran = Text(
        f"The same, {SINGLE_STEPS:,} steps of one sentence.",
        f"같은 모델, 한 문장씩 {SINGLE_STEPS:,}스텝.",
    )
    layer = ClaimText(
        Text(
            "Ba et al. 2016, section 1; Vaswani et al. 2017, section 3.1",
            "Ba et al. 2016, 1절; Vaswani et al. 2017, 3.1절",
        ),
        Text(
            "For sequences, layer normalization is better than batch normalization.",
            "시퀀스에는 층 정규화가 배치 정규화보다 낫다.",
        ),
        many,
    )
    single = ClaimText(
        Text("Ba et al. 2016, section 1; Wu and He 2018, section 1", "Ba et al. 2016, 1절; Wu and He 2018, 1절"),
        Text("Batch normalization suffers from small batches.", "배치 정규화는 작은 배치에서 나빠진다."),
        single_ran,
    )
    none = ClaimText(
        Text("Vaswani et al. 2017, section 3.1", "Vaswani et al. 2017, 3.1절"),
        Text("A normalization helps.", "정규화는 도움이 된다."),
        many,
    )
    rms = ClaimText(
        Text("Zhang and Sennrich 2019, section 1", "Zhang and Sennrich 2019, 1절"),
        Text("RMS normalization is not worse than layer normalization.", "RMS 정규화는 층 정규화보다 나쁘지 않다."),
        many,
    )
    pair = ("batch, one sentence", "layer, one sentence")
    return [
        difference_claim(layer, values, LOG_PERPLEXITY, ("batch", "layer"), verdict_above),
        difference_claim(single, values, LOG_PERPLEXITY, pair, verdict_above),
        difference_claim(none, values, LOG_PERPLEXITY, ("none", "layer"), verdict_above),
        difference_claim(rms, values, LOG_PERPLEXITY, ("rms", "layer"), partial(verdict_below, threshold=0.1)),
    ]


def figure(values: Values) -> Figure:
    drawing, (many, single) = new_figure(2)
    draw_settings(many, values, {kind: kind for kind in KINDS}, PERPLEXITY)
    many.set(title=f"{STEPS} steps of about 900 tokens", xlabel="normalization")
    names = {f"{kind}, one sentence": kind for kind in SINGLE_KINDS}
    draw_settings(single, values, names, PERPLEXITY, color=1)
    single.set(title=f"{SINGLE_STEPS:,} steps of one sentence", xlabel="normalization")
    return drawing


def scores_table(values: Values, language: Language) -> Table:
    return setting_table(values, language, KINDS, [PERPLEXITY, EXACT_MATCH], Text("normalization", "정규화"))


def single_table(values: Values, language: Language) -> Table:
    return setting_table(values, language, SINGLE_NAMES, [PERPLEXITY, EXACT_MATCH], Text("normalization", "정규화"))


STUDY = Study(
    name="norms",
    title=Text("Layer, batch, group and RMS normalization", "층, 배치, 그룹, RMS 정규화"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"scores": scores_table, "single": single_table},
    seeds=(1, 2, 3),
    trains=True,
)
