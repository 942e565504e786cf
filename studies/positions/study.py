"""Positions: sinusoidal, learned, rotary, none; on the test, on longer sentences, and at shifted positions.

Vaswani et al. 2017, section 3.5 and table 3, row E. To see why long sentences fail, trained models get short sentences
at the positions of long ones, long sentences at the positions of short ones, and short ones of the same structure.
"""

import re
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from studies.figures import draw_seeds, line_styles, new_figure
from studies.intervals import combine_verdicts, difference_interval, verdict_above, verdict_below
from studies.positions.interventions import (
    changed_positions,
    compress_positions,
    exact_matches,
    percentage,
    shift_positions,
)
from studies.setting_comparison import (
    EXACT_MATCH,
    PERPLEXITY,
    RunMetric,
    draw_settings,
    run_values,
    setting_difference,
    setting_mean,
    setting_table,
    setting_values,
    show_signed,
    verdict_equal,
)
from studies.small_models import demo_settings, load_translator
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values
from studies.trained_runs import Evaluation, TrainingPlan, train_all

KINDS = {
    "sinusoidal": Text("sinusoidal", "사인파"),
    "learned": Text("learned", "학습한 위치"),
    "rotary": Text("rotary", "회전(rotary)"),
    "none": Text("none", "없음"),
}
SHIFTS = (0, 4, 8, 16, 24, 48)
SHIFT = 24
"""Shift of the verdict: beyond every position of the training data."""
COMPRESSION = 0.6
"""Factor on the positions of long sentences, which brings 21 words to the positions of 13."""
MARGIN = 5.0
"""Percentage points of exact match that count as about equal."""
TWO_CLAUSES = re.compile(r"\b(and|but|because|if|when|while|so|before|after)\b")

LONG = RunMetric(("long", "exact_match"), Text("exact match, long (%)", "긴 문장 완전 일치(%)"))
LONG_BLEU = RunMetric(("long", "bleu"), Text("BLEU, long", "긴 문장 BLEU"))
LENGTH_RATIO = RunMetric(("long", "length_ratio"), Text("length ratio, long", "긴 문장 길이 비"), 2)
COMPRESSED = RunMetric(("compressed", "exact_match"), Text("long, compressed (%)", "긴 문장, 압축한 위치(%)"))
ONE_CLAUSE = RunMetric(("one clause",), Text("short, one clause (%)", "짧은 문장, 절 하나(%)"))
TWO = RunMetric(("two clauses",), Text("short, two clauses (%)", "짧은 문장, 절 둘(%)"))


def shift_metric(shift: int) -> RunMetric:
    return RunMetric(("shifted", str(shift)), Text(f"shift {shift}", f"{shift}칸 이동"))


def evaluate_positions(run: Path) -> Evaluation:
    import tongsa
    from tongsa.demo import read_split

    translator = load_translator(run)
    test, long = read_split("test"), read_split("test-long")
    reports = {"test": tongsa.evaluate(translator, pairs=test), "long": tongsa.evaluate(translator, pairs=long)}
    evaluation: Evaluation = {
        name: {metric: score.value for metric, score in report.scores.items()} for name, report in reports.items()
    }
    lengths = [len(text) for text in reports["long"].outputs], [len(target) for _, target in long]
    evaluation["long"]["length_ratio"] = sum(lengths[0]) / sum(lengths[1])
    hits = [output == target for output, (_, target) in zip(reports["test"].outputs, test, strict=True)]
    for name, has_two in (("one clause", False), ("two clauses", True)):
        chosen = [
            hit for hit, (source, _) in zip(hits, test, strict=True) if bool(TWO_CLAUSES.search(source)) == has_two
        ]
        evaluation[name] = percentage(chosen)
        evaluation[f"{name} sentences"] = len(chosen)
    evaluation["shifted"] = {}
    for shift in SHIFTS:
        with changed_positions(translator, shift_positions(shift), shift):
            evaluation["shifted"][str(shift)] = percentage(exact_matches(translator, test[:400]))
    with changed_positions(translator, compress_positions(COMPRESSION), 0):
        evaluation["compressed"] = {"exact_match": percentage(exact_matches(translator, long))}
    return evaluation


def measure(options: MeasureOptions) -> dict[str, Any]:
    plan = TrainingPlan(
        settings={kind: [f"model.positions={kind}"] for kind in KINDS},
        evaluate=evaluate_positions,
        shared=demo_settings(32, 20) if options.quick else demo_settings(96, 400),
    )
    return run_values(train_all(plan, options)) | {"structure": structure()}


def structure() -> dict[str, float]:
    """Return the percentage of sentences with two clauses in the training data and in the long test, and lengths."""
    from tongsa.demo import read_split

    train, long = read_split("train"), read_split("test-long")
    return {
        "train two clauses": percentage([bool(TWO_CLAUSES.search(source)) for source, _ in train]),
        "long two clauses": percentage([bool(TWO_CLAUSES.search(source)) for source, _ in long]),
        "longest train": max(len(source.split()) for source, _ in train),
        "longest long": max(len(source.split()) for source, _ in long),
    }


def claims(values: Values) -> list[Claim]:
    return [
        claim_equal(values),
        claim_longer(values),
        claim_shift(values),
        claim_cause(values),
        claim_structure(values),
    ]


def claim_equal(values: Values) -> Claim:
    difference = setting_difference(values, EXACT_MATCH, "learned", "sinusoidal")
    return Claim(
        source=Text("Vaswani et al. 2017, section 3.5; table 3, row E", "Vaswani et al. 2017, 3.5절, 표 3 E행"),
        says=Text(
            "Learned and sinusoidal positions give nearly identical results.",
            "학습한 위치와 사인파 위치의 결과는 거의 같다.",
        ),
        ran=Text(
            f"Demo pairs, unseen sentences of the lengths of training; about equal: within {MARGIN:.0f} points.",
            f"데모 문장 쌍, 학습 때와 같은 길이의 새 문장; {MARGIN:.0f}점 안이면 거의 같다고 봄.",
        ),
        seen=Text(
            f"Exact match, learned minus sinusoidal: {show_signed(difference)} points.",
            f"완전 일치, 학습한 위치에서 사인파를 뺀 값: {show_signed(difference)}점.",
        ),
        verdict=verdict_equal(difference, MARGIN),
    )


def claim_longer(values: Values) -> Claim:
    sinusoidal, learned = (setting_mean(values, kind, LONG) for kind in ("sinusoidal", "learned"))
    bleu = setting_difference(values, LONG_BLEU, "sinusoidal", "learned")
    return Claim(
        source=Text("Vaswani et al. 2017, section 3.5", "Vaswani et al. 2017, 3.5절"),
        says=Text(
            "Sinusoids may allow the model to extrapolate to sequences longer than in training.",
            "사인파 위치는 학습 때보다 긴 시퀀스로 외삽될 수 있다.",
        ),
        ran=Text(
            "Sentences of 14–21 words after training on at most 13. Rule: at least half the exact match of the test.",
            "13단어 이하로 학습하고 14–21단어 문장을 번역. 규칙: 완전 일치가 테스트 문장의 절반 이상.",
        ),
        seen=Text(
            f"Exact match {sinusoidal.show()} % (learned: {learned.show()} %); "
            f"BLEU, sinusoidal minus learned: {show_signed(bleu)}.",
            f"완전 일치 {sinusoidal.show()} %(학습한 위치: {learned.show()} %); "
            f"BLEU, 사인파에서 학습한 위치를 뺀 값: {show_signed(bleu)}.",
        ),
        verdict=verdict_above(sinusoidal, setting_mean(values, "sinusoidal", EXACT_MATCH).mean / 2),
    )


def claim_shift(values: Values) -> Claim:
    share = {
        kind: 100
        * setting_mean(values, kind, shift_metric(SHIFT)).mean
        / max(1e-9, setting_mean(values, kind, shift_metric(0)).mean)
        for kind in KINDS
    }
    keeps = [
        [
            after / max(before, 1e-9) - 0.5
            for before, after in zip(
                setting_values(values, kind, shift_metric(0)),
                setting_values(values, kind, shift_metric(SHIFT)),
                strict=True,
            )
        ]
        for kind in ("sinusoidal", "rotary")
    ]
    return Claim(
        source=Text("question from the demo's results", "데모 결과에서 나온 질문"),
        says=Text(
            f"Short sentences survive positions that training has never seen: a shift by {SHIFT}.",
            f"짧은 문장은 학습에 없던 위치에서도 번역된다: {SHIFT}칸 옮긴 경우.",
        ),
        ran=Text(
            f"400 short sentences, all positions shifted by {SHIFT} on both sides. Rule: half of the exact match "
            "is left with every seed, sinusoidal and rotary.",
            f"짧은 문장 400개의 위치를 양쪽 모두 {SHIFT}칸 옮김. "
            "규칙: 사인파와 회전에서 모든 시드가 완전 일치의 절반 이상을 유지.",
        ),
        seen=Text(
            "Exact match left: " + ", ".join(f"{kind} {value:.0f} %" for kind, value in share.items()) + ".",
            "남은 완전 일치: " + ", ".join(f"{KINDS[kind].ko} {value:.0f} %" for kind, value in share.items()) + ".",
        ),
        verdict=combine_verdicts("holds" if min(seeds) > 0 else "fails" for seeds in keeps),
    )


def claim_cause(values: Values) -> Claim:
    """Return the claim that models fail on long sentences also where positions cannot be the reason."""
    without, compressed = setting_mean(values, "none", LONG), setting_mean(values, "sinusoidal", COMPRESSED)
    half = {kind: setting_mean(values, kind, EXACT_MATCH).mean / 2 for kind in ("none", "sinusoidal")}
    return Claim(
        source=Text("question from the demo's results", "데모 결과에서 나온 질문"),
        says=Text(
            "Long sentences fail for other reasons than their positions.",
            "긴 문장이 틀리는 것은 위치 때문이 아니다.",
        ),
        ran=Text(
            f"Long sentences without positions, and with sinusoidal positions times {COMPRESSION}, in the range of "
            "training. Rule: both stay below half of the exact match of the test.",
            f"위치가 없는 모델, 그리고 사인파 위치에 {COMPRESSION}을 곱해 학습 범위에 넣은 모델의 긴 문장. "
            "규칙: 둘 다 테스트 문장의 완전 일치의 절반 미만.",
        ),
        seen=Text(
            f"Exact match: no positions {without.show()} %, compressed {compressed.show()} %.",
            f"완전 일치: 위치 없음 {without.show()} %, 압축 {compressed.show()} %.",
        ),
        verdict=combine_verdicts([verdict_below(without, half["none"]), verdict_below(compressed, half["sinusoidal"])]),
    )


def claim_structure(values: Values) -> Claim:
    single, two = (setting_mean(values, "sinusoidal", metric) for metric in (ONE_CLAUSE, TWO))
    share = {name: f"{values['structure'][f'{name} two clauses']:.0f}" for name in ("train", "long")}
    drop = setting_values(values, "sinusoidal", ONE_CLAUSE), setting_values(values, "sinusoidal", TWO)
    return Claim(
        source=Text("question from the demo's results", "데모 결과에서 나온 질문"),
        says=Text(
            "Sentences of two clauses, frequent among the long ones, fail more often even when short.",
            "긴 문장에 많은, 절이 둘인 문장은 짧을 때도 더 자주 틀린다.",
        ),
        ran=Text(
            f"Test sentences of at most 13 words. {share['train']} % of the training data and {share['long']} % of the "
            "long test have two clauses.",
            f"13단어 이하의 테스트 문장. 절 둘은 학습 데이터의 {share['train']} %, 긴 테스트 문장의 {share['long']} %.",
        ),
        seen=Text(
            f"Exact match, sinusoidal: one clause {single.show()} %, two clauses {two.show()} %.",
            f"완전 일치, 사인파: 절 하나 {single.show()} %, 절 둘 {two.show()} %.",
        ),
        verdict=verdict_above(difference_interval(*drop)),
    )


def figure(values: Values) -> Figure:
    drawing, (shift_axes, long_axes) = new_figure(2)
    for kind, style in zip(KINDS, line_styles(), strict=False):
        seeds = [setting_values(values, kind, shift_metric(shift)) for shift in SHIFTS]
        draw_seeds(shift_axes, SHIFTS, seeds, kind, style)
    shift_axes.set(
        xlabel="positions shifted by", ylabel="exact match (%)", title="Short sentences, shifted", ylim=(0, None)
    )
    shift_axes.legend()
    draw_settings(long_axes, values, {kind: kind for kind in KINDS}, EXACT_MATCH)
    draw_settings(long_axes, values, {kind: kind for kind in KINDS}, LONG, color=1)
    long_axes.set(title="Test (circles), longer (squares)", ylabel="exact match (%)", ylim=(0, None))
    return drawing


def scores_table(values: Values, language: Language) -> Table:
    metrics = [EXACT_MATCH, PERPLEXITY, LONG, LONG_BLEU, LENGTH_RATIO]
    return setting_table(values, language, KINDS, metrics, Text("positions", "위치"))


def shift_table(values: Values, language: Language) -> Table:
    return setting_table(values, language, KINDS, [shift_metric(shift) for shift in SHIFTS], Text("positions", "위치"))


def structure_table(values: Values, language: Language) -> Table:
    return setting_table(values, language, KINDS, [ONE_CLAUSE, TWO, LONG, COMPRESSED], Text("positions", "위치"))


STUDY = Study(
    name="positions",
    title=Text("Positions: sinusoidal, learned, rotary, none", "위치: 사인파, 학습, 회전, 없음"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"scores": scores_table, "shifts": shift_table, "structure": structure_table},
    seeds=(1, 2, 3),
    trains=True,
)
