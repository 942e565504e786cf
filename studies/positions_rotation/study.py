"""PE(pos + k) as a rotation of PE(pos): sinusoidal positions (Vaswani et al. 2017, section 3.5)."""

import math
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from studies.figures import COLORS, draw_seeds, line_styles, new_figure
from studies.intervals import mean_interval, verdict_above
from studies.study import Claim, Language, MeasureOptions, Study, Table, Text, Values, table_in
from tongsa.nn.positions import apply_rotary, sinusoids

WIDTHS = (4, 64, 512)
POSITIONS = 512
OFFSETS = (1, 2, 4, 8, 16, 32, 64)
FIT_WIDTH, FIT_POSITIONS = 16, 128
"""A linear map is fitted to the first positions and tested on as many later ones."""
ROUNDING = 1e-4
"""Rounding of a table in float32 whose angles were computed in float64."""
EXAMPLE = (3, 2)
"""PE(3, 2): position 3, element 2."""
CIRCLE_ELEMENT, CIRCLE_OFFSET, CIRCLE_POSITIONS = 2, 4, 18
"""The pair of elements that the figure shows on its circle."""
BASE = 10000.0


def rotate(encodings: Tensor, offset: int) -> Tensor:
    """Rotate each pair (sin, cos) by offset · frequency: the map that should give PE(pos + offset)."""
    width = encodings.shape[1]
    angles = offset * BASE ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    sine, cosine = encodings[:, 0::2], encodings[:, 1::2]
    rotated = [sine * angles.cos() + cosine * angles.sin(), cosine * angles.cos() - sine * angles.sin()]
    return torch.stack(rotated, dim=2).flatten(1)


def rotation_error(width: int, offset: int) -> float:
    """Return the largest difference between rotated encodings and those of the later positions."""
    table = sinusoids(POSITIONS + offset, width).double()
    return float((rotate(table[:POSITIONS], offset) - table[offset:]).abs().max())


def worked_out(width: int) -> dict[str, float]:
    """Return PE(3, 2) by the formula and from tongsa's table. Element 2 is the sine of pair i = 1."""
    position, element = EXAMPLE
    angle = position / BASE ** (element / width)
    return {
        "angle": angle,
        "formula": math.sin(angle),
        "table": float(sinusoids(position + 1, width)[position, element]),
    }


def unexplained_share(table: Tensor, offset: int) -> float:
    """Fit PE(pos + offset) = M · PE(pos) on the first positions; return the relative squared error on later ones."""
    source, target = table[: FIT_POSITIONS * 2], table[offset : FIT_POSITIONS * 2 + offset]
    solution = torch.linalg.lstsq(source[:FIT_POSITIONS], target[:FIT_POSITIONS]).solution
    error = source[FIT_POSITIONS:] @ solution - target[FIT_POSITIONS:]
    return float(error.square().sum() / target[FIT_POSITIONS:].square().sum())


def rotary_difference(offset: int, seed: int) -> float:
    """Return the largest change of q·k between pairs of positions that are `offset` apart, with rotary encodings."""
    generator = torch.Generator().manual_seed(seed)
    query, key = torch.randn(2, 1, 1, 1, FIT_WIDTH, generator=generator, dtype=torch.float64)
    length = FIT_POSITIONS + offset
    queries, keys = (apply_rotary(vector.expand(1, 1, length, -1), 0)[0, 0] for vector in (query, key))
    products = (queries[offset:] * keys[: length - offset]).sum(-1)
    return float((products - products[0]).abs().max())


def measure(options: MeasureOptions) -> dict[str, Any]:
    table = sinusoids(FIT_POSITIONS * 2 + max(OFFSETS), FIT_WIDTH).double()
    learned = [
        torch.randn(table.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        for seed in options.seeds
    ]
    wide = sinusoids(POSITIONS, WIDTHS[-1]).double()
    return {
        "offsets": list(OFFSETS),
        "widths": list(WIDTHS),
        "rotation_errors": {width: [rotation_error(width, offset) for offset in OFFSETS] for width in WIDTHS},
        "worked_out": {width: worked_out(width) for width in WIDTHS},
        "wavelengths": {width: 2 * math.pi * BASE ** ((width - 2) / width) for width in WIDTHS},
        "unexplained": {
            "sinusoidal": [unexplained_share(table, offset) for offset in OFFSETS],
            "random": [[unexplained_share(random, offset) for random in learned] for offset in OFFSETS],
        },
        "dot_products": (wide[0] @ wide.T / wide[0].square().sum()).tolist()[:129],
        "circle": {
            "width": FIT_WIDTH,
            "element": CIRCLE_ELEMENT,
            "offset": CIRCLE_OFFSET,
            "points": table[:CIRCLE_POSITIONS, CIRCLE_ELEMENT : CIRCLE_ELEMENT + 2].tolist(),
        },
        "rotary": [[rotary_difference(offset, seed) for seed in options.seeds] for offset in OFFSETS],
    }


def claims(values: Values) -> list[Claim]:
    error = max(max(errors) for errors in values["rotation_errors"].values())
    residual = max(values["unexplained"]["sinusoidal"])
    random = mean_interval(values["unexplained"]["random"][-1])
    widest = str(values["widths"][-1])
    wavelength = values["wavelengths"][widest]
    example = max(abs(one_width["formula"] - one_width["table"]) for one_width in values["worked_out"].values())
    source = Text("Vaswani et al. 2017, section 3.5", "Vaswani et al. 2017, 3.5절")
    shown = ", ".join(f"d = {width}: {pair['table']:.4f}" for width, pair in values["worked_out"].items())
    return [
        Claim(
            source=source,
            says=Text(
                "For any fixed offset k, PE(pos + k) is a linear function of PE(pos).",
                "고정된 거리 k에 대해 PE(pos + k)는 PE(pos)의 선형 함수이다.",
            ),
            ran=Text(
                "Each pair (sin, cos) rotated by k·ω; a fitted linear map on positions not used for the fit.",
                "(sin, cos) 쌍마다 k·ω만큼 회전; 적합에 쓰지 않은 위치에서 선형 사상을 검사.",
            ),
            seen=Text(
                f"Rotation: largest error {error:.0e}. Fitted map: {residual:.0e} of the variance unexplained; random "
                f"position vectors {random.show()}.",
                f"회전: 최대 오차 {error:.0e}. 적합한 사상: 설명되지 않는 분산 {residual:.0e}; 무작위 위치 벡터는 "
                f"{random.show()}.",
            ),
            verdict="holds"
            if error < ROUNDING and residual < ROUNDING and verdict_above(random, 0.5) == "holds"
            else "fails",
        ),
        Claim(
            source=source,
            says=Text(
                "The wavelengths form a geometric progression from 2π to 10000·2π.",
                "파장은 2π에서 10000·2π까지 등비수열을 이룬다.",
            ),
            ran=Text("The longest wavelength, from the formula.", "식에서 구한 가장 긴 파장."),
            seen=Text(
                f"d = {widest}: the longest is {wavelength / 2 / math.pi:.0f}·2π; only an endless d reaches 10000·2π.",
                f"d = {widest}: 가장 긴 파장은 {wavelength / 2 / math.pi:.0f}·2π; d가 무한해야 10000·2π가 된다.",
            ),
            verdict="holds" if wavelength > 0.95 * BASE * 2 * math.pi else "partly",
        ),
        Claim(
            source=Text("Notes on section 3.5", "3.5절에 대한 노트"),
            says=Text("PE(3, 2) = sin(3 / 10000^(2/d)).", "PE(3, 2) = sin(3 / 10000^(2/d))."),
            ran=Text("The formula, and element 2 of position 3 in tongsa's table.", "식과 tongsa 표의 위치 3, 원소 2."),
            seen=Text(f"{shown}; largest difference {example:.0e}.", f"{shown}; 최대 차이 {example:.0e}."),
            verdict="holds" if example < ROUNDING else "fails",
        ),
    ]


def example_table(values: Values, language: Language) -> Table:
    header = [
        "d",
        Text("angle 3 / 10000^(2/d)", "각도 3 / 10000^(2/d)"),
        Text("its sine", "그 사인"),
        Text("PE(3, 2) in tongsa", "tongsa의 PE(3, 2)"),
        Text("longest wavelength / 2π", "최장 파장 / 2π"),
    ]
    rows = [
        [
            width,
            *(f"{pair[name]:.6f}" for name in ("angle", "formula", "table")),
            f"{values['wavelengths'][width] / 2 / math.pi:,.0f}",
        ]
        for width, pair in values["worked_out"].items()
    ]
    return table_in(language, header, rows)


def offset_table(values: Values, language: Language) -> Table:
    header = [
        "k",
        *(Text(f"rotation error, d = {width}", f"회전 오차, d = {width}") for width in values["rotation_errors"]),
        Text("unexplained: sinusoids", "설명 안 됨: 사인파"),
        Text("unexplained: random vectors", "설명 안 됨: 무작위 벡터"),
        Text("rotary: change of q·k", "회전(rotary): q·k의 변화"),
    ]
    rows = [
        [
            str(offset),
            *(f"{errors[i]:.0e}" for errors in values["rotation_errors"].values()),
            f"{values['unexplained']['sinusoidal'][i]:.0e}",
            mean_interval(values["unexplained"]["random"][i]).show(),
            f"{max(values['rotary'][i]):.0e}",
        ]
        for i, offset in enumerate(values["offsets"])
    ]
    return table_in(language, header, rows)


def draw_circle(axes: Axes, circle: Values) -> None:
    """Draw the positions of one pair on its circle, and the same rotation from two of them."""
    points, offset = circle["points"], circle["offset"]
    axes.plot([cosine for _, cosine in points], [sine for sine, _ in points], color=COLORS[0], marker="o", linestyle="")
    for position, (sine, cosine) in enumerate(points):
        axes.annotate(str(position), (cosine, sine), (1.13 * cosine, 1.13 * sine), ha="center", va="center", fontsize=9)
    for start, color in ((0, COLORS[1]), (8, COLORS[2])):
        for position, line in ((start, "--"), (start + offset, "-")):
            sine, cosine = points[position]
            axes.plot([0, cosine], [0, sine], color=color, linestyle=line)
    axes.set_aspect("equal")
    axes.set_xlim(-1.35, 1.35)
    axes.set_ylim(-1.35, 1.35)
    axes.set_xlabel("cos")
    axes.set_ylabel("sin")
    axes.set_title(f"Elements {circle['element']}, {circle['element'] + 1} of d = {circle['width']}: k = {offset}")


def figure(values: Values) -> Figure:
    drawing, axes = new_figure(columns=3, width=4.4, height=4.2)
    draw_circle(axes[0], values["circle"])
    axes[1].plot(range(len(values["dot_products"])), values["dot_products"], color=COLORS[0])
    axes[1].set_xlabel("k")
    axes[1].set_ylabel("PE(pos)·PE(pos + k) / |PE|²")
    axes[1].set_title(f"Similarity, d = {values['widths'][-1]}")
    styles = line_styles()
    style = next(styles)
    axes[2].plot(values["offsets"], values["unexplained"]["sinusoidal"], label="sinusoids", **style._asdict())
    draw_seeds(axes[2], values["offsets"], values["unexplained"]["random"], "random vectors", next(styles))
    axes[2].set_yscale("log")
    axes[2].set_xscale("log", base=2)
    axes[2].set_xticks(values["offsets"], [str(offset) for offset in values["offsets"]])
    axes[2].set_xlabel("k")
    axes[2].set_ylabel("variance not explained by a linear map")
    axes[2].set_title("PE(pos + k) = M PE(pos)?")
    axes[2].legend(loc="center right")
    return drawing


STUDY = Study(
    name="positions_rotation",
    title=Text("Sinusoidal positions are rotations", "사인 곡선 위치 인코딩은 회전이다"),
    measure=measure,
    claims=claims,
    figure=figure,
    tables={"example": example_table, "offsets": offset_table},
)
