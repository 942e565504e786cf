"""Cost of the deviations of known Transformer implementations: each alone, and each implementation's whole model.

The models of the implementations are the tables [model] of recipes/implementations/*.toml without sizes and dropout
rate. Data, tokenizer, sizes, dropout rate and training are the same for all.
"""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from studies.figures import new_figure
from studies.intervals import (
    Interval,
    combine_verdicts,
    mean_interval,
    scaled_interval,
    verdict_above,
    verdict_below,
    verdict_within,
)
from studies.study import ROOT, Claim, Language, MeasureOptions, Study, Table, Text, Values
from studies.trained_runs import SCALES, Evaluation, TrainingPlan, evaluate_demo, seed_values, train_all

RECIPES = ROOT.parent / "recipes/implementations"
STEPS = 300
MARGIN = 0.1
"""Models count as equal if their log perplexities differ by less than this."""
DIVERGED_PERPLEXITY = 2000.0
"""Perplexity of a run that diverged: that of a uniform guess over the vocabulary."""
PAPER = "paper"
SOURCE = Text("a question of the comparison, not a paper's claim", "논문의 주장이 아니라 구현 비교의 물음")
SIZES = ("kind", "width", "ffn_width", "heads", "encoder_layers", "decoder_layers", "dropout", "max_positions")
"""Settings of a recipe that are the same for all models here."""
SHARED = [
    *("tokenizer.shared=true", "model.norm=post", "model.tie_embeddings=all", "model.dropout=0.1"),
    *("model.width=96", "model.ffn_width=288", "model.heads=4", "model.encoder_layers=2", "model.decoder_layers=2"),
    *("model.initialization=xavier", "training.optimizer=adam", "training.lr.peak=2e-3", "training.lr.warmup=100"),
    *("training.label_smoothing=0.1", "training.ema=0", "training.best_metric=loss", "training.validate_sentences=1"),
]
DEVIATIONS: dict[str, tuple[Text, list[str]]] = {
    PAPER: (Text("as in the paper, with biases", "논문대로(편향 있음)"), []),
    "no-bias": (Text("no biases in the projections", "투영에 편향 없음"), ["model.projection_bias=false"]),
    "unscaled": (Text("embeddings without √d", "임베딩에 √d 없음"), ["model.scale_embeddings=false"]),
    "untied": (Text("three embedding tables", "임베딩 행렬 세 개"), ["model.tie_embeddings=none"]),
    "attention-dropout": (
        Text("dropout on attention weights", "어텐션 가중치에 드롭아웃"),
        ["model.attention_dropout=0.1"],
    ),
    "ffn-dropout": (Text("dropout in the feed-forward network", "피드포워드 안에 드롭아웃"), ["model.ffn_dropout=0.1"]),
    "pre-norm": (Text("pre-norm", "pre-norm"), ["model.norm=pre"]),
    "shared-norm": (Text("one norm for a layer", "층마다 정규화 하나"), ["model.shared_norm=true"]),
    "final-norm": (Text("post-norm and final norms", "post-norm에 마지막 정규화"), ["model.final_norm=both"]),
    "gelu": (Text("GELU", "GELU"), ["model.activation=gelu"]),
    "blocks": (
        Text("sinusoids of tensor2tensor", "tensor2tensor의 사인파"),
        ["model.sinusoid.exponent=2i/(d-2)", "model.sinusoid.layout=blocks"],
    ),
    "half-exponent": (Text("sinusoids with exponent i/d", "지수가 i/d인 사인파"), ["model.sinusoid.exponent=i/d"]),
    "first-position": (Text("positions from 2", "위치를 2부터"), ["model.sinusoid.first_position=2"]),
    "learned": (Text("learned positions", "학습한 위치"), ["model.positions=learned"]),
    "xavier-all": (Text("Xavier embeddings", "임베딩도 Xavier 초기화"), ["model.initialization=xavier-all"]),
    "torch-initialization": (Text("PyTorch's initial weights", "PyTorch의 초깃값"), ["model.initialization=torch"]),
}
"""One deviation each: name in words, and settings."""


def implementation_settings(path: Path) -> list[str]:
    """Return the model settings of a recipe as assignments, without sizes and dropout rate."""
    model = tomllib.loads(path.read_text("utf-8"))["model"]
    return list(_assignments("model", {key: value for key, value in model.items() if key not in SIZES}))


def _assignments(prefix: str, table: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for key, value in table.items():
        name = f"{prefix}.{key}"
        lines += _assignments(name, value) if isinstance(value, dict) else [f"{name}={_toml(value)}"]
    return lines


def _toml(value: Any) -> str:
    """Return a value as TOML: text in quotes, because an exponent such as i/d is no plain word."""
    return json.dumps(value) if isinstance(value, str | bool) else str(value)


def evaluate(run: Path) -> Evaluation:
    """Return the scores of greedy search on the demo's test set."""
    return evaluate_demo(run)


def evaluate_quickly(run: Path) -> Evaluation:
    return evaluate_demo(run, sentences=20)


def measure(options: MeasureOptions) -> dict[str, Any]:
    recipes = sorted(RECIPES.glob("*.toml"))
    settings = {name: assignments for name, (_, assignments) in DEVIATIONS.items()}
    implementations = {path.stem: implementation_settings(path) for path in recipes}
    steps, sizes = STEPS, list[str]()
    if options.quick:
        keep = PAPER, "half-exponent", "blocks", "no-bias"
        settings = {name: settings[name] for name in keep}
        implementations = {name: implementations[name] for name in ("simple-nmt", "torch-nn-transformer")}
        steps, sizes = 4, ["model.width=32", "model.ffn_width=32", "model.heads=2"]
    plan = TrainingPlan(
        settings={**settings, **implementations},
        shared=[*SHARED, *sizes, f"training.steps={steps}", f"training.validate_every={steps}"],
        evaluate=evaluate_quickly if options.quick else evaluate,
        files=recipes,
    )
    evaluations = train_all(plan, options)
    worst = {"bleu": 0.0, "exact_match": 0.0, "perplexity": DIVERGED_PERPLEXITY}
    return {
        "steps": steps,
        "deviations": list(settings),
        "implementations": list(implementations),
        "scores": {
            name: {metric: seed_values(runs, "test", metric, diverged=low) for metric, low in worst.items()}
            for name, runs in evaluations.items()
        },
        "diverged": {name: sum("diverged" in run for run in runs) for name, runs in evaluations.items()},
    }


def log_perplexities(values: Values, name: str) -> list[float]:
    return [math.log(value) for value in values["scores"][name]["perplexity"]]


def cost(values: Values, name: str) -> Interval:
    """Return the log perplexity of a model minus that of the paper's with the same seed: positive is worse.

    The runs of a seed read the data in the same order, so the differences vary less between seeds than the models do.
    """
    pairs = zip(log_perplexities(values, name), log_perplexities(values, PAPER), strict=True)
    return mean_interval([model - paper for model, paper in pairs])


def equal_claim(values: Values, name: str, says: Text) -> Claim:
    """Return the claim that a deviation makes no difference."""
    difference = cost(values, name)
    return Claim(
        source=SOURCE,
        says=says,
        ran=ran(values),
        seen=Text(
            f"Log perplexity, {DEVIATIONS[name][0].en} minus paper: {difference.show(3)}.",
            f"로그 퍼플렉시티, {DEVIATIONS[name][0].ko} − 논문: {difference.show(3)}.",
        ),
        verdict=verdict_within(difference, -MARGIN, MARGIN),
    )


def ran(values: Values) -> Text:
    return Text(
        f"Transformers of two layers on the demo's pairs, {values['steps']} steps of Adam; test set.",
        f"데모의 문장 쌍으로 학습한 두 층 Transformer, Adam {values['steps']}스텝; 테스트 데이터.",
    )


def claims(values: Values) -> list[Claim]:
    costs = {name: cost(values, name) for name in values["implementations"]}
    worst = max(costs, key=lambda name: costs[name].mean)
    better = [name for name, interval in costs.items() if verdict_below(interval, -MARGIN) == "holds"]
    worse = [name for name, interval in costs.items() if verdict_above(interval, MARGIN) == "holds"]
    half = cost(values, "half-exponent")
    return [
        equal_claim(
            values,
            "blocks",
            Text(
                "The sinusoids of the authors' code, in blocks and with exponent 2i/(d-2), do as well as the paper's.",
                "저자들 코드의 사인파(sin 전부, cos 전부, 지수 2i/(d-2))는 논문의 사인파만큼 좋다.",
            ),
        ),
        equal_claim(
            values,
            "no-bias",
            Text(
                "Projections without biases, as in the paper's equations, do as well as those with biases.",
                "논문의 식처럼 편향이 없는 투영은 편향이 있는 투영만큼 좋다.",
            ),
        ),
        Claim(
            source=SOURCE,
            says=Text(
                "Sinusoids with exponent i/d, whose wavelengths end at 100·2π, do worse than the paper's.",
                "파장이 100·2π에서 끝나는 지수 i/d의 사인파는 논문의 사인파보다 나쁘다.",
            ),
            ran=ran(values),
            seen=Text(
                f"Log perplexity, exponent i/d minus paper: {half.show(3)}.",
                f"로그 퍼플렉시티, 지수 i/d − 논문: {half.show(3)}.",
            ),
            verdict=verdict_above(half),
        ),
        Claim(
            source=SOURCE,
            says=Text(
                "None of the models of the known implementations does worse than the paper's.",
                "알려진 구현들의 모델 가운데 논문의 모델보다 나쁜 것은 없다.",
            ),
            ran=ran(values),
            seen=Text(
                f"{len(better)} of {len(costs)} better by more than {MARGIN} of log perplexity, {len(worse)} worse, "
                f"the others not decided; the worst is {worst}, {costs[worst].show(3)}.",
                f"로그 퍼플렉시티가 {MARGIN}보다 더 좋은 모델은 {len(costs)}개 중 {len(better)}개, 더 나쁜 모델은 "
                f"{len(worse)}개이고 나머지는 판정할 수 없다; 가장 나쁜 모델은 {worst}, {costs[worst].show(3)}.",
            ),
            verdict="fails" if worse else combine_verdicts(verdict_below(item, MARGIN) for item in costs.values()),
        ),
    ]


def score_table(values: Values, language: Language, names: Sequence[str]) -> Table:
    header = [
        Text("model", "모델")[language],
        Text("log perplexity − paper's", "로그 퍼플렉시티 − 논문")[language],
        Text("perplexity", "퍼플렉시티")[language],
        "BLEU",
        Text("exact match, %", "완전 일치(%)")[language],
        Text("diverged runs", "발산한 학습")[language],
    ]
    rows = [
        [
            DEVIATIONS[name][0][language] if name in DEVIATIONS else f"`{name}`",
            "–" if name == PAPER else cost(values, name).show(3),
            *(
                scaled_interval(values["scores"][name][metric], SCALES[metric]).show(digits)
                for metric, digits in (("perplexity", 2), ("bleu", 1), ("exact_match", 1))
            ),
            str(values["diverged"][name]),
        ]
        for name in names
    ]
    return Table(header, rows)


def figure(values: Values) -> Figure:
    """Draw the cost of each deviation and implementation as a mean with its interval."""
    names = [name for name in (*values["deviations"], *values["implementations"]) if name != PAPER]
    drawing, (axis,) = new_figure(width=7.5, height=1.2 + 0.28 * len(names))
    for row, name in enumerate(reversed(names)):
        interval = cost(values, name)
        color = "#0072B2" if name in values["deviations"] else "#D55E00"
        axis.plot([interval.low, interval.high], [row, row], color=color)
        axis.plot([interval.mean], [row], color=color, marker="o" if name in values["deviations"] else "s")
    axis.set_yticks(
        range(len(names)), [DEVIATIONS[name][0].en if name in DEVIATIONS else name for name in reversed(names)]
    )
    axis.axvspan(-MARGIN, MARGIN, color="#EEEEEE")
    axis.axvline(0, color="black", linewidth=1)
    axis.set_xlabel("log perplexity minus that of the paper's model; right is worse")
    axis.set_title("One deviation (circles), whole model (squares)")
    return drawing


STUDY = Study(
    name="implementations",
    title=Text("What the known implementations' deviations cost", "알려진 구현들이 논문과 달라 잃는 것"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={
        "deviations": lambda values, language: score_table(values, language, values["deviations"]),
        "implementations": lambda values, language: score_table(values, language, values["implementations"]),
    },
    numbers=lambda values: {"steps": str(values["steps"]), "margin": str(MARGIN)},
    seeds=(1, 2, 3),
    trains=True,
)
