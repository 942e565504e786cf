"""Why dot products are divided by √d_k, and what additive attention costs (Vaswani et al. 2017, section 3.2.1)."""

from matplotlib.figure import Figure

from studies.figures import draw_seeds, line_styles, new_figure
from studies.intervals import Interval, combine_verdicts, mean_interval, verdict_above, verdict_below, verdict_within
from studies.scaling.measure import SCORE_FUNCTIONS, measure
from studies.study import Claim, Language, Study, Table, Text, Values

EQUAL_VARIANCE = (0.95, 1.05)
"""Range of variance / d_k that counts as equal to one."""
SAME_GRADIENT = (0.9, 1.1)
"""Range of the gradient, relative to that at the smallest d_k, that counts as unchanged."""
SIMILAR_COST = (0.5, 2.0)
EXTREMELY_SMALL = 0.1
"""A gradient counts as extremely small below this share of the gradient at the smallest d_k."""
LABELS = {"scaled-dot": "q·k/√d_k", "dot": "q·k", "additive": "v·tanh(q + k)"}
SOURCE = Text("Vaswani et al. 2017, section 3.2.1", "Vaswani et al. 2017, 3.2.1절")
NORMAL_INPUTS = Text(
    "Queries and keys with independent standard normal elements, one layer of tongsa.",
    "성분이 독립인 표준정규분포 쿼리와 키, tongsa의 어텐션 층 하나.",
)


def variance_ratios(values: Values) -> list[Interval]:
    """Return variance(q·k) / d_k for each d_k."""
    rows = values["statistics"]["dot"]["variance"]
    return [
        mean_interval([value / width for value in row]) for width, row in zip(values["key_widths"], rows, strict=True)
    ]


def relative_gradients(values: Values, score_function: str, kind: str = "score_gradient") -> list[Interval]:
    """Return the gradient for each d_k, divided by that of the same seed at the smallest d_k."""
    rows = values["statistics"][score_function][kind]
    return [mean_interval([value / first for value, first in zip(row, rows[0], strict=True)]) for row in rows]


def cost_ratios(values: Values, quantity: str) -> list[Interval]:
    """Return additive / dot-product for each d_k."""
    cost = values["cost"]
    return [
        mean_interval([additive / dot for additive, dot in zip(*rows, strict=True)])
        for rows in zip(cost["additive"][quantity], cost["scaled-dot"][quantity], strict=True)
    ]


def show_range(intervals: list[Interval], digits: int) -> str:
    means = [interval.mean for interval in intervals]
    return f"{min(means):.{digits}f}–{max(means):.{digits}f}"


def claims(values: Values) -> list[Claim]:
    widths = f"{values['key_widths'][0]}–{values['key_widths'][-1]}"
    return [_variance_claim(values, widths), *_gradient_claims(values, widths), *_cost_claims(values)]


def _variance_claim(values: Values, widths: str) -> Claim:
    ratios = variance_ratios(values)
    return Claim(
        source=SOURCE,
        says=Text("q·k has mean 0 and variance d_k.", "q·k의 평균은 0, 분산은 d_k이다."),
        ran=NORMAL_INPUTS,
        seen=Text(
            f"Variance / d_k is {show_range(ratios, 3)} for d_k = {widths}.",
            f"d_k = {widths}에서 분산 / d_k는 {show_range(ratios, 3)}.",
        ),
        verdict=combine_verdicts(verdict_within(ratio, *EQUAL_VARIANCE) for ratio in ratios),
    )


def _gradient_claims(values: Values, widths: str) -> list[Claim]:
    dot, scaled = relative_gradients(values, "dot")[-1], relative_gradients(values, "scaled-dot")[-1]
    median = relative_gradients(values, "dot", "median_score_gradient")[-1]
    entropy = mean_interval(values["statistics"]["dot"]["entropy"][-1])
    return [
        Claim(
            source=SOURCE,
            says=Text(
                "For large d_k, unscaled dot products push the softmax into regions of extremely small gradients.",
                "d_k가 크면 스케일하지 않은 내적은 소프트맥스를 그래디언트가 극히 작은 영역으로 밀어 넣는다.",
            ),
            ran=NORMAL_INPUTS,
            seen=Text(
                f"From d_k = {widths}: gradient of the scores × {dot.show()} in the mean over queries, × "
                f"{median.show(3)} in the median; entropy at the end {entropy.show()} of the uniform one.",
                f"d_k = {widths}에서 점수의 그래디언트는 쿼리 평균으로 × {dot.show()}, 중앙값으로 × {median.show(3)}; "
                f"마지막 엔트로피는 균등분포의 {entropy.show()}.",
            ),
            verdict=combine_verdicts(verdict_below(gradient, EXTREMELY_SMALL) for gradient in (dot, median)),
        ),
        Claim(
            source=SOURCE,
            says=Text("Scaling by 1/√d_k counteracts this effect.", "1/√d_k로 스케일하면 이 효과가 상쇄된다."),
            ran=NORMAL_INPUTS,
            seen=Text(
                f"The same with scaling: gradient of the scores × {scaled.show(3)}.",
                f"스케일한 경우: 점수의 그래디언트 × {scaled.show(3)}.",
            ),
            verdict=verdict_within(scaled, *SAME_GRADIENT),
        ),
    ]


def _cost_claims(values: Values) -> list[Claim]:
    counts, seconds, peaks = (cost_ratios(values, name) for name in ("multiply_adds", "seconds", "peak_bytes"))
    ran = Text(
        "Forward and backward pass of both layers; CPU time of one thread, peak memory of torch.",
        "두 층의 순전파와 역전파; 스레드 하나의 CPU 시간, torch의 최대 메모리.",
    )
    widths = ", ".join(map(str, values["cost_key_widths"]))
    return [
        Claim(
            source=SOURCE,
            says=Text(
                "Additive and dot-product attention are similar in theoretical complexity.",
                "가산 어텐션과 내적 어텐션의 이론적 복잡도는 비슷하다.",
            ),
            ran=Text("Multiply-adds of the products counted.", "행렬곱의 곱셈-덧셈 횟수를 셈."),
            seen=Text(
                f"Ratio {show_range(counts, 2)} for d_k = {widths}.",
                f"d_k = {widths}에서 비율 {show_range(counts, 2)}.",
            ),
            verdict=combine_verdicts(verdict_within(count, *SIMILAR_COST) for count in counts),
        ),
        Claim(
            source=SOURCE,
            says=Text(
                "Dot-product attention is much faster and more space-efficient in practice.",
                "실제로는 내적 어텐션이 훨씬 빠르고 메모리를 적게 쓴다.",
            ),
            ran=ran,
            seen=Text(
                f"For d_k = {widths}, additive takes {show_range(seconds, 1)} times the time and "
                f"{show_range(peaks, 1)} times the memory.",
                f"d_k = {widths}에서 가산 어텐션은 시간 {show_range(seconds, 1)}배, 메모리 {show_range(peaks, 1)}배.",
            ),
            verdict=combine_verdicts(verdict_above(ratio, 1.0) for ratio in [*seconds, *peaks]),
        ),
    ]


def statistics_table(values: Values, language: Language) -> Table:
    header = [
        Text("score", "점수")[language],
        "d_k",
        Text("variance", "분산")[language],
        Text("entropy / ln n", "엔트로피 / ln n")[language],
        Text("largest weight", "최대 가중치")[language],
        Text("gradient of scores", "점수의 그래디언트")[language],
        Text("its median", "그 중앙값")[language],
        Text("gradient of queries", "쿼리의 그래디언트")[language],
    ]
    rows = []
    for name in SCORE_FUNCTIONS:
        statistics = values["statistics"][name]
        for i, width in enumerate(values["key_widths"]):
            cells = [
                mean_interval(statistics[column][i]).show(digits)
                for column, digits in [
                    *(("variance", 2), ("entropy", 3), ("largest_weight", 3)),
                    *(("score_gradient", 3), ("median_score_gradient", 3), ("query_gradient", 3)),
                ]
            ]
            rows.append([LABELS[name], str(width), *cells])
    return Table(header, rows)


def cost_table(values: Values, language: Language) -> Table:
    header = [
        Text("attention", "어텐션")[language],
        "d_k",
        Text("CPU ms", "CPU 시간(ms)")[language],
        Text("peak MB", "최대 메모리(MB)")[language],
        Text("largest saved tensor, MB", "저장된 가장 큰 텐서(MB)")[language],
        Text("multiply-adds, millions", "곱셈-덧셈(백만)")[language],
    ]
    rows = []
    for name in ("scaled-dot", "additive"):
        cost = values["cost"][name]
        for i, width in enumerate(values["cost_key_widths"]):
            rows.append(
                [
                    LABELS[name],
                    str(width),
                    mean_interval([second * 1e3 for second in cost["seconds"][i]]).show(),
                    f"{cost['peak_bytes'][i][0] / 1e6:.2f}",
                    f"{cost['largest_saved_bytes'][i][0] / 1e6:.2f}",
                    f"{cost['multiply_adds'][i][0] / 1e6:.1f}",
                ]
            )
    return Table(header, rows)


def numbers(values: Values) -> dict[str, str]:
    shape = values["shape"]
    return {
        "shape": f"{shape['batch']} × {shape['heads']} × {shape['length']}",
        "query-gradient": relative_gradients(values, "dot", "query_gradient")[-1].show(),
        "scaled-query-gradient": relative_gradients(values, "scaled-dot", "query_gradient")[-1].show(),
    }


def figure(values: Values) -> Figure:
    drawing, axes = new_figure(columns=3, width=4.3, height=3.8)
    panels = [
        ("variance", "Variance of the scores", "variance"),
        ("entropy", "Entropy of the softmax", "entropy / ln n"),
        ("score_gradient", "Gradient of the scores", "norm per query"),
    ]
    for axis, (quantity, title, label) in zip(axes, panels, strict=True):
        styles = line_styles()
        for name in SCORE_FUNCTIONS:
            draw_seeds(axis, values["key_widths"], values["statistics"][name][quantity], LABELS[name], next(styles))
        axis.set_xscale("log", base=2)
        axis.set_xticks(values["key_widths"], [str(width) for width in values["key_widths"]])
        axis.set_xlabel("d_k")
        axis.set_ylabel(label)
        axis.set_title(title)
    axes[0].set_yscale("log")
    axes[1].set_ylim(bottom=0)
    axes[2].set_ylim(bottom=0)
    axes[0].legend()
    return drawing


STUDY = Study(
    name="scaling",
    title=Text("Why 1/√d_k", "왜 1/√d_k인가"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"statistics": statistics_table, "cost": cost_table},
    numbers=numbers,
)
