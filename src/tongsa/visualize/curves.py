"""Training curves of one or several runs: an SVG image that follows the color scheme, and data for the page."""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from tongsa.errors import InputError
from tongsa.storage import write_text
from tongsa.training.journal import read_journal

Curve = Sequence[tuple[float, float]]
"""Points (step, value)."""
Records = Sequence[Mapping[str, Any]]
"""Records of a journal; validation scores are nested under "validation"."""

WIDTH, MARGIN_LEFT, MARGIN_RIGHT, MARGIN_TOP, PANEL_HEIGHT, PANEL_GAP = 720, 56, 32, 34, 220, 72
LEGEND_LINE_HEIGHT = 18
MAX_POINTS = 400
"""Longer curves are thinned to means of neighboring points: a curve has no more pixels."""
LIGHT_COLORS = ("#1f5fb4", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#0e7490")
DARK_COLORS = ("#8ab8f5", "#fb923c", "#4ade80", "#d8b4fe", "#fde047", "#67e8f9")
"""Color of each run in a comparison, repeated if there are more runs."""


def run_color(index: int) -> str:
    """Return the name of the CSS variable with the color of a run."""
    return f"run{index % len(LIGHT_COLORS)}"


CSS = """
.tongsa-curves { font: 12px system-ui, "Apple SD Gothic Neo", "Malgun Gothic", "Noto Sans CJK KR", sans-serif;
  --paper: #fff; --ink: #1c2024; --quiet: #5b636e; --rule: #e4e6ea; --training: #9aa5b5; LIGHT }
@media (prefers-color-scheme: dark) { .tongsa-curves {
  --paper: #0f1217; --ink: #e6e9ee; --quiet: #9aa4b2; --rule: #2a313b; --training: #76818f; DARK } }
.tongsa-curves rect { fill: var(--paper); }
.tongsa-curves text { fill: var(--quiet); font-variant-numeric: tabular-nums; }
.tongsa-curves text.name { fill: var(--ink); font-weight: 600; }
.tongsa-curves line { stroke: var(--rule); }
.tongsa-curves polyline { fill: none; stroke-width: 1.75; stroke-linejoin: round; stroke-linecap: round; }
.tongsa-curves polyline.thin { stroke-width: 1; opacity: 0.5; }
""".replace("LIGHT", " ".join(f"--{run_color(i)}: {color};" for i, color in enumerate(LIGHT_COLORS))).replace(
    "DARK", " ".join(f"--{run_color(i)}: {color};" for i, color in enumerate(DARK_COLORS))
)
TRAINING_KEYS = ("loss", "lr")
"""Keys of the updates; the others are scores of validations."""
SCORE_TITLES = {
    "bleu": "BLEU",
    "accuracy": "Accuracy",
    "chrf": "chrF",
    "ter": "TER",
    "exact_match": "Exact match",
    "wer": "WER",
    "per": "PER",
}
"""Validation scores in order of preference: the image shows the first one that the runs have."""


@dataclass(frozen=True)
class AxisScale:
    """Linear scale from values to pixels: `low` maps to `start`, `high` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


class Line(NamedTuple):
    """A curve of the image: its key in the journal, its color and its points."""

    key: str
    color: str
    is_thin: bool
    points: Curve


@dataclass(frozen=True)
class Curves:
    """Training curves of one or several runs. A notebook displays them; `save` writes an SVG file."""

    journals: Mapping[str, Records]
    """Name of each run and the records of its journal."""

    def __repr__(self) -> str:
        """Return the last values of each run, for a notebook or a log."""
        last_values = (describe_last(name, flatten(records)) for name, records in self.journals.items())
        return f"<Curves: {'; '.join(last_values)}>"

    @property
    def keys(self) -> list[str]:
        """The keys that `points` accepts, in the order of the journals."""
        records = [record for journal in self.journals.values() for record in flatten(journal)]
        numbers = (key for record in records for key, value in record.items() if type(value) in (int, float))
        return [key for key in dict.fromkeys(numbers) if key != "step"]

    def points(self, key: str) -> dict[str, list[tuple[float, float]]]:
        """Return (step, value) of a journal key such as "loss", "dev_loss" or "bleu", for each run that has it."""
        if key not in (keys := self.keys):
            remedy = f"Choose from {', '.join(keys)}." if keys else "Nothing is recorded yet: try again later."
            raise InputError(f"curves: no {key!r} in the journal. {remedy}")
        curves = {name: _points(flatten(records), key) for name, records in self.journals.items()}
        return {name: points for name, points in curves.items() if points}

    @property
    def svg(self) -> str:
        return curves_svg(self.journals)

    def save(self, path: str | Path) -> Path:
        """Write the SVG image atomically."""
        if Path(path).suffix.lower() != ".svg":
            raise InputError(f"{path}: the image is an SVG. Write {Path(path).with_suffix('.svg')}")
        write_text(Path(path), self.svg)
        return Path(path)

    def _repr_svg_(self) -> str:
        return self.svg


def read_curves(runs: str | Path | Sequence[str | Path]) -> Curves:
    """Return the training curves of a run, or of several runs to compare them."""
    folders = [Path(run) for run in ([runs] if isinstance(runs, str | Path) else runs)]
    if not folders:
        raise InputError("curves: no run. Give the folder of a run, or a list of folders.")
    names = [folder.resolve().name for folder in folders]
    journals = {}
    for folder, name in zip(folders, names, strict=True):
        path = folder / "journal.jsonl"
        if not path.is_file():
            raise InputError(f"{folder}: no journal.jsonl here. Give the folder of a run.")
        journals[name if names.count(name) == 1 else str(folder)] = read_journal(path)
    return Curves(journals)


def curves_svg(journals: Mapping[str, Records]) -> str:
    """Return an SVG of loss, score and learning rate over steps.

    The curves of one run differ in color by key; those of several runs by run.
    """
    flat = {name: flatten(records) for name, records in journals.items()}
    panels = {title: lines for title, keys in _panel_keys(flat).items() if (lines := _panel_lines(flat, keys))}
    legend = list(flat) if len(flat) > 1 else []
    height = MARGIN_TOP + max(len(panels), 1) * (PANEL_HEIGHT + PANEL_GAP) - PANEL_GAP + 44
    steps = [step for lines in panels.values() for line in lines for step, _ in line.points] or [0.0]
    x_scale = AxisScale(min(0.0, *steps), max(1.0, *steps), MARGIN_LEFT, WIDTH - MARGIN_RIGHT)
    body = [
        panel_svg(title, lines, x_scale, MARGIN_TOP + i * (PANEL_HEIGHT + PANEL_GAP), names_keys=not legend)
        for i, (title, lines) in enumerate(panels.items())
    ]
    body += [run_legend_svg(name, i, height + (i + 0.5) * LEGEND_LINE_HEIGHT) for i, name in enumerate(legend)]
    label = html.escape("; ".join(describe_last(*item) for item in flat.items()))
    if not panels:
        body = [f'<text x="{WIDTH / 2}" y="{height / 2}" text-anchor="middle">nothing recorded yet</text>']
    height += (len(legend) + 1) * LEGEND_LINE_HEIGHT if legend else 0
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tongsa-curves" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" style="max-width:100%;height:auto" '
        f'role="img" aria-label="{label}">'
        f'<style>{CSS}</style><rect width="100%" height="100%"/>{"".join(body)}</svg>\n'
    )


def flatten(records: Records) -> list[dict[str, Any]]:
    """Return the records with the validation scores at the top level."""
    return [{**record, **record.get("validation", {})} for record in records]


def _panel_keys(flat: Mapping[str, Records]) -> dict[str, tuple[str, ...]]:
    """Return the title of each panel and the keys of its curves."""
    keys = {key for records in flat.values() for record in records for key in record}
    score = next((key for key in SCORE_TITLES if key in keys), "bleu")
    return {"Loss": ("loss", "dev_loss"), SCORE_TITLES[score]: (score,), "Learning rate": ("lr",)}


def _panel_lines(flat: Mapping[str, Records], keys: Sequence[str]) -> list[Line]:
    compares = len(flat) > 1
    lines = []
    for i, records in enumerate(flat.values()):
        for key in keys:
            is_training = key in TRAINING_KEYS
            color = run_color(i) if compares or not is_training else "training"
            # in a comparison the noisy training loss must not hide the validation losses
            is_thin = compares and key == "loss"
            if points := curve_points(records, key):
                lines.append(Line(key, color, is_thin, points))
    return lines


PAGE_PANELS = {
    "loss": ("loss", "dev_loss"),
    "score": ("bleu", "chrf", "exact_match", "accuracy", "macro_f1"),
    "lr": ("lr",),
    "grad_norm": ("grad_norm",),
}
"""Panel of the page → the journal keys of its curves."""


def page_data(journals: Mapping[str, Records]) -> dict[str, Any]:
    """Return the page's data of one or several runs by name, ready for JSON."""
    flat = {name: flatten(records) for name, records in journals.items()}
    panels = [
        {
            "name": panel,
            "lines": [
                {"key": key, "run": run, "points": round_points(points)}
                for run, name in enumerate(flat)
                for key in keys
                if (points := curve_points(flat[name], key))
            ],
        }
        for panel, keys in PAGE_PANELS.items()
    ]
    return {"runs": list(flat), "panels": [panel for panel in panels if panel["lines"]]}


def round_points(curve: Curve) -> list[tuple[float, float]]:
    return [(round(step, 1), float(f"{value:.5g}")) for step, value in curve]


def curve_points(records: Records, key: str) -> Curve:
    """Return (step, value) of the records with a finite value, thinned to means of neighboring points."""
    points = _points(records, key)
    size = math.ceil(len(points) / MAX_POINTS) or 1
    groups = [points[i : i + size] for i in range(0, len(points), size)]
    return [(fmean(step for step, _ in group), fmean(value for _, value in group)) for group in groups]


def _points(records: Records, key: str) -> list[tuple[float, float]]:
    points = [(float(record["step"]), float(record[key])) for record in records if "step" in record and key in record]
    return [(step, value) for step, value in points if math.isfinite(value)]


def describe_last(name: str, records: Records) -> str:
    """Return the name of a run and the last value of each of its curves, for readers who cannot see the image."""
    curves = {key: _points(records, key) for key in ("loss", "dev_loss", *SCORE_TITLES)}
    values = [f"{key} {curve[-1][1]:.4g} at step {curve[-1][0]:.0f}" for key, curve in curves.items() if curve]
    return f"{name}: {', '.join(values) or 'nothing recorded yet'}"


def panel_svg(title: str, lines: Sequence[Line], x_scale: AxisScale, top: float, *, names_keys: bool) -> str:
    values = [value for line in lines for _, value in line.points]
    y_ticks = ticks(min(values), max(values))
    y_scale = AxisScale(y_ticks[0], y_ticks[-1], top + PANEL_HEIGHT, top)
    has_thin = not names_keys and title == "Loss"
    note = " (thin: training, thick: validation)" if has_thin else ""
    parts = [f'<text class="name" x="{MARGIN_LEFT}" y="{top - 14}">{title}{note}</text>']
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
    parts += [line_svg(line, x_scale, y_scale) for line in lines]
    return "".join(parts) + (key_legend_svg(lines, top - 14) if names_keys else "")


def line_svg(line: Line, x_scale: AxisScale, y_scale: AxisScale) -> str:
    path = " ".join(f"{x_scale(step):.1f},{y_scale(value):.1f}" for step, value in line.points)
    x, y = x_scale(line.points[-1][0]), y_scale(line.points[-1][1])
    css_class = f"{line.key} thin" if line.is_thin else line.key
    polyline = f'<polyline class="{css_class}" style="stroke:var(--{line.color})" points="{path}"/>'
    # a curve of a single point has no line; the dot shows it
    return f'{polyline}<circle style="fill:var(--{line.color})" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'


def key_legend_svg(lines: Sequence[Line], y: float) -> str:
    """Return the legend of one run's panel: training or validation."""
    parts = []
    for i, line in enumerate(reversed(lines)):
        x = WIDTH - MARGIN_RIGHT - 96 * (i + 1)
        parts.append(f'<polyline style="stroke:var(--{line.color})" points="{x},{y - 4} {x + 20},{y - 4}"/>')
        parts.append(f'<text x="{x + 28}" y="{y}">{"training" if line.key in TRAINING_KEYS else "validation"}</text>')
    return "".join(parts)


def run_legend_svg(name: str, index: int, y: float) -> str:
    """Return a line of the legend of a comparison: color and name of a run."""
    color, x = run_color(index), MARGIN_LEFT
    sample = f'<polyline style="stroke:var(--{color})" points="{x},{y - 4} {x + 20},{y - 4}"/>'
    return f'{sample}<text x="{x + 28}" y="{y}">{html.escape(name)}</text>'


def ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers; low and high lie between the first and the last."""
    size = max(1.0, abs(low), abs(high))
    # a constant curve still needs an axis
    raw = (high - low if high - low > 1e-6 * size else size) / 4
    unit = 10.0 ** math.floor(math.log10(raw))
    stride = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= raw * 0.999)
    first, last = math.floor(low / stride), math.ceil(high / stride)
    return [round(stride * i, 10) for i in range(first, max(last, first + 1) + 1)]
