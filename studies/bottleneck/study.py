"""The fixed summary as a bottleneck: BLEU by sentence length, recurrent models and attention; reversed sources.

Bahdanau et al. 2015, section 1 and figure 2; Sutskever et al. 2014, section 3.3.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from studies.figures import draw_seeds, line_styles, new_figure
from studies.intervals import difference_interval, verdict_above, verdict_below
from studies.setting_comparison import (
    BLEU,
    PERPLEXITY,
    ClaimText,
    RunMetric,
    difference_claim,
    run_values,
    setting_table,
    setting_values,
    show_signed,
)
from studies.small_models import load_translator, multi30k_data, quick_data, score_pairs
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values
from studies.trained_runs import Evaluation, TrainingPlan, train_all

STEPS = 500
LENGTHS = {"1–8": (1, 8), "9–11": (9, 11), "12–15": (12, 15), "16–40": (16, 40)}
"""Words of the source sentence."""
SHORT, LONG = "1–8", "16–40"
RECURRENT = (
    "model.kind=rnn",
    "model.width=192",
    "model.embedding=96",
    "model.dropout=0.1",
    "model.tie_embeddings=none",
)
KINDS = {
    "rnn": [*RECURRENT],
    "rnn-reversed": [*RECURRENT, "model.reverse_source=true"],
    "rnn_attention": [
        "model.kind=rnn_attention",
        "model.width=128",
        "model.embedding=96",
        "model.maxout_width=96",
        "model.dropout=0.1",
    ],
    "transformer": ["model.width=128", "model.ffn_width=256", "model.encoder_layers=2", "model.decoder_layers=1"],
}
NAMES = {
    "rnn": Text("summary vector (Cho)", "요약 벡터(Cho)"),
    "rnn-reversed": Text("summary vector, reversed source", "요약 벡터, 뒤집은 원문"),
    "rnn_attention": Text("additive attention (Bahdanau)", "가산 어텐션(Bahdanau)"),
    "transformer": Text("Transformer", "Transformer"),
}


def bleu_of(lengths: str) -> RunMetric:
    return RunMetric(("by_length", lengths), Text(f"{lengths} words", f"{lengths}단어"))


def select_length(pairs: Sequence[tuple[str, str]], lengths: str) -> list[tuple[str, str]]:
    """Return the pairs with this many source words."""
    low, high = LENGTHS[lengths]
    return [(source, target) for source, target in pairs if low <= len(source.split()) <= high]


def evaluate_run(run: Path, *, test: list[tuple[str, str]]) -> Evaluation:
    """Return the scores of the test set, and BLEU by the number of source words."""
    translator = load_translator(run)
    groups = {name: select_length(test, name) for name in LENGTHS}
    by_length = {name: score_pairs(translator, pairs)["bleu"] if pairs else 0.0 for name, pairs in groups.items()}
    return {"test": score_pairs(translator, test), "by_length": by_length}


def measure(options: MeasureOptions) -> dict[str, Any]:
    data = quick_data(5, 40) if options.quick else multi30k_data(STEPS)
    plan = TrainingPlan(
        settings=KINDS,
        evaluate=partial(evaluate_run, test=data.test),
        shared=(*data.settings, "training.lr.peak=3e-3", "training.adam_lr_scale=1.0"),
        recipe=data.recipe,
    )
    counts = {name: len(select_length(data.test, name)) for name in LENGTHS}
    return run_values(train_all(plan, options)) | {"sentences": counts}


def kept_shares(values: Values, kind: str) -> list[float]:
    """Return the BLEU of long sentences in percent of that of short ones, for each seed."""
    short, long = (setting_values(values, kind, bleu_of(lengths)) for lengths in (SHORT, LONG))
    return [100 * b / max(a, 1e-9) for a, b in zip(short, long, strict=True)]


def claims(values: Values) -> list[Claim]:
    ran = Text(
        f"Multi30k German → English, {STEPS} steps each, 1,000 test sentences, greedy search.",
        f"Multi30k 독일어 → 영어, 각각 {STEPS}스텝, 테스트 문장 1,000개, 탐욕 탐색.",
    )
    reverse = ClaimText(
        Text("Sutskever et al. 2014, section 3.3", "Sutskever et al. 2014, 3.3절"),
        Text("A reversed source improves a model without attention.", "원문을 뒤집으면 어텐션 없는 모델이 나아진다."),
        ran,
    )
    attention = ClaimText(
        Text("Bahdanau et al. 2015, section 5.1", "Bahdanau et al. 2015, 5.1절"),
        Text("Attention is better than one summary vector.", "어텐션이 요약 벡터 하나보다 낫다."),
        ran,
    )
    return [
        difference_claim(attention, values, BLEU, ("rnn_attention", "rnn"), verdict_above),
        claim_length(values, ran),
        difference_claim(reverse, values, BLEU, ("rnn-reversed", "rnn"), verdict_above),
    ]


def claim_length(values: Values, ran: Text) -> Claim:
    shares: dict[str, Sequence[float]] = {kind: kept_shares(values, kind) for kind in KINDS}
    difference = difference_interval(shares["rnn"], shares["rnn_attention"])
    means = {kind: sum(seeds) / len(seeds) for kind, seeds in shares.items()}
    return Claim(
        source=Text("Bahdanau et al. 2015, section 1; figure 2", "Bahdanau et al. 2015, 1절, 그림 2"),
        says=Text(
            "A summary of fixed size loses more on long sentences than attention.",
            "고정 크기 요약은 긴 문장에서 어텐션보다 더 많이 잃는다.",
        ),
        ran=ran,
        seen=Text(
            f"BLEU of {LONG} words in percent of that of {SHORT}: "
            + ", ".join(f"{kind} {mean:.0f}" for kind, mean in means.items())
            + f"; rnn minus rnn_attention {show_signed(difference)} points.",
            f"{LONG}단어의 BLEU를 {SHORT}단어의 BLEU로 나눈 값(%): "
            + ", ".join(f"{kind} {mean:.0f}" for kind, mean in means.items())
            + f"; rnn에서 rnn_attention을 뺀 값 {show_signed(difference)}점.",
        ),
        verdict=verdict_below(difference),
    )


def figure(values: Values) -> Figure:
    drawing, (axes,) = new_figure(width=6.6)
    for kind, style in zip(KINDS, line_styles(), strict=False):
        seeds = [setting_values(values, kind, bleu_of(lengths)) for lengths in LENGTHS]
        draw_seeds(axes, range(len(LENGTHS)), seeds, NAMES[kind].en, style)
    axes.set_xticks(range(len(LENGTHS)), [f"{name}\n({values['sentences'][name]} sentences)" for name in LENGTHS])
    axes.set(xlabel="source words", ylabel="BLEU", title="BLEU by sentence length")
    axes.set_ylim(0, 1.4 * axes.get_ylim()[1])  # room for the legend
    axes.legend(loc="upper center", ncols=2)
    return drawing


def scores_table(values: Values, language: Language) -> Table:
    metrics = [BLEU, *map(bleu_of, LENGTHS), PERPLEXITY]
    return setting_table(values, language, NAMES, metrics, Text("model", "모델"))


STUDY = Study(
    name="bottleneck",
    title=Text("The summary vector as a bottleneck", "요약 벡터의 병목"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"scores": scores_table},
    seeds=(1, 2, 3, 4, 5),
    trains=True,
)
