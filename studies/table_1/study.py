"""Table 1 of Vaswani et al. 2017 (section 4), measured on tongsa's own layers."""

from matplotlib.figure import Figure

from studies.figures import draw_seeds, line_styles, new_figure
from studies.intervals import combine_verdicts, mean_interval, verdict_below
from studies.measurement import fitted_exponent
from studies.study import Claim, Language, Study, Table, Text, Values, table_in
from studies.table_1.exponents import (
    close,
    count_exponents,
    crossing_verdict,
    exponent_pairs,
    path_exponent,
    show_crossing,
    step_exponent,
    time_exponents,
    time_ratios,
)
from studies.table_1.layers import RECURRENT
from studies.table_1.measure import measure

NAMES = {
    "self-attention": Text("self-attention", "자기 어텐션"),
    "local-attention": Text("local attention", "국소 어텐션"),
    "rnn": Text("recurrent, tanh", "순환, tanh"),
    "gru": Text("GRU", "GRU"),
    "lstm": Text("LSTM", "LSTM"),
    "convolution": Text("convolution", "합성곱"),
}
SOURCE = Text("Vaswani et al. 2017, section 4, Table 1", "Vaswani et al. 2017, 4절 표 1")


def claims(values: Values) -> list[Claim]:
    return [*_exponent_claims(values), *_cheaper_claims(values), _example_claim(values)]


def _exponent_claims(values: Values) -> list[Claim]:
    layers = list(values["hops"])
    counts, steps, paths = exponent_pairs(values)
    attention, recurrent = count_exponents(values, "self-attention"), count_exponents(values, "gru")
    hops = {name: values["hops"][name][-1][0] for name in layers}
    length = values["path_lengths"][-1]
    return [
        Claim(
            source=SOURCE,
            says=Text(
                "Cost per layer: n²·d for self-attention, r·n·d if local, n·d² for recurrence, k·n·d² for convolution.",
                "층당 비용: 자기 어텐션 n²·d, 국소 어텐션 r·n·d, 순환 n·d², 합성곱 k·n·d².",
            ),
            ran=Text(
                "Multiply-adds counted without projections; exponents of n and d fitted.",
                "투영을 뺀 곱셈-덧셈 횟수를 세고 n과 d의 지수를 맞춤.",
            ),
            seen=Text(
                f"Self-attention n^{attention[0]:.2f} d^{attention[1]:.2f}, GRU n^{recurrent[0]:.2f} "
                f"d^{recurrent[1]:.2f}; the others in the table.",
                f"자기 어텐션 n^{attention[0]:.2f} d^{attention[1]:.2f}, GRU n^{recurrent[0]:.2f} "
                f"d^{recurrent[1]:.2f}; 나머지는 표 참조.",
            ),
            verdict=close(counts),
        ),
        Claim(
            source=SOURCE,
            says=Text(
                "Sequential operations: n for recurrence, a constant for the others.",
                "순차 연산의 수: 순환은 n, 나머지는 상수.",
            ),
            ran=Text("Longest chain of dependent matrix products.", "서로 의존하는 행렬곱의 가장 긴 사슬."),
            seen=Text(
                f"At n = {length}: self-attention {values['products']['self-attention'][-1]}, GRU "
                f"{values['products']['gru'][-1]}, convolution {values['products']['convolution'][-1]}.",
                f"n = {length}에서 자기 어텐션 {values['products']['self-attention'][-1]}, GRU "
                f"{values['products']['gru'][-1]}, 합성곱 {values['products']['convolution'][-1]}.",
            ),
            verdict=close(steps),
        ),
        Claim(
            source=SOURCE,
            says=Text(
                "Maximum path length: 1 for self-attention, n for recurrence, n/r if local, n/k for convolution.",
                "최대 경로 길이: 자기 어텐션 1, 순환 n, 국소 어텐션 n/r, 합성곱 n/k.",
            ),
            ran=Text(
                "Hops until the gradient from the first input to the last output is not zero.",
                "첫 입력에서 마지막 출력으로 가는 그래디언트가 0이 아닐 때까지의 홉 수.",
            ),
            seen=Text(
                f"At n = {length}: self-attention {hops['self-attention']}, GRU {hops['gru']}, local "
                f"{hops['local-attention']}, convolution {hops['convolution']}.",
                f"n = {length}에서 자기 어텐션 {hops['self-attention']}, GRU {hops['gru']}, 국소 어텐션 "
                f"{hops['local-attention']}, 합성곱 {hops['convolution']}.",
            ),
            verdict=close(paths),
        ),
    ]


def _cheaper_claims(values: Values) -> list[Claim]:
    ratios = {name: time_ratios(values, name) for name in RECURRENT}
    means = [interval.mean for intervals in ratios.values() for interval in intervals]
    source = Text("Vaswani et al. 2017, section 4", "Vaswani et al. 2017, 4절")
    says = Text("Self-attention is cheaper than recurrence where n < d.", "n < d이면 자기 어텐션이 순환보다 싸다.")
    return [
        Claim(
            source=source,
            says=says,
            ran=Text(
                "All multiply-adds counted, with projections; largest n at which self-attention has fewer.",
                "투영을 포함한 모든 곱셈-덧셈; 자기 어텐션이 더 적은 가장 큰 n.",
            ),
            seen=Text(
                f"Than a plain unit: {show_crossing(values, 'rnn')} (never, if –); than a GRU: n = "
                f"{show_crossing(values, 'gru')}; than an LSTM: n = {show_crossing(values, 'lstm')}.",
                f"단순 순환층보다: {show_crossing(values, 'rnn')} (–는 전혀 없음); GRU보다: n = "
                f"{show_crossing(values, 'gru')}; LSTM보다: n = {show_crossing(values, 'lstm')}.",
            ),
            verdict=combine_verdicts(
                crossing_verdict(crossings, values["crossing_widths"]) for crossings in values["crossings"].values()
            ),
        ),
        Claim(
            source=source,
            says=Text(f"{says.en[:-1]}, in time.", "n < d이면 자기 어텐션이 순환보다 빠르다(시간)."),
            ran=Text(
                f"Forward and backward pass at n = {values['length']} and larger d; CPU time of one thread.",
                f"n = {values['length']}와 그보다 큰 d에서 순전파와 역전파; 스레드 하나의 CPU 시간.",
            ),
            seen=Text(
                f"Self-attention takes {min(means):.2f}–{max(means):.2f} of the time of the recurrent layers.",
                f"자기 어텐션의 시간은 순환층의 {min(means):.2f}–{max(means):.2f}배.",
            ),
            verdict=combine_verdicts(
                verdict_below(interval, 1.0) for intervals in ratios.values() for interval in intervals
            ),
        ),
    ]


def _example_claim(values: Values) -> Claim:
    recurrent, attention = (sorted(set(values["example"][name])) for name in ("recurrent", "attention"))
    shown = [", ".join(map(str, steps)) for steps in (recurrent, attention)]
    return Claim(
        source=Text("Notes on section 4", "4절에 대한 노트"),
        says=Text(
            "“i love you” → “난 너를 사랑해”: from i to 사랑해 a recurrent model takes 6 steps, attention 1.",
            "“i love you” → “난 너를 사랑해”에서 i부터 사랑해까지 순환 모델은 6단계, 어텐션은 1단계이다.",
        ),
        ran=Text(
            "States on every path, found by treating each as a constant; attention layers needed.",
            "각 상태를 상수로 바꾸어 모든 경로가 지나는 상태를 찾음; 필요한 어텐션 층의 수.",
        ),
        seen=Text(f"Recurrent {shown[0]}, attention {shown[1]}.", f"순환 {shown[0]}, 어텐션 {shown[1]}."),
        verdict="holds" if (recurrent, attention) == ([6], [1]) else "fails",
    )


def exponent_table(values: Values, language: Language) -> Table:
    header = [
        Text("layer", "층"),
        Text("multiply-adds", "곱셈-덧셈"),
        Text("sequential steps", "순차 연산"),
        Text("path", "경로"),
        Text("CPU time, exponent of n", "CPU 시간, n의 지수"),
        Text("peak memory, exponent of n", "최대 메모리, n의 지수"),
    ]
    rows = []
    for name in values["hops"]:
        n, d = count_exponents(values, name)
        memory = fitted_exponent(values["lengths"][-3:], values["costs_by_length"][name]["peak_bytes"][-3:])
        rows.append(
            [
                NAMES[name],
                f"n^{n:.2f} d^{d:.2f}",
                f"n^{step_exponent(values, name):.2f}",
                f"n^{path_exponent(values, name):.2f}",
                time_exponents(values, name).show(),
                f"{memory:.2f}",
            ]
        )
    return table_in(language, header, rows)


def hop_table(values: Values, language: Language) -> Table:
    rows = [
        [NAMES[name], *(", ".join(map(str, sorted(set(seeds)))) for seeds in hops)]
        for name, hops in values["hops"].items()
    ]
    header = [Text("layer", "층"), *(f"n = {length}" for length in values["path_lengths"])]
    return table_in(language, header, rows)


def crossing_table(values: Values, language: Language) -> Table:
    header = [Text("compared with", "비교 대상"), *(f"d = {width}" for width in values["crossing_widths"])]
    never = Text("never", "없음")
    rows = [
        [NAMES[name], *(never if n is None else f"n ≤ {n}" for n in crossings)]
        for name, crossings in values["crossings"].items()
    ]
    return table_in(language, header, rows)


def cost_table(values: Values, language: Language) -> Table:
    header = [
        Text("layer", "층"),
        *(Text(f"ms at n = {n}", f"n = {n}의 ms") for n in values["lengths"]),
        Text(f"MB at n = {values['lengths'][-1]}", f"n = {values['lengths'][-1]}의 MB"),
    ]
    rows = []
    for name, cost in values["costs_by_length"].items():
        times = [mean_interval([second * 1e3 for second in seeds]).show(1) for seeds in cost["seconds"]]
        rows.append([NAMES[name], *times, f"{cost['peak_bytes'][-1] / 1e6:.1f}"])
    return table_in(language, header, rows)


def numbers(values: Values) -> dict[str, str]:
    return {name: str(values[name]) for name in ("width", "length", "batch")}


def figure(values: Values) -> Figure:
    drawing, axes = new_figure(columns=2, rows=2, width=5.2, height=3.9)
    panels = {
        f"Multiply-adds with projections, d = {values['width']}": ("multiply-adds", "lengths"),
        f"Forward and backward pass, d = {values['width']}": ("CPU time, ms", "lengths"),
        f"Peak memory, d = {values['width']}": ("MB", "lengths"),
        "Path from the first input to the last output": ("hops", "path_lengths"),
    }
    for axis, (title, (label, sizes)) in zip(axes, panels.items(), strict=True):
        axis.set_title(title)
        axis.set_xlabel("n, tokens")
        axis.set_ylabel(label)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks(values[sizes], [str(size) for size in values[sizes]])
    for name, style in zip(values["hops"], line_styles(), strict=False):
        cost = values["costs_by_length"][name]
        line = style._asdict()
        axes[0].plot(values["lengths"], values["counts_by_length"][name]["total"], label=NAMES[name].en, **line)
        milliseconds = [[second * 1e3 for second in seeds] for seeds in cost["seconds"]]
        draw_seeds(axes[1], values["lengths"], milliseconds, NAMES[name].en, style)
        axes[2].plot(values["lengths"], [size / 1e6 for size in cost["peak_bytes"]], **line)
        axes[3].plot(values["path_lengths"], [seeds[0] for seeds in values["hops"][name]], **line)
    axes[0].legend()
    return drawing


STUDY = Study(
    name="table_1",
    title=Text("Table 1: cost, sequential steps, path length", "표 1: 비용, 순차 연산, 경로 길이"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"exponents": exponent_table, "hops": hop_table, "crossings": crossing_table, "costs": cost_table},
    numbers=numbers,
    seeds=(1, 2, 3),
)
