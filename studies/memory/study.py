"""Memory of attention over all positions, of its fused kernel and of local attention, against the length."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import torch
from matplotlib.figure import Figure
from torch.nn.attention import SDPBackend, sdpa_kernel

from studies.figures import line_styles, new_figure
from studies.intervals import Interval, combine_verdicts, mean_interval, verdict_within
from studies.measurement import fitted_exponent, peak_bytes
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values, table_in
from tongsa.nn.local_attention import centered_window
from tongsa.nn.multi_head import HeadConfig, SelfAttention
from tongsa.nn.rnn import RecurrentLayer

LENGTHS = (64, 128, 256, 512, 1024, 2048)
WIDTH, HEADS = 64, 4
WINDOW = 32
SQUARE, LINEAR = (1.8, 2.2), (0.8, 1.2)
"""Ranges of the fitted exponent of n that count as n² and as n."""
FITTED = 3
"""The exponent is fitted to this many of the largest lengths."""


class Variant(NamedTuple):
    """A layer and the kernel that computes its attention."""

    name: Text
    window: int
    backend: SDPBackend | None


VARIANTS = {
    "full": Variant(Text("all positions, weights stored", "모든 위치, 가중치 저장"), 0, SDPBackend.MATH),
    "fused": Variant(Text("all positions, fused kernel", "모든 위치, 통합 커널"), 0, None),
    "local": Variant(Text("local, weights stored", "국소, 가중치 저장"), WINDOW, SDPBackend.MATH),
    "local-fused": Variant(Text("local, fused kernel", "국소, 통합 커널"), WINDOW, None),
}
GRU = Text("GRU", "GRU")


def attention_update(variant: Variant, length: int, seed: int) -> Callable[[], None]:
    """Return a function that runs self-attention forward and backward on one sequence."""
    torch.manual_seed(seed)
    heads = HeadConfig(count=HEADS, key_width=WIDTH // HEADS, value_width=WIDTH // HEADS)
    window = centered_window(variant.window) if variant.window else None
    layer = SelfAttention(WIDTH, heads, "encoder", gain=1.0, window=window)
    inputs, mask = torch.randn(1, length, WIDTH), torch.ones(1, length, dtype=torch.bool)

    def kernel() -> AbstractContextManager[None]:
        backends = [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH] if variant.backend is None else [variant.backend]
        return sdpa_kernel(backends)

    def update() -> None:
        with kernel():
            layer(inputs, mask).sum().backward()
        layer.zero_grad(set_to_none=True)

    return update


def recurrent_update(length: int, seed: int) -> Callable[[], None]:
    torch.manual_seed(seed)
    layer, inputs = RecurrentLayer(WIDTH, WIDTH, "gru"), torch.randn(1, length, WIDTH)

    def update() -> None:
        layer(inputs, None)[0].sum().backward()
        layer.zero_grad(set_to_none=True)

    return update


def measure(options: MeasureOptions) -> dict[str, Any]:
    lengths = LENGTHS[:3] if options.quick else LENGTHS
    peaks = {
        name: [[peak_bytes(attention_update(variant, length, seed)) for seed in options.seeds] for length in lengths]
        for name, variant in VARIANTS.items()
    }
    peaks["gru"] = [[peak_bytes(recurrent_update(length, seed)) for seed in options.seeds] for length in lengths]
    return {"lengths": list(lengths), "width": WIDTH, "heads": HEADS, "window": WINDOW, "peak_bytes": peaks}


def exponent(values: Values, name: str) -> Interval:
    """Return the exponent a of bytes ≈ c · n^a over the largest lengths."""
    rows: Sequence[Sequence[float]] = values["peak_bytes"][name][-FITTED:]
    return mean_interval([fitted_exponent(values["lengths"][-FITTED:], seed) for seed in zip(*rows, strict=True)])


def megabytes(values: Values, name: str) -> float:
    """Return the peak at the largest length."""
    return float(mean_interval(values["peak_bytes"][name][-1]).mean / 1e6)


def claims(values: Values) -> list[Claim]:
    exponents = {name: exponent(values, name) for name in values["peak_bytes"]}
    shown = {name: f"n^{interval.mean:.2f}" for name, interval in exponents.items()}
    length = values["lengths"][-1]
    size = {name: f"{megabytes(values, name):.1f} MB" for name in values["peak_bytes"]}
    ran = Text(
        f"Peak memory of a forward and backward pass, d = {values['width']}, up to n = {length}.",
        f"순전파와 역전파의 최대 메모리, d = {values['width']}, n = {length}까지.",
    )
    return [
        Claim(
            source=Text("Notes on section 4", "4절에 대한 노트"),
            says=Text(
                "Attention over all positions at once takes much memory: n².",
                "모든 위치를 한꺼번에 보는 어텐션은 메모리를 많이(n²) 쓴다.",
            ),
            ran=ran,
            seen=Text(
                f"{shown['full']}, {size['full']}, if the weights are stored; {shown['fused']}, {size['fused']}, in "
                f"torch's fused kernel; a GRU {size['gru']}.",
                f"가중치를 저장하면 {shown['full']}, {size['full']}; torch의 통합 커널은 {shown['fused']}, "
                f"{size['fused']}; GRU는 {size['gru']}.",
            ),
            verdict=combine_verdicts(verdict_within(exponents[name], *SQUARE) for name in ("full", "fused")),
        ),
        Claim(
            source=Text("Vaswani et al. 2017, section 4", "Vaswani et al. 2017, 4절"),
            says=Text(
                "Attention restricted to a neighborhood of r positions grows with r·n instead.",
                "주변 r개 위치로 제한한 어텐션의 메모리는 r·n으로 늘어난다.",
            ),
            ran=ran,
            seen=Text(
                f"r = {values['window']}: {shown['local']}, {size['local']}, against {size['full']} of all positions.",
                f"r = {values['window']}: {shown['local']}, {size['local']}; 모든 위치는 {size['full']}.",
            ),
            verdict=verdict_within(exponents["local"], *LINEAR),
        ),
    ]


def peak_table(values: Values, language: Language) -> Table:
    names = {name: variant.name for name, variant in VARIANTS.items()} | {"gru": GRU}
    header = [
        Text("layer", "층"),
        *(Text(f"MB at n = {length}", f"n = {length}의 MB") for length in values["lengths"]),
        Text("exponent of n", "n의 지수"),
    ]
    rows = [
        [
            names[name],
            *(f"{mean_interval(seeds).mean / 1e6:.2f}" for seeds in rows),
            exponent(values, name).show(),
        ]
        for name, rows in values["peak_bytes"].items()
    ]
    return table_in(language, header, rows)


def figure(values: Values) -> Figure:
    drawing, (axes,) = new_figure(width=6.6, height=4.2)
    names = {name: variant.name.en for name, variant in VARIANTS.items()} | {"gru": GRU.en}
    for (name, rows), style in zip(values["peak_bytes"].items(), line_styles(), strict=False):
        means = [mean_interval(seeds).mean / 1e6 for seeds in rows]
        axes.plot(values["lengths"], means, label=names[name], **style._asdict())
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(values["lengths"], [str(length) for length in values["lengths"]])
    axes.set_xlabel("n, tokens")
    axes.set_ylabel("peak memory, MB")
    axes.set_title(f"Forward and backward pass, d = {values['width']}, {values['heads']} heads")
    axes.legend()
    return drawing


STUDY = Study(
    name="memory",
    title=Text("Memory of full and local attention", "전체 어텐션과 국소 어텐션의 메모리"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"peaks": peak_table},
    numbers=lambda values: {"window": str(values["window"]), "heads": str(values["heads"])},
    seeds=(1, 2, 3),
)
