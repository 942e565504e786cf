"""Figure of the ladders: BLEU against the length of the source, as figure 2 of Bahdanau et al. (2015).

    python benchmarks/ladder_figure.py            draw benchmarks/reports/ladder.svg and ladder.ko.svg again
    python benchmarks/ladder_figure.py --check    change nothing; exit 1 if a figure disagrees with the results

The values are the columns of lengths in benchmarks/results/ladder-phrasebook.json and ladder-multi30k.json.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # the style of the studies' figures

from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from studies.figures import line_styles, new_figure, render_figure  # noqa: E402
from studies.study import LANGUAGES, Language  # noqa: E402

LADDERS = {
    "ladder-phrasebook": "Phrasebook, English → Korean",
    "ladder-multi30k": "Multi30k, German → English",
}
"""Name of the results → title of its part."""
FIRST_UNSEEN = {"ladder-phrasebook": "11–15"}
"""First bin of sentences that are longer than any in training."""
BIN = re.compile(r"^([\d–]+) words$")


class LengthCurve(NamedTuple):
    """BLEU of a model by length of the source."""

    name: str
    bins: list[str]
    scores: list[float]


def length_curves(rows: list[dict[str, Any]]) -> list[LengthCurve]:
    """Return the curve of each model that reads a source."""
    curves = []
    for row in rows:
        scores = {match[1]: score for name, score in row["details"].items() if (match := BIN.match(name))}
        if scores and None not in scores.values():
            title = re.search(r"\((.*)\)", row["what"])
            curves.append(LengthCurve(title[1] if title else row["what"], list(scores), list(scores.values())))
    return curves


def draw_ladders(results: Path) -> Figure:
    figure, parts = new_figure(columns=len(LADDERS), width=6.2, height=4.2)
    for axes, (name, title) in zip(parts, LADDERS.items(), strict=True):
        rows = json.loads((results / f"{name}.json").read_text("utf-8"))["rows"]
        draw_curves(axes, length_curves(rows), FIRST_UNSEEN.get(name))
        axes.set_title(title)
    handles, labels = parts[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def draw_curves(axes: Axes, curves: list[LengthCurve], first_unseen: str | None) -> None:
    """Draw a line for each model; the lengths that training does not have are shaded."""
    bins = curves[0].bins
    for curve, style in zip(curves, line_styles(), strict=False):
        axes.plot(range(len(bins)), curve.scores, label=curve.name, **style._asdict())
    axes.set_xticks(range(len(bins)), bins, rotation=30)
    axes.set_xlabel("words of the source")
    axes.set_ylabel("BLEU")
    axes.set_ylim(bottom=0)
    if first_unseen:
        start = bins.index(first_unseen) - 0.5
        axes.axvspan(start, len(bins) - 0.5, color="#999999", alpha=0.15, linewidth=0)
        axes.set_xlim(-0.5, len(bins) - 0.5)
        axes.text(start + 0.1, 4, "longer than any in training", fontsize=10)


def figure_file(root: Path, language: Language) -> Path:
    return root / "benchmarks/reports" / ("ladder.svg" if language == "en" else f"ladder.{language}.svg")


def draw_figure(root: Path, language: Language) -> bytes:
    """Return the figure as SVG, with the same bytes for the same results."""
    return render_figure("ladder", lambda: draw_ladders(root / "benchmarks/results"), "svg", language)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit 1 if a figure disagrees with the results")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of benchmarks/")
    options = parser.parse_args()
    stale = 0
    for language in LANGUAGES:
        path, drawn = figure_file(options.root, language), draw_figure(options.root, language)
        if path.is_file() and path.read_bytes() == drawn:
            continue
        stale += 1
        if options.check:
            print(f"{path}: disagrees with the results. Run python benchmarks/ladder_figure.py", file=sys.stderr)
        else:
            path.write_bytes(drawn)
            print(f"{path}: drawn")
    return int(options.check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
