"""Residual connections and depth: encoders of 2 to 24 layers, with residuals and without.

Vaswani et al. 2017, section 3.1; He et al. 2016. Before the training, the gradient of the first layer is compared with
that of the last one.
"""

from functools import partial
from typing import Any

import torch
from matplotlib.figure import Figure

from studies.figures import draw_seeds, line_styles, new_figure, use_log_scale
from studies.intervals import combine_verdicts, mean_interval, verdict_above, verdict_below
from studies.setting_comparison import (
    EXACT_MATCH,
    LOG_PERPLEXITY,
    PERPLEXITY,
    run_values,
    setting_difference,
    setting_table,
    setting_values,
    show_signed,
)
from studies.small_models import demo_settings, evaluate_demo_test
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values
from studies.trained_runs import TrainingPlan, train_all
from tongsa.batch import pad
from tongsa.models.transformer.seq2seq import TransformerConfig

DEPTHS, STEPS, WIDTH = (2, 6, 12, 24), 250, 64
MARGIN = 0.1
"""Log perplexity that 24 layers may lose against 2 and still count as trained."""
NAMES = {
    f"{name} {depth}": Text(f"{depth} layers, {name}", f"{depth}층, {korean}")
    for name, korean in (("residual", "잔차 있음"), ("plain", "잔차 없음"))
    for depth in DEPTHS
}


def depth_settings(depth: int, *, residual: bool) -> list[str]:
    return [f"model.encoder_layers={depth}", f"model.residual={str(residual).lower()}"]


def measure(options: MeasureOptions) -> dict[str, Any]:
    settings = {f"residual {depth}": depth_settings(depth, residual=True) for depth in DEPTHS}
    settings |= {f"plain {depth}": depth_settings(depth, residual=False) for depth in DEPTHS}
    plan = TrainingPlan(
        settings=settings,
        evaluate=partial(evaluate_demo_test, sentences=50 if options.quick else 0),
        shared=demo_settings(32, 5) if options.quick else demo_settings(WIDTH, STEPS),
    )
    ratios = {
        name: [[gradient_ratio(depth, residual=residual, seed=seed) for seed in options.seeds] for depth in DEPTHS]
        for name, residual in (("residual", True), ("plain", False))
    }
    return run_values(train_all(plan, options)) | {"gradients": ratios}


def gradient_ratio(depth: int, *, residual: bool, seed: int) -> float:
    """Return the gradient norm of the first encoder layer over that of the last, at initialization."""
    torch.manual_seed(seed)
    settings: dict[str, Any] = {"encoder_layers": depth, "residual": residual, "norm": "pre", "dropout": 0.0}
    config = TransformerConfig(
        width=WIDTH, ffn_width=3 * WIDTH, heads=4, decoder_layers=2, tie_embeddings="target", **settings
    )
    model = config.build(100, 100)
    tokens = pad(torch.randint(4, 100, (16, 12)).tolist())
    logits = model(tokens, tokens)
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens.tokens.flatten()).backward()  # type: ignore[no-untyped-call]
    encoder: Any = model.encoder
    first, last = (
        torch.cat([parameter.grad.flatten() for parameter in encoder.layers[i].parameters()]).norm() for i in (0, -1)
    )
    return float(first / last)


def claims(values: Values) -> list[Claim]:
    return [claim_depth(values), claim_residual(values), claim_gradient(values)]


def claim_depth(values: Values) -> Claim:
    with_residual, plain = (
        setting_difference(values, LOG_PERPLEXITY, f"{name} {DEPTHS[-1]}", f"{name} {DEPTHS[0]}")
        for name in ("residual", "plain")
    )
    return Claim(
        source=Text(
            "He et al. 2016, section 1; Vaswani et al. 2017, section 3.1",
            "He et al. 2016, 1절; Vaswani et al. 2017, 3.1절",
        ),
        says=Text("With residual connections, deep models can be trained.", "잔차 연결이 있으면 깊은 모델도 학습된다."),
        ran=Text(
            f"Demo pairs, width {WIDTH}, pre-norm, decoder of 2 layers, {STEPS} steps. "
            f"Rule: {DEPTHS[-1]} layers lose less than {MARGIN} log perplexity against {DEPTHS[0]}.",
            f"데모 문장 쌍, 너비 {WIDTH}, pre-norm, 디코더 2층, {STEPS}스텝. "
            f"규칙: {DEPTHS[-1]}층의 로그 퍼플렉시티가 {DEPTHS[0]}층보다 {MARGIN} 이상 나쁘지 않음.",
        ),
        seen=Text(
            f"Log perplexity of {DEPTHS[-1]} layers minus {DEPTHS[0]}: {show_signed(with_residual, 2)} with residuals, "
            f"{show_signed(plain, 2)} without.",
            f"로그 퍼플렉시티, {DEPTHS[-1]}층에서 {DEPTHS[0]}층을 뺀 값: 잔차 있음 {show_signed(with_residual, 2)}, "
            f"없음 {show_signed(plain, 2)}.",
        ),
        verdict=verdict_below(with_residual, MARGIN),
    )


def claim_residual(values: Values) -> Claim:
    differences = {
        depth: setting_difference(values, LOG_PERPLEXITY, f"plain {depth}", f"residual {depth}") for depth in DEPTHS
    }
    shown = ", ".join(f"{depth}: {show_signed(difference, 2)}" for depth, difference in differences.items())
    return Claim(
        source=Text("Vaswani et al. 2017, section 3.1", "Vaswani et al. 2017, 3.1절"),
        says=Text(
            "Without residual connections, training is worse at every depth.",
            "잔차 연결이 없으면 모든 깊이에서 더 나쁘다.",
        ),
        ran=Text("The same runs.", "같은 학습."),
        seen=Text(
            f"Log perplexity without minus with residuals, by layers: {shown}.",
            f"로그 퍼플렉시티, 잔차 없음에서 있음을 뺀 값(층별): {shown}.",
        ),
        verdict=combine_verdicts(map(verdict_above, differences.values())),
    )


def claim_gradient(values: Values) -> Claim:
    residual, plain = (
        [ratio for ratio in values["gradients"][name][-1] if ratio is not None] for name in ("residual", "plain")
    )
    return Claim(
        source=Text("He et al. 2016, section 1", "He et al. 2016, 1절"),
        says=Text(
            "Residuals keep the gradient of the first layer from vanishing.",
            "잔차 연결이 있으면 첫 층의 그래디언트가 사라지지 않는다.",
        ),
        ran=Text(
            f"{DEPTHS[-1]} layers before training: gradient norm of the first layer over the last. "
            "Rule: above one tenth with residuals, below without.",
            f"학습 전 {DEPTHS[-1]}층: 첫 층과 마지막 층의 그래디언트 노름의 비. "
            "규칙: 잔차가 있으면 10분의 1 초과, 없으면 미만.",
        ),
        seen=Text(
            f"Ratio {mean_interval(residual).show(3)} with residuals, {mean_interval(plain).show(3)} without.",
            f"비: 잔차 있음 {mean_interval(residual).show(3)}, 없음 {mean_interval(plain).show(3)}.",
        ),
        verdict=combine_verdicts(
            [verdict_above(mean_interval(residual), 0.1), verdict_below(mean_interval(plain), 0.1)]
        ),
    )


def figure(values: Values) -> Figure:
    drawing, (trained, gradients) = new_figure(2)
    for name, label, style in zip(("residual", "plain"), ("with residuals", "without"), line_styles(), strict=False):
        perplexities = [setting_values(values, f"{name} {depth}", PERPLEXITY) for depth in DEPTHS]
        draw_seeds(trained, DEPTHS, perplexities, label, style, "log")
        draw_seeds(gradients, DEPTHS, values["gradients"][name], label, style)
    trained.set(xlabel="encoder layers", ylabel="test perplexity", title=f"After {STEPS} steps")
    use_log_scale(trained)
    gradients.set(xlabel="encoder layers", ylabel="gradient norm, first / last layer", title="Before training")
    for axes in (trained, gradients):
        axes.set_xticks(DEPTHS)
        axes.legend()
    return drawing


def scores_table(values: Values, language: Language) -> Table:
    return setting_table(values, language, NAMES, [PERPLEXITY, EXACT_MATCH], Text("encoder", "인코더"))


STUDY = Study(
    name="residuals",
    title=Text("Residual connections and depth", "잔차 연결과 깊이"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"scores": scores_table},
    seeds=(1, 2, 3),
    trains=True,
)
