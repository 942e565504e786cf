"""Training curves: as an SVG image that follows the light or dark color scheme, and as data for the page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

Curve = Sequence[tuple[float, float]]

WIDTH, MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, PANEL_HEIGHT, PANEL_GAP = 720, 56, 32, 34, 220, 72
MAX_POINTS = 400
"""Longer curves are thinned to means of neighboring points: a curve has no more pixels."""
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
"""Title → the journal keys of its curves, each with its legend."""


@dataclass(frozen=True)
class AxisScale:
    """Linear scale from values to pixels: `low` maps to `start`, `high` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def curves_svg(records: Sequence[Mapping[str, float]]) -> str:
    """Return an SVG of loss, BLEU and learning rate over steps; a record holds `step` and any key of SVG_PANELS."""
    curves = {key: curve_points(records, key) for names in SVG_PANELS.values() for key in names}
    panels = [title for title, names in SVG_PANELS.items() if any(curves[key] for key in names)]
    height = MARGIN_TOP + max(len(panels), 1) * (PANEL_HEIGHT + PANEL_GAP) - PANEL_GAP + 44
    steps = [step for curve in curves.values() for step, _ in curve] or [0.0]
    x_scale = AxisScale(min(0.0, *steps), max(1.0, *steps), MARGIN_LEFT, WIDTH - MARGIN_RIGHT)
    body = [
        panel_svg(title, curves, x_scale, MARGIN_TOP + i * (PANEL_HEIGHT + PANEL_GAP)) for i, title in enumerate(panels)
    ]
    label = "; ".join(describe_last(key, curve) for key, curve in curves.items() if curve) or "nothing recorded yet"
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
"""Panel of the page → the journal keys of its curves."""


def page_data(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the page's data of a journal, ready for JSON; validation scores are nested under "validation"."""
    flat = [{**record, **record.get("validation", {})} for record in records]
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
    """Return (step, value) of the records with a finite value, thinned to means of neighboring points."""
    points = [(float(record["step"]), float(record[key])) for record in records if "step" in record and key in record]
    points = [(step, value) for step, value in points if math.isfinite(value)]
    size = math.ceil(len(points) / MAX_POINTS) or 1
    groups = [points[i : i + size] for i in range(0, len(points), size)]
    return [(fmean(step for step, _ in group), fmean(value for _, value in group)) for group in groups]


def describe_last(key: str, curve: Curve) -> str:
    return f"{key} {curve[-1][1]:.4g} at step {curve[-1][0]:.0f}"


def panel_svg(title: str, curves: Mapping[str, Curve], x_scale: AxisScale, top: float) -> str:
    shown = {key: curves[key] for key in SVG_PANELS[title] if curves[key]}
    values = [value for curve in shown.values() for _, value in curve]
    y_ticks = ticks(min(values), max(values))
    y_scale = AxisScale(y_ticks[0], y_ticks[-1], top + PANEL_HEIGHT, top)
    parts = [f'<text class="name" x="{MARGIN_LEFT}" y="{top - 14}">{title}</text>']
    for tick in y_ticks:
        y = y_scale(tick)
        parts.append(f'<line x1="{MARGIN_LEFT}" x2="{WIDTH - MARGIN_RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{MARGIN_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    parts += [
        f'<text x="{x_scale(tick):.1f}" y="{top + PANEL_HEIGHT + 20}" text-anchor="middle">{tick:,.0f}</text>'
        for tick in ticks(x_scale.low, x_scale.high)
        if tick <= x_scale.high and tick == int(tick)
    ]
    middle = (x_scale.start + x_scale.end) / 2
    parts.append(f'<text x="{middle}" y="{top + PANEL_HEIGHT + 36}" text-anchor="middle">step</text>')
    parts += [curve_svg(key, curve, x_scale, y_scale) for key, curve in shown.items()]
    return "".join(parts) + legend_svg([(key, SVG_PANELS[title][key]) for key in shown], top - 14)


def curve_svg(key: str, curve: Curve, x_scale: AxisScale, y_scale: AxisScale) -> str:
    path = " ".join(f"{x_scale(step):.1f},{y_scale(value):.1f}" for step, value in curve)
    x, y = x_scale(curve[-1][0]), y_scale(curve[-1][1])
    # a curve of a single point has no line; the dot shows it
    return f'<polyline class="{key}" points="{path}"/><circle class="{key}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'


def legend_svg(names: Sequence[tuple[str, str]], y: float) -> str:
    parts = []
    for i, (key, name) in enumerate(reversed(names)):
        x = WIDTH - MARGIN_RIGHT - 96 * (i + 1)
        parts.append(f'<polyline class="{key}" points="{x},{y - 4} {x + 20},{y - 4}"/>')
        parts.append(f'<text x="{x + 28}" y="{y}">{name}</text>')
    return "".join(parts)


def ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers; low and high lie between the first and the last."""
    size = max(1.0, abs(low), abs(high))
    # a constant curve still needs an axis
    raw = (high - low if high - low > 1e-6 * size else size) / 4
    unit = 10.0 ** math.floor(math.log10(raw))
    stride = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= raw * 0.999)
    first, last = math.floor(low / stride), math.ceil(high / stride)
    return [round(stride * i, 10) for i in range(first, max(last, first + 1) + 1)]
