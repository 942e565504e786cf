"""Figures of the studies: one style, colors for color-blind readers, the same bytes for the same values.

Lines differ in color, dash and marker, so that a figure can be read in gray, too. Text is drawn as outlines: of the
font that matplotlib ships, and for Hangul of fonts/korean.otf (made by tools/korean_font.py). No date and no random
identifiers are written. A study draws its figure in English; the words of figure_words.py make it Korean.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from PIL import Image

from studies.figure_words import to_korean
from studies.intervals import Scale, scaled_interval
from studies.study import LANGUAGES, ROOT, Language, Study, Values

KOREAN_FONT = ROOT / "fonts/korean.otf"
FIGURE_FORMATS = ("svg", "png")

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
"""Okabe and Ito (2008), the strongest first, and gray."""
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 3)), (0, (4, 4)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.labelsize": 11,
    "legend.fontsize": 10,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 2.0,
    "lines.markersize": 6,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "path.simplify": False,
}


class LineStyle(NamedTuple):
    """Color, dash and marker of one line."""

    color: str
    linestyle: Any
    marker: str


def line_styles() -> Iterator[LineStyle]:
    """Yield a style for each line; there are eight different ones."""
    return (LineStyle(*style) for style in zip(cycle(COLORS), cycle(DASHES), cycle(MARKERS)))


def new_figure(
    columns: int = 1, rows: int = 1, *, width: float = 5.2, height: float = 3.8
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its axes, row by row; `width` and `height` in inches belong to one of them."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.flat)


def draw_seeds(
    axes: Axes,
    x: Sequence[float],
    seeds: Sequence[Sequence[float]],
    label: str,
    style: LineStyle,
    scale: Scale = "linear",
) -> None:
    """Draw a line of means with a band of 95 % intervals; `seeds` has the values of all seeds for each x."""
    intervals = [scaled_interval(values, scale) for values in seeds]
    axes.plot(x, [interval.mean for interval in intervals], label=label, **style._asdict())
    low, high = [interval.low for interval in intervals], [interval.high for interval in intervals]
    axes.fill_between(x, low, high, color=style.color, alpha=0.18, linewidth=0)


def use_log_scale(axes: Axes) -> None:
    """Give the y axis a logarithmic scale with plain numbers (2, 5, 10) if its values differ by a factor of 3."""
    low, high = axes.get_ylim()
    if low > 0 and high < 3 * low:
        return
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


@cache
def korean_font_name() -> str:
    """Add the Korean font to those of matplotlib, and return its name."""
    fontManager.addfont(KOREAN_FONT)
    return FontProperties(fname=KOREAN_FONT).get_name()


@contextmanager
def figure_style(name: str, language: Language = "en") -> Iterator[None]:
    """Apply the style of all studies; identifiers in the SVG depend on the name alone."""
    parameters: Any = mpl.rcParamsDefault | STYLE | {"svg.hashsalt": name}
    if language == "ko":
        parameters["font.family"] = [STYLE["font.family"], korean_font_name()]
    with mpl.rc_context(parameters):
        yield


def translate_figure(figure: Figure) -> None:
    """Replace the words of a figure by Korean ones: titles, axes, legends, notes, and labels of ticks."""
    figure.canvas.draw()  # labels of categories do not exist before
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            labels = [label.get_text() for label in axis.get_ticklabels()]
            korean = [to_korean(label) for label in labels]
            if korean != labels:
                axis.set_ticks(axis.get_ticklocs(), labels=korean)
    for text in figure.findobj(Text):
        text.set_text(to_korean(text.get_text()))


def render_figure(name: str, draw: Callable[[], Figure], file_format: str, language: Language = "en") -> bytes:
    """Return a figure as `svg` or `png`."""
    with figure_style(name, language):
        figure = draw()
        if language == "ko":
            translate_figure(figure)
        buffer = BytesIO()
        metadata = {"Date": None, "Creator": None} if file_format == "svg" else {"Software": None}
        figure.savefig(buffer, format=file_format, dpi=144, metadata=metadata)
    data = buffer.getvalue()
    if file_format == "svg":  # matplotlib ends some lines with a space
        return b"".join(line.rstrip() + b"\n" for line in data.splitlines())
    return data


def render(study: Study, values: Values, file_format: str, language: Language = "en") -> bytes:
    """Return the figure of a study as `svg` or `png`."""
    return render_figure(study.name, lambda: study.figure(values), file_format, language)


def figure_name(file_format: str, language: Language) -> str:
    return f"figure.{file_format}" if language == "en" else f"figure.{language}.{file_format}"


def is_current(path: Path, drawn: bytes) -> bool:
    """Return whether a file has this figure: the same bytes of an SVG, the same pixels of a PNG.

    The compression of a PNG may depend on the CPU.
    """
    if not path.is_file():
        return False
    if path.suffix == ".svg":
        return path.read_bytes() == drawn
    with Image.open(path) as old, Image.open(BytesIO(drawn)) as new:
        return old.size == new.size and old.convert("RGB").tobytes() == new.convert("RGB").tobytes()


def stale_figures(study: Study, values: Values) -> list[Path]:
    """Return the figures of a study that disagree with its results."""
    names = [(figure_name(suffix, language), suffix, language) for suffix in FIGURE_FORMATS for language in LANGUAGES]
    return [
        study.folder / name
        for name, suffix, language in names
        if not is_current(study.folder / name, render(study, values, suffix, language))
    ]


def write_figures(study: Study, values: Values, folder: Path) -> None:
    for language in LANGUAGES:
        for file_format in FIGURE_FORMATS:
            (folder / figure_name(file_format, language)).write_bytes(render(study, values, file_format, language))
