"""Why long distances are hard to learn: gradient and learning against distance (Vaswani et al. 2017, section 4)."""

import math
from typing import Any

from matplotlib.figure import Figure

from studies.distance.layers import DISTANCES, LAYERS, gradients_by_distance, learn_recall
from studies.distance.models import BINS, KINDS, evaluate
from studies.figures import draw_seeds, line_styles, new_figure
from studies.intervals import (
    Interval,
    combine_verdicts,
    difference_interval,
    mean_interval,
    verdict_above,
    verdict_below,
)
from studies.study import LANGUAGES, Claim, Language, MeasureOptions, Study, Table, Text, Values, table_in
from studies.trained_runs import TrainingPlan, train_all

RECALL_DISTANCES, RECALL_STEPS = (4, 8, 16, 32, 64), 500
TRAINING_STEPS = 300
VANISHED, KEPT = 0.01, 0.1
"""Relative gradients: below the first a signal has vanished, above the second it has not."""
LAYER_NAMES = {
    "rnn": Text("recurrent, tanh", "순환, tanh"),
    "gru": Text("GRU", "GRU"),
    "lstm": Text("LSTM", "LSTM"),
    "self-attention": Text("self-attention", "자기 어텐션"),
}
KIND_NAMES = {
    "rnn": Text("summary vector", "요약 벡터"),
    "rnn_attention": Text("additive attention", "가산 어텐션"),
    "transformer": Text("Transformer", "Transformer"),
}
STAGES = {"untrained": Text("untrained", "학습 전"), "trained": Text("trained", "학습 후")}
SOURCE = Text("Vaswani et al. 2017, section 4", "Vaswani et al. 2017, 4절")


def measure(options: MeasureOptions) -> dict[str, Any]:
    steps, recall_steps = (6, 20) if options.quick else (TRAINING_STEPS, RECALL_STEPS)
    recall_distances = RECALL_DISTANCES[:2] if options.quick else RECALL_DISTANCES
    common = [f"training.steps={steps}", f"training.validate_every={steps}", "training.validate_sentences=1"]
    plan = TrainingPlan(
        settings=KINDS, shared=[*common, "training.best_metric=loss", "model.dropout=0.1"], evaluate=evaluate
    )
    runs = train_all(plan, options)
    gradients = {name: [gradients_by_distance(name, seed) for seed in options.seeds] for name in LAYERS}
    return {
        "distances": list(DISTANCES),
        "gradients": {name: [list(row) for row in zip(*rows, strict=True)] for name, rows in gradients.items()},
        "recall_distances": list(recall_distances),
        "recall_steps": recall_steps,
        "recall": {
            name: [
                [learn_recall(name, distance, seed, recall_steps) for seed in options.seeds]
                for distance in recall_distances
            ]
            for name in LAYERS
        },
        "bins": [list(limits) for limits in BINS],
        "training_steps": steps,
        "models": {
            kind: {stage: [[run[stage][i] for run in runs[kind]] for i in range(len(BINS))] for stage in STAGES}
            for kind in KINDS
        },
    }


def far_over_near(values: Values, kind: str, stage: str = "trained") -> list[float]:
    """Return log(gradient at the largest distances / gradient at the smallest) of each seed."""
    rows = values["models"][kind][stage]
    return [math.log(far / near) for far, near in zip(rows[-1], rows[0], strict=True)]


def claims(values: Values) -> list[Claim]:
    return [_gradient_claim(values), _learning_claim(values), _model_claim(values)]


def _gradient_claim(values: Values) -> Claim:
    farthest = {name: mean_interval(values["gradients"][name][-1]) for name in LAYERS}
    recurrent = {
        language: ", ".join(f"{LAYER_NAMES[name][language]} {farthest[name].mean:.0e}" for name in LAYERS[:-1])
        for language in LANGUAGES
    }
    attention = farthest["self-attention"]
    return Claim(
        source=Text("Hochreiter et al. 2001, cited in section 4", "4절에 인용된 Hochreiter et al. 2001"),
        says=Text(
            "In recurrent layers the signal between far positions fades, step by step; in attention it does not.",
            "순환 층에서는 먼 위치 사이의 신호가 여러 단계를 거쳐 사라지고, 어텐션에서는 그렇지 않다.",
        ),
        ran=Text(
            "Untrained layers: gradient of the last output by an input, relative to the nearest inputs.",
            "학습하지 않은 층: 마지막 출력의 입력에 대한 그래디언트를 가까운 입력과 비교.",
        ),
        seen=Text(
            f"At distance {values['distances'][-1]}: {recurrent['en']}; self-attention {attention.show()}.",
            f"거리 {values['distances'][-1]}에서 {recurrent['ko']}; 자기 어텐션 {attention.show()}.",
        ),
        verdict=combine_verdicts(
            [*(verdict_below(farthest[name], VANISHED) for name in LAYERS[:-1]), verdict_above(attention, KEPT)]
        ),
    )


def _learning_claim(values: Values) -> Claim:
    farthest = {name: values["recall"][name][-1] for name in LAYERS}
    gains = [difference_interval(farthest["self-attention"], farthest[name]) for name in LAYERS[:-1]]
    shown = ", ".join(f"{LAYER_NAMES[name].en} {mean_interval(farthest[name]).mean:.0f} %" for name in LAYERS)
    shown_ko = ", ".join(f"{LAYER_NAMES[name].ko} {mean_interval(farthest[name]).mean:.0f} %" for name in LAYERS)
    return Claim(
        source=SOURCE,
        says=Text(
            "The shorter the path, the easier it is to learn long-range dependencies.",
            "경로가 짧을수록 먼 거리의 의존 관계를 배우기 쉽다.",
        ),
        ran=Text(
            f"One layer learns in {values['recall_steps']} steps to name a token from far back.",
            f"층 하나가 {values['recall_steps']}스텝 동안 먼 앞의 토큰을 맞히도록 학습.",
        ),
        seen=Text(
            f"Accuracy at distance {values['recall_distances'][-1]}: {shown}.",
            f"거리 {values['recall_distances'][-1]}의 정확도: {shown_ko}.",
        ),
        verdict=combine_verdicts(verdict_above(gain) for gain in gains),
    )


def _model_claim(values: Values) -> Claim:
    logs = {kind: far_over_near(values, kind) for kind in KINDS}
    ratios = {kind: math.exp(mean_interval(logs[kind]).mean) for kind in KINDS}
    gains: list[Interval] = [difference_interval(logs[kind], logs["rnn"]) for kind in ("rnn_attention", "transformer")]
    shown = ", ".join(f"{KIND_NAMES[kind].en} × {ratio:.2f}" for kind, ratio in ratios.items())
    shown_ko = ", ".join(f"{KIND_NAMES[kind].ko} × {ratio:.2f}" for kind, ratio in ratios.items())
    return Claim(
        source=SOURCE,
        says=Text(
            "The same in whole models: with attention, an output depends on far source tokens as on near ones.",
            "모델 전체에서도 같다: 어텐션이 있으면 출력이 먼 원문 토큰에도 가까운 토큰만큼 의존한다.",
        ),
        ran=Text(
            f"Three kinds of model, {values['training_steps']} steps on the demo's pairs; long test sentences.",
            f"세 종류의 모델을 데모의 문장 쌍으로 {values['training_steps']}스텝 학습; 긴 테스트 문장.",
        ),
        seen=Text(
            f"Gradient of far source tokens relative to near ones: {shown}.",
            f"가까운 원문 토큰에 대한 먼 토큰의 그래디언트: {shown_ko}.",
        ),
        verdict=combine_verdicts(verdict_above(gain) for gain in gains),
    )


def layer_table(values: Values, language: Language) -> Table:
    header = [Text("layer", "층"), *(Text(f"distance {k}", f"거리 {k}") for k in values["distances"])]
    rows = [
        [LAYER_NAMES[name], *(f"{mean_interval(seeds).mean:.1e}" for seeds in rows)]
        for name, rows in values["gradients"].items()
    ]
    return table_in(language, header, rows)


def recall_table(values: Values, language: Language) -> Table:
    header = [Text("layer", "층"), *(Text(f"distance {k}, %", f"거리 {k}(%)") for k in values["recall_distances"])]
    rows = [
        [LAYER_NAMES[name], *(", ".join(f"{value:.0f}" for value in sorted(seeds)) for seeds in rows)]
        for name, rows in values["recall"].items()
    ]
    return table_in(language, header, rows)


def model_table(values: Values, language: Language) -> Table:
    header = [Text("model", "모델"), Text("weights", "가중치")]
    header += [Text(f"distance {low}–{high}", f"거리 {low}–{high}") for low, high in values["bins"]]
    rows = [
        [KIND_NAMES[kind], STAGES[stage], *(mean_interval(seeds).show() for seeds in values["models"][kind][stage])]
        for kind in KINDS
        for stage in STAGES
    ]
    return table_in(language, header, rows)


def figure(values: Values) -> Figure:
    drawing, axes = new_figure(columns=3, width=4.5, height=3.9)
    for name, style in zip(LAYERS, line_styles(), strict=False):
        means = [mean_interval(seeds).mean for seeds in values["gradients"][name]]
        axes[0].plot(values["distances"], means, label=LAYER_NAMES[name].en, **style._asdict())
        for distance, accuracies in zip(values["recall_distances"], values["recall"][name], strict=True):
            # a seed learns it or does not: points say that, an interval of such values would not
            axes[1].plot([distance] * len(accuracies), accuracies, style.marker, color=style.color, alpha=0.5)
        means = [mean_interval(seeds).mean for seeds in values["recall"][name]]
        axes[1].plot(values["recall_distances"], means, color=style.color, linestyle=style.linestyle)
    for kind, style in zip(KINDS, line_styles(), strict=False):
        positions = range(len(values["bins"]))
        draw_seeds(axes[2], positions, values["models"][kind]["trained"], KIND_NAMES[kind].en, style)
    for axis, sizes in ((axes[0], values["distances"]), (axes[1], values["recall_distances"])):
        axis.set_xscale("log", base=2)
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.set_xlabel("distance, tokens")
    axes[0].set_yscale("log")
    axes[0].set_ylabel("gradient relative to the nearest")
    axes[0].set_title("Untrained layers")
    axes[0].legend()
    axes[1].set_ylim(0, 103)
    axes[1].set_ylabel("accuracy, %")
    axes[1].set_title("A token recalled from far back")
    axes[2].set_xticks(range(len(values["bins"])), [f"{low}–{high}" for low, high in values["bins"]])
    axes[2].set_xlabel("distance from source token to output")
    axes[2].set_ylabel("gradient / mean of the sentence")
    axes[2].set_title("Trained models")
    axes[2].legend()
    return drawing


STUDY = Study(
    name="distance",
    title=Text("Gradient and learning against distance", "거리에 따른 그래디언트와 학습"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"layers": layer_table, "recall": recall_table, "models": model_table},
    numbers=lambda values: {name.replace("_", "-"): str(values[name]) for name in ("training_steps", "recall_steps")},
    seeds=(1, 2, 3),
    trains=True,
)
