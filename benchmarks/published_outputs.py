"""Published outputs of real systems, rescored: BLEU and chrF against the figures in the data's own README.

    python benchmarks/published_outputs.py                   the 15 systems of LAFAND-MT (Adelani et al. 2022)
    python benchmarks/published_outputs.py --record          write the rows to benchmarks/results/statistics.json

The figures are read from the table in README.md of --folder. A score that differs by more than 0.1 is an error.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from machine import machine
from record import Measurement, add_options, record, to_number, to_slug

from tongsa.data.corpus import read_lines
from tongsa.errors import InputError
from tongsa.evaluation.metric_statistics import metric_statistics
from tongsa.evaluation.significance import bootstrap_interval

SHARED_DATA = Path(__file__).parent.parent.parent / "shared/data"
FILES = {
    "mT5-base": "mt5",
    "ByT5-base": "byt5",
    "mBART50": "mbart50",
    "M2M-100 418M": "m2m100",
    "Transformer, religious + news": "transformer-rel-news",
}
"""Columns of the table, and the names of their files."""
TOLERANCE = 0.1


class Published(NamedTuple):
    direction: str
    system: str
    bleu: float
    chrf: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=SHARED_DATA, help="folder of the data sets")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_options(parser)
    options = parser.parse_args()
    try:
        rows = [rescore(published, options.folder) for published in read_published(options.folder / "README.md")]
    except (InputError, OSError) as error:
        print(f"published_outputs: {error}", file=sys.stderr)
        return 2
    print(json.dumps({"rows": rows, "machine": machine()}, ensure_ascii=False) if options.json else as_text(rows))
    if options.record:
        record("statistics", [measurement(row) for row in rows], options.results)
    return int(any(row["difference"] > TOLERANCE for row in rows))


def read_published(readme: Path) -> Iterator[Published]:
    """Yield the cells of the table below the heading `lafand-mt`: BLEU / chrF of each direction and system."""
    _, heading, section = readme.read_text("utf-8").partition("## lafand-mt\n")
    table = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
    if not heading or len(table) < 3:
        raise InputError(f"{readme}: no table of LAFAND-MT. Give the folder of the data sets with --folder.")
    header, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in table)
    for direction, *cells in lines:
        for system, cell in zip(header[1:], cells, strict=True):
            bleu, chrf = map(float, cell.split("/"))
            yield Published(direction, system, bleu, chrf)


def rescore(published: Published, folder: Path) -> dict[str, Any]:
    source, target = re.split("→", published.direction)
    data = folder / f"lafand-mt/{source}-{target}"
    files = (data / f"test.{source}", data / f"published/{FILES[published.system]}.{target}", data / f"test.{target}")
    sources, outputs, references = (list(read_lines(file)) for file in files)
    row: dict[str, Any] = published._asdict() | {"sentences": len(sources), "difference": 0.0}
    for name, figure in (("bleu", published.bleu), ("chrf", published.chrf)):
        statistics = metric_statistics(name, sources, outputs, references)
        row |= {f"our {name}": statistics.value(), f"{name} interval": bootstrap_interval(statistics)}
        row["difference"] = max(row["difference"], abs(round(statistics.value(), 1) - figure))
    return row


def as_text(rows: list[dict[str, Any]]) -> str:
    lines = ["| direction | system | README, BLEU / chrF | rescored | difference |", "|---|---|--:|--:|--:|"]
    for row in rows:
        ours = f"{row['our bleu']:.2f} / {row['our chrf']:.2f}"
        figures = f"{row['bleu']} / {row['chrf']} | {ours} | {row['difference']:.1f}"
        lines.append(f"| {row['direction']} | {row['system']} | {figures} |")
    return "\n".join(lines)


def measurement(row: dict[str, Any]) -> Measurement:
    low, high = row["bleu interval"]
    chrf = row["chrf interval"]
    return Measurement(
        id=to_slug(f"published-{row['direction'].replace('→', '-')}-{row['system']}"),
        table="published",
        what=f"{row['direction']}, {row['system']}",
        value=to_number(row["our bleu"], 2),
        unit="BLEU",
        baseline="README of the data",
        baseline_value=to_number(row["bleu"], 1),
        details={
            "95 % interval": f"{low:.1f}–{high:.1f}",
            "chrF": to_number(row["our chrf"], 2),
            "chrF in the README": to_number(row["chrf"], 1),
            "95 % interval of chrF": f"{chrf[0]:.1f}–{chrf[1]:.1f}",
            "sentences": row["sentences"],
        },
    )


if __name__ == "__main__":
    sys.exit(main())
