"""Curves of a training run as one small SVG that follows the reader's light or dark setting."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

Curve = Sequence[tuple[float, float]]

WIDTH, MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, PANEL_HEIGHT, PANEL_GAP = 720, 56, 32, 34, 220, 72
MAX_POINTS = 400
"""More steps than this are drawn as means of neighbours: a curve has no more pixels."""
CSS = """
.tongsa-curves { font: 12px system-ui, "Apple SD Gothic Neo", "Malgun Gothic", "Noto Sans CJK KR", sans-serif;
  --paper: #fff; --ink: #1c2024; --quiet: #5b636e; --rule: #e4e6ea; --training: #9aa5b5; --validation: #1f5fb4; }
@media (prefers-color-scheme: dark) { .tongsa-curves {
  --paper: #0f1217; --ink: #e6e9ee; --quiet: #9aa4b2; --rule: #2a313b; --training: #76818f; --validation: #8ab8f5; } }
.tongsa-curves rect { fill: var(--paper); }
.tongsa-curves text { fill: var(--quiet); font-variant-numeric: tabular-nums; }
.tongsa-curves text.name { fill: var(--ink); font-weight: 600; }
.tongsa-curves line { stroke: var(--rule); }
.tongsa-curves polyline { fill: none; stroke-width: 1.75; stroke-linejoin: round; stroke-linecap: round; }
.tongsa-curves polyline.loss, .tongsa-curves polyline.lr { stroke: var(--training); }
.tongsa-curves circle.loss, .tongsa-curves circle.lr { fill: var(--training); }
.tongsa-curves polyline.dev_loss, .tongsa-curves polyline.bleu { stroke: var(--validation); }
.tongsa-curves circle.dev_loss, .tongsa-curves circle.bleu { fill: var(--validation); }
"""
SVG_PANELS = {
    "Loss": {"loss": "training", "dev_loss": "validation"},
    "BLEU": {"bleu": "validation"},
    "Learning rate": {"lr": "training"},
}
"""Title → the keys drawn in it, each with its name."""


@dataclass(frozen=True)
class AxisScale:
    """From values to pixels: `low` lies at `begin`, `high` at `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def curves_svg(records: Sequence[Mapping[str, float]]) -> str:
    """SVG of loss and validation over steps; a record holds `step` and any of the keys in `PANELS`."""
    lines = {key: curve_points(records, key) for names in SVG_PANELS.values() for key in names}
    panels = [title for title, names in SVG_PANELS.items() if any(lines[key] for key in names)]
    height = MARGIN_TOP + max(len(panels), 1) * (PANEL_HEIGHT + PANEL_GAP) - PANEL_GAP + 44
    steps = [step for line in lines.values() for step, _ in line] or [0.0]
    across = AxisScale(min(0.0, *steps), max(1.0, *steps), MARGIN_LEFT, WIDTH - MARGIN_RIGHT)
    body = [
        panel_svg(title, lines, across, MARGIN_TOP + n * (PANEL_HEIGHT + PANEL_GAP)) for n, title in enumerate(panels)
    ]
    label = "; ".join(describe_last(key, line) for key, line in lines.items() if line) or "nothing recorded yet"
    if not panels:
        body = [f'<text x="{WIDTH / 2}" y="{height / 2}" text-anchor="middle">{label}</text>']
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tongsa-curves" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" style="max-width:100%;height:auto" '
        f'role="img" aria-label="{label}">'
        f'<style>{CSS}</style><rect width="100%" height="100%"/>{"".join(body)}</svg>\n'
    )


PAGE_PANELS = {
    "loss": ("loss", "dev_loss"),
    "score": ("bleu", "chrf", "exact_match", "accuracy", "macro_f1"),
    "lr": ("lr",),
    "grad_norm": ("grad_norm",),
}
"""Panel of the page → the keys drawn in it."""


def page_data(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the page draws of a journal, ready for JSON; what a validation found is under "validation"."""
    flat = [{**one, **one.get("validation", {})} for one in records]
    lines = {key: curve_points(flat, key) for keys in PAGE_PANELS.values() for key in keys}
    return {
        "panels": [
            {"name": name, "lines": {key: round_points(lines[key]) for key in keys if lines[key]}}
            for name, keys in PAGE_PANELS.items()
            if any(lines[key] for key in keys)
        ]
    }


def round_points(curve: Curve) -> list[tuple[float, float]]:
    return [(round(step, 1), float(f"{value:.5g}")) for step, value in curve]


def curve_points(records: Sequence[Mapping[str, float]], key: str) -> Curve:
    """(step, value) where the record has a finite one, thinned to means of neighbours."""
    found = [(float(r["step"]), float(r[key])) for r in records if "step" in r and key in r]
    found = [(step, value) for step, value in found if math.isfinite(value)]
    size = math.ceil(len(found) / MAX_POINTS) or 1
    groups = [found[at : at + size] for at in range(0, len(found), size)]
    return [(fmean(step for step, _ in group), fmean(value for _, value in group)) for group in groups]


def describe_last(key: str, curve: Curve) -> str:
    return f"{key} {curve[-1][1]:.4g} at step {curve[-1][0]:.0f}"


def panel_svg(title: str, curves: Mapping[str, Curve], x_scale: AxisScale, top: float) -> str:
    shown = {key: curves[key] for key in SVG_PANELS[title] if curves[key]}
    values = [value for line in shown.values() for _, value in line]
    marks = ticks(min(values), max(values))
    up = AxisScale(marks[0], marks[-1], top + PANEL_HEIGHT, top)
    parts = [f'<text class="name" x="{MARGIN_LEFT}" y="{top - 14}">{title}</text>']
    parts += [
        f'<line x1="{MARGIN_LEFT}" x2="{WIDTH - MARGIN_RIGHT}" y1="{up(m):.1f}" y2="{up(m):.1f}"/>'
        f'<text x="{MARGIN_LEFT - 8}" y="{up(m) + 4:.1f}" text-anchor="end">{m:g}</text>'
        for m in marks
    ]
    parts += [
        f'<text x="{x_scale(m):.1f}" y="{top + PANEL_HEIGHT + 20}" text-anchor="middle">{m:,.0f}</text>'
        for m in ticks(x_scale.low, x_scale.high)
        if m <= x_scale.high and m == int(m)
    ]
    middle = (x_scale.start + x_scale.end) / 2
    parts.append(f'<text x="{middle}" y="{top + PANEL_HEIGHT + 36}" text-anchor="middle">step</text>')
    parts += [curve_svg(key, line, x_scale, up) for key, line in shown.items()]
    return "".join(parts) + legend_svg([(key, SVG_PANELS[title][key]) for key in shown], top - 14)


def curve_svg(key: str, curve: Curve, x_scale: AxisScale, y_scale: AxisScale) -> str:
    path = " ".join(f"{x_scale(step):.1f},{y_scale(value):.1f}" for step, value in curve)
    x, y = x_scale(curve[-1][0]), y_scale(curve[-1][1])
    # a single point has no line: the dot shows it
    return f'<polyline class="{key}" points="{path}"/><circle class="{key}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'


def legend_svg(names: Sequence[tuple[str, str]], y: float) -> str:
    parts = []
    for place, (key, name) in enumerate(reversed(names)):
        x = WIDTH - MARGIN_RIGHT - 96 * (place + 1)
        parts.append(f'<polyline class="{key}" points="{x},{y - 4} {x + 20},{y - 4}"/>')
        parts.append(f'<text x="{x + 28}" y="{y}">{name}</text>')
    return "".join(parts)


def ticks(low: float, high: float) -> list[float]:
    """About five round numbers that hold low and high between the first and the last."""
    size = max(1.0, abs(low), abs(high))
    # a curve that does not move still needs an axis
    raw = (high - low if high - low > 1e-6 * size else size) / 4
    unit = 10.0 ** math.floor(math.log10(raw))
    stride = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= raw * 0.999)
    first, last = math.floor(low / stride), math.ceil(high / stride)
    return [round(stride * n, 10) for n in range(first, max(last, first + 1) + 1)]
