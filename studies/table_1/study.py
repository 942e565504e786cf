"""Table 1 of Vaswani et al. 2017 (section 4), measured on tongsa's own layers."""

from matplotlib.figure import Figure

from studies.figures import draw_seeds, line_styles, new_figure
from studies.intervals import mean_interval
from studies.measurement import fitted_exponent
from studies.study import Language, Study, Table, Text, Values, table_in
from studies.table_1.claims import claims
from studies.table_1.exponents import (
    count_exponents,
    path_exponent,
    step_exponent,
    time_exponents,
)
from studies.table_1.measure import measure

NAMES = {
    "self-attention": Text("self-attention", "자기 어텐션"),
    "local-attention": Text("local attention", "국소 어텐션"),
    "rnn": Text("recurrent, tanh", "순환, tanh"),
    "gru": Text("GRU", "GRU"),
    "lstm": Text("LSTM", "LSTM"),
    "convolution": Text("convolution, gated", "합성곱, 게이트"),
    "dilated": Text("convolution, dilated", "합성곱, 팽창"),
    "separable": Text("convolution, separable", "합성곱, 분리"),
}


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
    handles, names = axes[0].get_legend_handles_labels()
    drawing.legend(handles, names, loc="outside lower center", ncols=4)
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
