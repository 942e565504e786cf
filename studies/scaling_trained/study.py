"""Transformers with scaled, unscaled and additive attention at three d_k (Vaswani et al. 2017, section 3.2.1)."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from studies.figures import draw_seeds, line_styles, new_figure, use_log_scale
from studies.intervals import Interval, difference_interval, scaled_interval, verdict_above, verdict_within
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values
from studies.trained_runs import SCALES, Evaluation, TrainingPlan, evaluate_demo, seed_values, train_all

SCORE_FUNCTIONS = ("scaled-dot", "dot", "additive")
KEY_WIDTHS = (16, 64, 256)
STEPS = 600
SIMILAR_BLEU = 5.0
"""Scores count as similar if their difference is less than this many points of BLEU."""
LABELS = {"scaled-dot": "q·k/√d_k", "dot": "q·k", "additive": "v·tanh(q + k)"}
MODEL = [
    *("model.width=128", "model.ffn_width=256", "model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1"),
    *("training.optimizer=adam", "training.lr.peak=3e-3", "training.best_metric=loss", "training.ema=0"),
    "training.validate_sentences=1",
]
SOURCE = Text("Vaswani et al. 2017, section 3.2.1", "Vaswani et al. 2017, 3.2.1절")


def evaluate(run: Path) -> Evaluation:
    """Return the scores of greedy search on the demo's test set."""
    return evaluate_demo(run)


def evaluate_quickly(run: Path) -> Evaluation:
    return evaluate_demo(run, sentences=50)


def measure(options: MeasureOptions) -> dict[str, Any]:
    widths = KEY_WIDTHS[:1] if options.quick else KEY_WIDTHS
    steps = 8 if options.quick else STEPS
    plan = TrainingPlan(
        settings={
            f"{name}-{width}": [f"model.attention={name}", f"model.key_width={width}"]
            for name in SCORE_FUNCTIONS
            for width in widths
        },
        shared=[*MODEL, f"training.steps={steps}", f"training.validate_every={steps}"],
        evaluate=evaluate_quickly if options.quick else evaluate,
    )
    evaluations = train_all(plan, options)
    worst = {"bleu": 0.0, "exact_match": 0.0, "perplexity": 1e9}
    return {
        "key_widths": list(widths),
        "steps": steps,
        "scores": {
            name: {
                metric: [seed_values(evaluations[f"{name}-{width}"], "test", metric, diverged=low) for width in widths]
                for metric, low in worst.items()
            }
            for name in SCORE_FUNCTIONS
        },
        "diverged": {name: sum("diverged" in run for run in runs) for name, runs in evaluations.items()},
    }


def bleu_difference(values: Values, better: str, worse: str, column: int) -> Interval:
    scores = values["scores"]
    return difference_interval(scores[better]["bleu"][column], scores[worse]["bleu"][column])


def claims(values: Values) -> list[Claim]:
    small, large = values["key_widths"][0], values["key_widths"][-1]
    similar = bleu_difference(values, "additive", "dot", 0)
    additive, scaled = (bleu_difference(values, name, "dot", -1) for name in ("additive", "scaled-dot"))
    ran = Text(
        f"Transformer on the demo's pairs, {values['steps']} steps of Adam; BLEU on the test set.",
        f"데모의 문장 쌍으로 학습한 Transformer, Adam {values['steps']}스텝; 테스트 데이터의 BLEU.",
    )
    return [
        Claim(
            source=SOURCE,
            says=Text(
                "For small d_k, additive attention and unscaled dot products perform similarly.",
                "d_k가 작으면 가산 어텐션과 스케일하지 않은 내적의 성능은 비슷하다.",
            ),
            ran=ran,
            seen=Text(
                f"d_k = {small}: additive minus unscaled {similar.show(1)} BLEU.",
                f"d_k = {small}: 가산 − 스케일 없는 내적 = {similar.show(1)} BLEU.",
            ),
            verdict=verdict_within(similar, -SIMILAR_BLEU, SIMILAR_BLEU),
        ),
        Claim(
            source=SOURCE,
            says=Text(
                "For larger d_k, additive attention outperforms unscaled dot products.",
                "d_k가 크면 가산 어텐션이 스케일하지 않은 내적보다 낫다.",
            ),
            ran=ran,
            seen=Text(
                f"d_k = {large}: additive minus unscaled {additive.show(1)} BLEU.",
                f"d_k = {large}: 가산 − 스케일 없는 내적 = {additive.show(1)} BLEU.",
            ),
            verdict=verdict_above(additive),
        ),
        Claim(
            source=SOURCE,
            says=Text("Scaling by 1/√d_k repairs this.", "1/√d_k로 스케일하면 이 문제가 해결된다."),
            ran=ran,
            seen=Text(
                f"d_k = {large}: scaled minus unscaled {scaled.show(1)} BLEU.",
                f"d_k = {large}: 스케일한 내적 − 스케일 없는 내적 = {scaled.show(1)} BLEU.",
            ),
            verdict=verdict_above(scaled),
        ),
    ]


def score_table(values: Values, language: Language) -> Table:
    header = [
        Text("score", "점수")[language],
        "d_k",
        "BLEU",
        Text("exact match, %", "완전 일치(%)")[language],
        Text("perplexity", "퍼플렉시티")[language],
        Text("diverged runs", "발산한 학습")[language],
    ]
    rows = [
        [
            LABELS[name],
            str(width),
            *(
                scaled_interval(values["scores"][name][metric][i], SCALES[metric]).show(digits)
                for metric, digits in (("bleu", 1), ("exact_match", 1), ("perplexity", 2))
            ),
            str(values["diverged"][f"{name}-{width}"]),
        ]
        for name in SCORE_FUNCTIONS
        for i, width in enumerate(values["key_widths"])
    ]
    return Table(header, rows)


def figure(values: Values) -> Figure:
    drawing, axes = new_figure(columns=2, width=4.8)
    panels = {"bleu": "BLEU on the test set", "perplexity": "perplexity"}
    for axis, (metric, label) in zip(axes, panels.items(), strict=True):
        styles = line_styles()
        for name in SCORE_FUNCTIONS:
            scores = values["scores"][name][metric]
            draw_seeds(axis, values["key_widths"], scores, LABELS[name], next(styles), SCALES[metric])
        axis.set_xscale("log", base=4)
        axis.set_xticks(values["key_widths"], [str(width) for width in values["key_widths"]])
        axis.set_xlabel("d_k")
        axis.set_ylabel(label)
    axes[0].set_title(f"After {values['steps']} steps")
    axes[1].set_title("Lower is better")
    use_log_scale(axes[1])
    axes[0].legend()
    return drawing


STUDY = Study(
    name="scaling_trained",
    title=Text("Trained with and without 1/√d_k", "1/√d_k가 있을 때와 없을 때의 학습"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"scores": score_table},
    numbers=lambda values: {"steps": str(values["steps"])},
    seeds=(1, 2, 3),
    trains=True,
)
