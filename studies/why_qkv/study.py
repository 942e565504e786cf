"""Why queries and keys are projected: products of inputs with themselves (Vaswani et al. 2017, section 3.2.2)."""

import tomllib
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from studies.figures import COLORS, new_figure
from studies.intervals import mean_interval, verdict_above, verdict_below
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values, table_in
from studies.trained_runs import Evaluation, TrainingPlan, train_all
from tongsa import bundle
from tongsa.batch import Padded, Ragged, append_eos, pad
from tongsa.demo import read_split
from tongsa.interface import EncoderDecoder
from tongsa.nn.recording import recording

STEPS, SENTENCES = 400, 200
MODEL = [
    *("model.width=128", "model.ffn_width=256", "model.heads=4", "model.encoder_layers=1", "model.decoder_layers=1"),
    *("training.best_metric=loss", "training.validate_sentences=1"),
]
NAMES = {
    "embedding": Text("x·x, embeddings", "x·x, 임베딩"),
    "input": Text("x·x, embeddings + positions", "x·x, 임베딩 + 위치"),
    "projected": Text("q·k, projected", "q·k, 투영"),
}
STAGES = {"untrained": Text("untrained", "학습 전"), "trained": Text("trained", "학습 후")}
LARGELY, RARELY = 90.0, 50.0
"""Percent of the queries: above the first, a query mostly reads itself; below the second, mostly not."""


def self_attention_share(weights: Tensor, lengths: Tensor) -> dict[str, float]:
    """Return percent of queries whose largest weight is on themselves, and their mean weight on themselves.

    weights: (sentence, head, query, key); the first `lengths` positions of a sentence are tokens.
    """
    is_token = torch.arange(weights.shape[2]) < lengths.unsqueeze(1)  # (sentence, query)
    diagonal = weights.diagonal(dim1=2, dim2=3).transpose(1, 2)[is_token]  # (token, head)
    largest = weights.amax(3).transpose(1, 2)[is_token]
    return {"largest": float((diagonal >= largest).float().mean()) * 100, "weight": float(diagonal.mean())}


def product_weights(x: Tensor, mask: Tensor) -> Tensor:  # (sentence, 1, query, key)
    """Return softmax(x xᵀ / √d): attention without projections."""
    scores: Tensor = x @ x.mT / x.shape[-1] ** 0.5
    return scores.masked_fill(~mask.unsqueeze(1), -torch.inf).softmax(-1).unsqueeze(1)


def measure_model(model: EncoderDecoder, source: Padded) -> Evaluation:
    """Return the shares of embeddings, of inputs and of the encoder's projected queries and keys."""
    with torch.no_grad(), recording(model) as recorder:
        model.eval().encoder(source)
    recorded = {tensor.name: tensor.value for tensor in recorder.tensors}
    weights = {
        "embedding": product_weights(recorded["embedding.scaled"], source.mask),
        "input": product_weights(recorded["embedding.sum"], source.mask),
        "projected": recorded["attention.weights"],
    }
    return {name: self_attention_share(value, source.lengths) for name, value in weights.items()}


def evaluate(run: Path) -> Evaluation:
    """Return the shares of the trained model, and of one with the same settings and new weights."""
    loaded = bundle.load_bundle(run)
    texts = [source for source, _ in read_split("test")[:SENTENCES]]
    tokens = Ragged(loaded.source_tokenizer.encode_all(texts))
    source = pad([append_eos(tokens[row]) for row in range(len(tokens))])
    torch.manual_seed(tomllib.loads((run / "run.toml").read_text("utf-8"))["training"]["seed"])
    untrained = loaded.config.build(len(loaded.source_tokenizer), len(loaded.target_tokenizer))
    return {"untrained": measure_model(untrained, source), "trained": measure_model(loaded.model, source)}


def measure(options: MeasureOptions) -> dict[str, Any]:
    steps = 8 if options.quick else STEPS
    plan = TrainingPlan(
        settings={"transformer": []},
        shared=[*MODEL, f"training.steps={steps}", f"training.validate_every={steps}"],
        evaluate=evaluate,
    )
    runs = train_all(plan, options)["transformer"]
    return {
        "steps": steps,
        "sentences": SENTENCES,
        "shares": {
            stage: {
                name: {quantity: [run[stage][name][quantity] for run in runs] for quantity in ("largest", "weight")}
                for name in NAMES
            }
            for stage in STAGES
        },
    }


def claims(values: Values) -> list[Claim]:
    shares = values["shares"]["trained"]
    raw, projected = (mean_interval(shares[name]["largest"]) for name in ("embedding", "projected"))
    source = Text("Notes on section 3.2", "3.2절에 대한 노트")
    ran = Text(
        f"Transformer trained for {values['steps']} steps on the demo's pairs; {values['sentences']} test sentences.",
        f"데모의 문장 쌍으로 {values['steps']}스텝 학습한 Transformer; 테스트 문장 {values['sentences']}개.",
    )
    return [
        Claim(
            source=source,
            says=Text(
                "Inputs multiplied with themselves are largest with themselves.",
                "입력을 그대로 곱하면 자기 자신과의 곱이 가장 크다.",
            ),
            ran=ran,
            seen=Text(
                f"The largest product of {raw.show(1)} % of the tokens is with themselves.",
                f"토큰의 {raw.show(1)} %가 자기 자신과의 곱이 가장 큼.",
            ),
            verdict=verdict_above(raw, LARGELY),
        ),
        Claim(
            source=source,
            says=Text(
                "With projections to queries and keys, a token can read others.",
                "쿼리와 키로 투영하면 토큰이 다른 토큰을 읽을 수 있다.",
            ),
            ran=ran,
            seen=Text(
                f"With projections, the largest weight of {projected.show(1)} % of the tokens is on themselves.",
                f"투영하면 토큰의 {projected.show(1)} %만 자기 자신의 가중치가 가장 큼.",
            ),
            verdict=verdict_below(projected, RARELY),
        ),
    ]


def share_table(values: Values, language: Language) -> Table:
    header = [
        Text("scores", "점수"),
        Text("model", "모델"),
        Text("largest on itself, %", "자기 자신이 최대(%)"),
        Text("weight on itself", "자기 자신의 가중치"),
    ]
    rows = [
        [
            NAMES[name],
            STAGES[stage],
            mean_interval(values["shares"][stage][name]["largest"]).show(1),
            mean_interval(values["shares"][stage][name]["weight"]).show(3),
        ]
        for name in NAMES
        for stage in STAGES
    ]
    return table_in(language, header, rows)


def figure(values: Values) -> Figure:
    drawing, (axes,) = new_figure(width=6.6)
    for stage, offset, color, hatch in (("untrained", -0.2, COLORS[0], ""), ("trained", 0.2, COLORS[1], "//")):
        intervals = [mean_interval(values["shares"][stage][name]["largest"]) for name in NAMES]
        means = [interval.mean for interval in intervals]
        errors = [interval.high - interval.mean for interval in intervals]
        positions = [i + offset for i in range(len(NAMES))]
        axes.bar(positions, means, 0.4, yerr=errors, capsize=4, color=color, hatch=hatch, label=STAGES[stage].en)
    axes.set_xticks(range(len(NAMES)), [name.en for name in NAMES.values()])
    axes.set_ylabel("tokens, %")
    axes.set_title("Tokens whose largest score is with themselves")
    axes.legend()
    return drawing


STUDY = Study(
    name="why_qkv",
    title=Text("Why query, key and value are projected", "쿼리, 키, 값을 투영하는 이유"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"shares": share_table},
    numbers=lambda values: {"steps": str(values["steps"]), "sentences": str(values["sentences"])},
    seeds=(1, 2, 3),
    trains=True,
)
