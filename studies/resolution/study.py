"""Attention averages positions, and several heads counteract it (Vaswani et al. 2017, section 2)."""

from matplotlib.figure import Figure

from studies.figures import draw_seeds, line_styles, new_figure
from studies.intervals import Interval, difference_interval, mean_interval, verdict_above, verdict_below
from studies.resolution.measure import measure
from studies.study import Claim, Language, Study, Table, Text, Values, table_in

SOURCE = Text("Vaswani et al. 2017, section 2", "Vaswani et al. 2017, 2절")


def spread_ratio(values: Values) -> Interval:
    """Return the spread of one head's outputs at the largest length, relative to that at the smallest."""
    rows = values["spread"][str(values["heads"][0])]
    return mean_interval([last / first for last, first in zip(rows[-1], rows[0], strict=True)])


def claims(values: Values) -> list[Claim]:
    ratio = spread_ratio(values)
    heads = values["heads"][2]
    gain = difference_interval(values["accuracy"][2], values["accuracy"][0])
    one_head, four_heads = (mean_interval(values["accuracy"][i]).show(1) for i in (0, 2))
    lengths = values["spread_lengths"]
    return [
        Claim(
            source=SOURCE,
            says=Text(
                "A constant number of operations costs effective resolution, because positions are averaged.",
                "연산 수가 일정한 대신, 여러 위치를 평균하여 유효 해상도가 낮아진다.",
            ),
            ran=Text(
                "Untrained self-attention on random vectors: spread of its outputs over positions.",
                "학습하지 않은 자기 어텐션에 무작위 벡터: 위치에 따른 출력의 퍼짐.",
            ),
            seen=Text(
                f"From n = {lengths[0]} to {lengths[-1]} the spread of one head's outputs falls to × {ratio.show()}.",
                f"n = {lengths[0]}에서 {lengths[-1]}로 갈 때 헤드 하나의 출력의 퍼짐이 × {ratio.show()}로 줄어듦.",
            ),
            verdict=verdict_below(ratio, 1.0),
        ),
        Claim(
            source=SOURCE,
            says=Text("Multi-head attention counteracts this.", "멀티헤드 어텐션이 이를 보완한다."),
            ran=Text(
                f"One layer trained to name four neighbors of each position, {values['steps']} steps.",
                f"각 위치의 네 이웃을 맞히도록 층 하나를 {values['steps']}스텝 학습.",
            ),
            seen=Text(
                f"Accuracy with 1 head {one_head} %, with {heads} heads {four_heads} %: difference {gain.show(1)}.",
                f"정확도: 헤드 1개 {one_head} %, {heads}개 {four_heads} %; 차이 {gain.show(1)}.",
            ),
            verdict=verdict_above(gain),
        ),
    ]


def accuracy_table(values: Values, language: Language) -> Table:
    header = [
        Text("heads", "헤드"),
        Text("accuracy, %", "정확도(%)"),
        Text("positions that a head reads", "헤드 하나가 읽는 위치 수"),
    ]
    rows = [
        [count, mean_interval(values["accuracy"][i]).show(1), mean_interval(values["positions"][i]).show(2)]
        for i, count in enumerate(values["heads"])
    ]
    return table_in(language, header, rows)


def spread_table(values: Values, language: Language) -> Table:
    header = ["n", *(Text(f"{count} head(s)", f"헤드 {count}개") for count in values["spread"])]
    rows = [
        [length, *(mean_interval(rows[i]).show(3) for rows in values["spread"].values())]
        for i, length in enumerate(values["spread_lengths"])
    ]
    return table_in(language, header, rows)


def numbers(values: Values) -> dict[str, str]:
    return {"vocabulary": str(values["vocabulary"]), "chance": f"{100 / values['vocabulary']:.1f}"}


def figure(values: Values) -> Figure:
    drawing, axes = new_figure(columns=2, width=4.8)
    styles = line_styles()
    draw_seeds(axes[0], values["heads"], values["accuracy"], "trained layer", next(styles))
    axes[0].axhline(100 / values["vocabulary"], color="black", linestyle=":", label="chance")
    axes[0].set_xscale("log", base=2)
    axes[0].set_xticks(values["heads"], [str(count) for count in values["heads"]])
    axes[0].set_ylim(0, 103)
    axes[0].set_xlabel("heads (same total width)")
    axes[0].set_ylabel("accuracy, %")
    axes[0].set_title("Four neighbors named by one layer")
    axes[0].legend(loc="center right")
    styles = line_styles()
    for count, rows in values["spread"].items():
        draw_seeds(axes[1], values["spread_lengths"], rows, f"{count} head{'s' * (count != '1')}", next(styles))
    axes[1].set_xscale("log", base=2)
    axes[1].set_xticks(values["spread_lengths"], [str(length) for length in values["spread_lengths"]])
    axes[1].set_ylim(bottom=0)
    axes[1].set_xlabel("n, tokens")
    axes[1].set_ylabel("spread of outputs / spread of values")
    axes[1].set_title("Untrained layer")
    axes[1].legend()
    return drawing


STUDY = Study(
    name="resolution",
    title=Text("Averaging, and several heads against it", "평균과 멀티헤드"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"accuracy": accuracy_table, "spread": spread_table},
    numbers=numbers,
)
