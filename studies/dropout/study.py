"""Dropout on little data: test perplexity, gap to the training data, entropy of the attention weights.

Vaswani et al. 2017, section 5.4 and table 3, row D. Weights are recorded without dropout, after the training.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from studies.figures import new_figure
from studies.intervals import verdict_above, verdict_below
from studies.setting_comparison import (
    EXACT_MATCH,
    LOG_PERPLEXITY,
    PERPLEXITY,
    ClaimText,
    RunMetric,
    difference_claim,
    draw_settings,
    run_values,
    setting_table,
)
from studies.small_models import demo_settings, load_translator, score_pairs, teacher_forced
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values
from studies.trained_runs import Evaluation, TrainingPlan, train_all
from tongsa.batch import Batch
from tongsa.interface import EncoderDecoder
from tongsa.nn.attention import record_attention
from tongsa.nn.recording import AttentionRole

PAIRS, STEPS = 2000, 400
RATES = {f"dropout {rate}": rate for rate in (0.0, 0.1, 0.3)}
NONE, PAPER, STRONG = RATES
NAMES = {name: Text(name, f"드롭아웃 {rate}") for name, rate in RATES.items()}
ROLES = {
    "encoder": Text("entropy, encoder", "엔트로피, 인코더"),
    "decoder": Text("entropy, decoder", "엔트로피, 디코더"),
    "cross": Text("entropy, cross-attention", "엔트로피, 교차 어텐션"),
}
ENTROPIES = {role: RunMetric(("entropy", role), name, 3) for role, name in ROLES.items()}
MEAN_ENTROPY = RunMetric(("mean_entropy",), Text("mean entropy", "평균 엔트로피"), 3)
GAP = RunMetric(("gap",), Text("log perplexity, test minus train", "로그 퍼플렉시티, 테스트 - 학습"), 3)


def attention_entropy(model: EncoderDecoder, batch: Batch) -> dict[str, float]:
    """Return the mean entropy in nats of a query's weights, over layers, heads and tokens, for each role."""
    with torch.inference_mode(), record_attention() as recorded:
        model(batch.source, batch.decoder_input)
    queries: dict[AttentionRole, Tensor] = {
        "encoder": batch.source.mask,
        "decoder": batch.decoder_input.mask,
        "cross": batch.decoder_input.mask,
    }
    entropies: dict[str, float] = {}
    for role, mask in queries.items():
        layers = [torch.special.entr(weights).sum(-1).transpose(1, 2)[mask].mean() for weights in recorded[role]]
        entropies[role] = float(torch.stack(layers).mean())
    return entropies


def evaluate_run(run: Path, sentences: int = 0) -> Evaluation:
    from tongsa.demo import read_split

    translator, test = load_translator(run), read_split("test")
    scores = score_pairs(translator, test[:sentences] if sentences else test)
    train = teacher_forced(translator, read_split("train")[: sentences or 1000])
    pairs = test[: sentences or 200]
    batch = translator.encode_pairs(pairs).batch(np.arange(len(pairs)))
    entropies = attention_entropy(translator.model, batch)
    return {
        "test": scores,
        "gap": scores["log_perplexity"] - float(np.log(train["perplexity"])),
        "entropy": entropies,
        "mean_entropy": sum(entropies.values()) / len(entropies),
    }


def write_small_data(folder: Path, pairs: int) -> None:
    """Write the demo's splits with only the first pairs of the training data."""
    from tongsa.demo import read_pairs

    folder.mkdir(parents=True, exist_ok=True)
    for split, all_pairs in read_pairs().items():
        lines = [f"{source}\t{target}\n" for source, target in all_pairs[: pairs if split == "train" else None]]
        (folder / f"{split}.tsv").write_text("".join(lines), "utf-8")


def measure(options: MeasureOptions) -> dict[str, Any]:
    data = options.runs / "data"
    write_small_data(data, PAIRS)
    steps = demo_settings(32, 10) if options.quick else demo_settings(96, STEPS)
    plan = TrainingPlan(
        settings={name: [f"model.dropout={rate}"] for name, rate in RATES.items()},
        evaluate=partial(evaluate_run, sentences=50 if options.quick else 0),
        shared=(*steps, "training.label_smoothing=0", f"data.folder={json.dumps(str(data))}"),
        files=(data / "train.tsv",),
    )
    return run_values(train_all(plan, options))


def claims(values: Values) -> list[Claim]:
    source = Text("Vaswani et al. 2017, section 6.2; table 3, row D", "Vaswani et al. 2017, 6.2절, 표 3 D행")
    ran = Text(
        f"{PAIRS:,} of the demo's pairs, width 96, {STEPS} steps, no label smoothing.",
        f"데모 문장 쌍 {PAIRS:,}개, 너비 96, {STEPS}스텝, 레이블 스무딩 없음.",
    )
    helps = Text("Dropout improves the perplexity on unseen text.", "드롭아웃은 새 문장의 퍼플렉시티를 낮춘다.")
    overfit = Text("Dropout avoids overfitting.", "드롭아웃은 과적합을 막는다.")
    spreads = Text("Attention spreads: its entropy grows.", "어텐션이 퍼진다: 엔트로피가 커진다.")
    question = Text("question from notes on section 5.4", "5.4절에 대한 노트의 질문")
    recorded = Text(
        "The same models; 200 test sentences, weights recorded without dropout.",
        "같은 모델; 테스트 문장 200개, 드롭아웃을 끄고 기록한 가중치.",
    )
    pair = (PAPER, NONE)
    return [
        difference_claim(ClaimText(source, helps, ran), values, LOG_PERPLEXITY, pair, verdict_below),
        difference_claim(ClaimText(source, overfit, ran), values, GAP, pair, verdict_below),
        difference_claim(ClaimText(question, spreads, recorded), values, MEAN_ENTROPY, (STRONG, NONE), verdict_above),
    ]


def figure(values: Values) -> Figure:
    drawing, axes = new_figure(3, width=4.2)
    for i, (ax, metric) in enumerate(zip(axes, (PERPLEXITY, GAP, MEAN_ENTROPY), strict=True)):
        draw_settings(ax, values, {name: str(rate) for name, rate in RATES.items()}, metric, color=i)
        ax.set_xlabel("dropout")
    for ax, title in zip(axes, ("Test", "Overfitting", "Attention weights"), strict=True):
        ax.set_title(title)
    return drawing


def scores_table(values: Values, language: Language) -> Table:
    return setting_table(values, language, NAMES, [PERPLEXITY, EXACT_MATCH, GAP], Text("setting", "설정"))


def entropy_table(values: Values, language: Language) -> Table:
    return setting_table(values, language, NAMES, list(ENTROPIES.values()), Text("setting", "설정"))


STUDY = Study(
    name="dropout",
    title=Text("Dropout and attention", "드롭아웃과 어텐션"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"scores": scores_table, "entropy": entropy_table},
    seeds=(1, 2, 3),
    trains=True,
)
