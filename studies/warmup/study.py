"""Warm-up × place of the norm: warm-up with post-norm, and with pre-norm.

Vaswani et al. 2017, section 5.3, raise the learning rate during 4000 steps. Xiong et al. 2020 explain why: with
post-norm the gradients near the output are large at first. Adam, peak and steps are the same in all runs.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from studies.figures import draw_seeds, line_styles, new_figure
from studies.intervals import combine_verdicts, verdict_above, verdict_below
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
from studies.trained_runs import Evaluation, TrainingPlan, train_all

STEPS, WARMUP, PEAK = 500, 100, 4e-3
WINDOW = 25
"""Steps over which the loss is averaged."""
MARGIN = 10.0
"""Percent of perplexity that warm-up may gain with pre-norm and still count as not needed."""
NAMES = {
    "post-norm, no warm-up": Text("post-norm, no warm-up", "post-norm, 웜업 없음"),
    "post-norm, warm-up": Text("post-norm, warm-up", "post-norm, 웜업"),
    "pre-norm, no warm-up": Text("pre-norm, no warm-up", "pre-norm, 웜업 없음"),
    "pre-norm, warm-up": Text("pre-norm, warm-up", "pre-norm, 웜업"),
}
FIRST_NORM = RunMetric(("first_grad_norm",), Text("gradient norm, first 10 steps", "처음 10스텝의 그래디언트 노름"), 2)


def evaluate_run(run: Path, sentences: int = 0) -> Evaluation:
    """Return the scores, the mean loss of each window of steps, and the gradient norm at the start."""
    updates = [json.loads(line) for line in (run / "journal.jsonl").read_text("utf-8").splitlines()]
    updates = [update for update in updates if "loss" in update and "grad_norm" in update]
    losses = [update["loss"] for update in updates]
    return evaluate_demo_test(run, sentences) | {
        "losses": [sum(losses[i : i + WINDOW]) / WINDOW for i in range(0, len(losses) - WINDOW + 1, WINDOW)],
        "first_grad_norm": sum(update["grad_norm"] for update in updates[:10]) / 10,
    }


def training_settings(*, quick: bool) -> tuple[str, ...]:
    base = demo_settings(32, 30) if quick else (*demo_settings(64, STEPS), "training.batch_tokens=768")
    return (
        *base,
        "training.optimizer=adam",
        "training.ema=0",
        "training.clip_grad_norm=0",
        f"training.lr.peak={PEAK}",
    )


def measure(options: MeasureOptions) -> dict[str, Any]:
    warmup = 20 if options.quick else WARMUP
    settings = {
        f"{norm}-norm, {name}": [f"model.norm={norm}", f"training.lr.warmup={steps}"]
        for norm in ("post", "pre")
        for name, steps in (("no warm-up", 1), ("warm-up", warmup))
    }
    plan = TrainingPlan(
        settings=settings,
        evaluate=partial(evaluate_run, sentences=50 if options.quick else 0),
        shared=training_settings(quick=options.quick),
    )
    return run_values(train_all(plan, options))


def gain(values: Values, norm: str) -> Any:
    """Return the log perplexity without warm-up minus that with it: positive if warm-up helps."""
    return setting_difference(values, LOG_PERPLEXITY, f"{norm}-norm, no warm-up", f"{norm}-norm, warm-up")


def claims(values: Values) -> list[Claim]:
    post, pre = gain(values, "post"), gain(values, "pre")
    ran = Text(
        f"Demo pairs, 2 + 2 layers, Adam, peak {PEAK:g}, {STEPS} steps, warm-up over 1 or {WARMUP} of them.",
        f"데모 문장 쌍, 2 + 2층, Adam, 최대 학습률 {PEAK:g}, {STEPS}스텝, 웜업은 그 가운데 1 또는 {WARMUP}스텝.",
    )
    return [
        Claim(
            source=Text(
                "Vaswani et al. 2017, section 5.3; Xiong et al. 2020, section 3",
                "Vaswani et al. 2017, 5.3절; Xiong et al. 2020, 3절",
            ),
            says=Text("With post-norm, warm-up is needed.", "post-norm에는 웜업이 필요하다."),
            ran=ran,
            seen=Text(
                f"Log perplexity without warm-up minus with it: {show_signed(post, 2)}.",
                f"로그 퍼플렉시티, 웜업이 없을 때에서 있을 때를 뺀 값: {show_signed(post, 2)}.",
            ),
            verdict=verdict_above(post),
        ),
        Claim(
            source=Text("Xiong et al. 2020, section 4", "Xiong et al. 2020, 4절"),
            says=Text("With pre-norm, warm-up can be left out.", "pre-norm에서는 웜업을 빼도 된다."),
            ran=ran,
            seen=Text(
                f"Log perplexity without warm-up minus with it: {show_signed(pre, 2)}. Rule: below {MARGIN / 100:g}.",
                f"로그 퍼플렉시티, 웜업이 없을 때에서 있을 때를 뺀 값: {show_signed(pre, 2)}. "
                f"규칙: {MARGIN / 100:g} 미만.",
            ),
            verdict=verdict_below(pre, MARGIN / 100),
        ),
        claim_norms(values),
    ]


def claim_norms(values: Values) -> Claim:
    differences = [
        setting_difference(values, LOG_PERPLEXITY, f"post-norm, {name}", f"pre-norm, {name}")
        for name in ("no warm-up", "warm-up")
    ]
    return Claim(
        source=Text("Xiong et al. 2020, section 4", "Xiong et al. 2020, 4절"),
        says=Text("Pre-norm learns faster than post-norm.", "pre-norm은 post-norm보다 빨리 학습한다."),
        ran=Text(
            "The same runs: perplexity after the same number of steps.", "같은 학습에서 같은 스텝 뒤의 퍼플렉시티."
        ),
        seen=Text(
            f"Log perplexity, post-norm minus pre-norm: {show_signed(differences[0], 2)} without warm-up, "
            f"{show_signed(differences[1], 2)} with it.",
            f"로그 퍼플렉시티, post-norm에서 pre-norm을 뺀 값: 웜업 없이 {show_signed(differences[0], 2)}, "
            f"웜업이 있으면 {show_signed(differences[1], 2)}.",
        ),
        verdict=combine_verdicts(map(verdict_above, differences)),
    )


def figure(values: Values) -> Figure:
    drawing, (curves, final) = new_figure(2)
    for name, style in zip(NAMES, line_styles(), strict=False):
        losses = [run["losses"] for run in values["runs"][name] if "diverged" not in run]
        if len(losses) > 1:
            steps = [WINDOW * (i + 1) for i in range(len(losses[0]))]
            draw_seeds(curves, steps, list(zip(*losses, strict=True)), name, style._replace(marker=""))
    curves.set(xlabel="step", ylabel="training loss", title="Warm-up and place of the norm")
    curves.legend()
    draw_settings(final, values, {name: name.replace(", ", "\n") for name in NAMES}, PERPLEXITY)
    final.set(title="Test perplexity")
    final.tick_params(axis="x", labelsize=8)
    return drawing


def scores_table(values: Values, language: Language) -> Table:
    return setting_table(values, language, NAMES, [PERPLEXITY, EXACT_MATCH, FIRST_NORM], Text("setting", "설정"))


STUDY = Study(
    name="warmup",
    title=Text("Warm-up with post-norm and pre-norm", "post-norm과 pre-norm의 웜업"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"scores": scores_table},
    seeds=(1, 2, 3, 4, 5),
    trains=True,
)
