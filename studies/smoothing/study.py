"""Label smoothing: perplexity against accuracy and BLEU (Vaswani et al. 2017, section 5.4; table 3, row D)."""

from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from studies.figures import new_figure
from studies.intervals import combine_verdicts, verdict_above
from studies.setting_comparison import (
    BLEU,
    PERPLEXITY,
    TOKEN_ACCURACY,
    ClaimText,
    difference_claim,
    draw_settings,
    run_values,
    setting_difference,
    setting_table,
    show_signed,
)
from studies.small_models import load_translator, multi30k_data, quick_data, score_pairs
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values
from studies.trained_runs import Evaluation, TrainingPlan, train_all

STEPS = 800
EPSILONS = {f"ε = {epsilon}": epsilon for epsilon in (0.0, 0.1, 0.2)}
NONE, PAPER, _ = EPSILONS
NAMES = {name: Text(name, name) for name in EPSILONS}
MODEL = ("model.width=128", "model.ffn_width=256", "model.encoder_layers=2", "model.decoder_layers=1")


def evaluate_run(run: Path, *, test: list[tuple[str, str]]) -> Evaluation:
    return {"test": score_pairs(load_translator(run), test)}


def measure(options: MeasureOptions) -> dict[str, Any]:
    data = quick_data(5, 30) if options.quick else multi30k_data(STEPS)
    plan = TrainingPlan(
        settings={name: [f"training.label_smoothing={epsilon}"] for name, epsilon in EPSILONS.items()},
        evaluate=partial(evaluate_run, test=data.test),
        shared=(*data.settings, *MODEL),
        recipe=data.recipe,
    )
    return run_values(train_all(plan, options))


def claims(values: Values) -> list[Claim]:
    source = Text("Vaswani et al. 2017, section 5.4; table 3, row D", "Vaswani et al. 2017, 5.4절, 표 3 D행")
    ran = Text(
        f"Multi30k German → English, width 128, 2 + 1 layers, {STEPS} steps; 1,000 test sentences, greedy search.",
        f"Multi30k 독일어 → 영어, 너비 128, 2 + 1층, {STEPS}스텝; 테스트 문장 1,000개, 탐욕 탐색.",
    )
    hurts = Text("Label smoothing hurts perplexity.", "레이블 스무딩은 퍼플렉시티를 나쁘게 한다.")
    accuracy, bleu = (setting_difference(values, metric, PAPER, NONE) for metric in (TOKEN_ACCURACY, BLEU))
    return [
        difference_claim(ClaimText(source, hurts, ran), values, PERPLEXITY, (PAPER, NONE), verdict_above),
        Claim(
            source=source,
            says=Text("It improves accuracy and BLEU.", "정확도와 BLEU는 좋아진다."),
            ran=ran,
            seen=Text(
                f"{PAPER} minus {NONE}: token accuracy {show_signed(accuracy)} points, BLEU {show_signed(bleu)}.",
                f"{PAPER}에서 {NONE}을 뺀 값: 토큰 정확도 {show_signed(accuracy)}점, BLEU {show_signed(bleu)}.",
            ),
            verdict=combine_verdicts(map(verdict_above, (accuracy, bleu))),
        ),
    ]


def figure(values: Values) -> Figure:
    drawing, axes = new_figure(3, width=4.2)
    for i, (ax, metric) in enumerate(zip(axes, (PERPLEXITY, TOKEN_ACCURACY, BLEU), strict=True)):
        draw_settings(ax, values, {name: str(epsilon) for name, epsilon in EPSILONS.items()}, metric, color=i)
        ax.set(xlabel="label smoothing ε", title=f"Test: {metric.name.en}")
    return drawing


def scores_table(values: Values, language: Language) -> Table:
    return setting_table(values, language, NAMES, [PERPLEXITY, TOKEN_ACCURACY, BLEU], Text("smoothing", "스무딩"))


STUDY = Study(
    name="smoothing",
    title=Text("Label smoothing", "레이블 스무딩"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"scores": scores_table},
    seeds=(1, 2, 3, 4, 5),
    trains=True,
)
