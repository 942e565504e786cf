"""BLEU against sentences per second for models, engines and beams: a table and an SVG picture.

    python benchmarks/pareto.py runs/multi30k runs/fast --picture benchmarks/pareto.svg

Each run is decoded by torch, CTranslate2 and CTranslate2 int8 with each beam, in batches, from text to text; int8 also
with the run's shortlist, if it has one (`tongsa shortlist`). The contestants take turns; speeds are medians. The
baseline is the first run with torch and the widest beam: the others are compared by speed and by a paired bootstrap of
BLEU (Koehn 2004, section 3.3). The Pareto curve joins the contestants that no other beats in both speed and BLEU.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import log10
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch
from machine import machine
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from tongsa import bundle
from tongsa.data.corpus import read_lines
from tongsa.decoding.engines.ctranslate2 import CTranslate2Engine
from tongsa.decoding.translator import Translator
from tongsa.errors import InputError
from tongsa.evaluation.metrics import bleu_tokenizer
from tongsa.export import export

DATA = Path(__file__).parent.parent.parent / "shared/data/multi30k"
SAMPLES = 1000
"""Resamples of the paired bootstrap."""
Table = dict[str, Any]


@dataclass
class Contestant:
    run: str
    engine: str
    beam: int
    translator: Translator
    outputs: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.run}, {self.engine}, beam {self.beam}"

    def measure(self, texts: list[str]) -> None:
        start = perf_counter()
        self.outputs = [result.text for result in self.translator.translate(texts, beam=self.beam)]
        self.seconds.append(perf_counter() - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs; the first is the baseline")
    parser.add_argument("--data", nargs=2, type=Path, metavar=("SOURCE", "TARGET"), help="default: Multi30k's test")
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 2, 5])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--picture", type=Path, metavar="FILE", help="an SVG")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    try:
        report = run_benchmark(options)
    except InputError as error:
        print(f"pareto: {error}", file=sys.stderr)
        return 2
    if options.picture:
        options.picture.write_text(picture(report["contestants"]), "utf-8")
    print(json.dumps(report, ensure_ascii=False) if options.json else as_text(report))
    return 0


def run_benchmark(options: argparse.Namespace) -> Table:
    files = options.data or [DATA / f"test_2016_flickr.{side}" for side in ("de", "en")]
    texts, references = (list(read_lines(path)) for path in files)
    if len(texts) != len(references):
        raise InputError(f"{files[0]} has {len(texts)} lines, {files[1]} has {len(references)}. Give parallel files.")
    metric = BLEU(tokenize=bleu_tokenizer(bundle.load_bundle(options.runs[0]).target_language))
    with tempfile.TemporaryDirectory() as folder:
        entries = contestants(options, Path(folder))
        for entry in entries:
            entry.translator.translate(texts[:32], beam=entry.beam)  # warm-up
        for number in range(options.rounds):
            for entry in entries:
                entry.measure(texts)
                print(f"round {number + 1}  {entry.name:40} {entry.seconds[-1]:8.2f} s", file=sys.stderr, flush=True)
    baseline = next(entry for entry in entries if entry.engine == "torch" and entry.beam == max(options.beams))
    rows = [make_row(entry, baseline, references, metric) for entry in entries]
    for row in rows:
        row["best"] = not any(is_dominated(row, other) for other in rows)
    return {
        "contestants": rows,
        "baseline": baseline.name,
        "signature": str(metric.get_signature()),
        "sentences": len(texts),
        "rounds": options.rounds,
        "machine": machine() | {"threads": torch.get_num_threads()},
    }


def contestants(options: argparse.Namespace, folder: Path) -> list[Contestant]:
    entries = []
    for run in options.runs:
        loaded = bundle.load_bundle(run)
        engines = {"torch": None, "CTranslate2": False, "CTranslate2 int8": True}
        if loaded.load_shortlist():
            engines[WITH_SHORTLIST] = True
        for name, int8 in engines.items():
            engine, config = None, replace(loaded.decoding, shortlist=name == WITH_SHORTLIST)
            if int8 is not None:
                path = export(run, "ctranslate2", folder / f"{run.name}-{name}", int8=int8)
                engine = CTranslate2Engine(path, torch.get_num_threads(), loaded.shortlist_sha256)
            translator = Translator(
                loaded.model,
                loaded.source_tokenizer,
                loaded.target_tokenizer,
                config,
                engine=engine,
                load_shortlist=loaded.load_shortlist,
            )
            entries += [Contestant(run.name, name, beam, translator) for beam in options.beams]
    return entries


def make_row(entry: Contestant, baseline: Contestant, references: list[str], metric: BLEU) -> Table:
    ratios = [theirs / mine for mine, theirs in zip(entry.seconds, baseline.seconds, strict=True)]
    figures: Table = {
        "name": entry.name,
        "run": entry.run,
        "bleu": round(metric.corpus_score(entry.outputs, [references]).score, 2),
        "sentences_per_second": round(len(references) / median(entry.seconds), 1),
        "times_baseline": round(median(ratios), 2),
    }
    if entry is not baseline:
        figures["p"] = significance(baseline.outputs, entry.outputs, references)
    return figures


def significance(baseline: Sequence[str], other: Sequence[str], references: Sequence[str]) -> float | None:
    """Return the p-value of the BLEU difference by paired bootstrap."""
    if list(baseline) == list(other):
        return 1.0  # sacreBLEU counts only larger differences
    systems = [("baseline", list(baseline)), ("other", list(other))]
    test = PairedTest(
        systems, {"BLEU": BLEU(references=[list(references)])}, references=None, test_type="bs", n_samples=SAMPLES
    )
    _, scores = test()
    p = scores["BLEU"][1].p_value
    return None if p is None else round(float(p), 4)


def is_dominated(entry: Table, other: Table) -> bool:
    """Return whether the other is at least as good in speed and BLEU, and better in one of them."""
    faster = other["sentences_per_second"] - entry["sentences_per_second"]
    better = other["bleu"] - entry["bleu"]
    return bool(faster >= 0 and better >= 0 and (faster > 0 or better > 0))


def as_text(report: Table) -> str:
    host = report["machine"]
    lines = [
        f"{report['sentences']:,} sentences, {report['rounds']} rounds; {host['cpu']}, {host['threads']} threads, "
        f"torch {host['torch']}, {host['date']}; {report['signature']}",
        "",
        "| run, engine, beam | BLEU | p | sentences/s | × | on the curve |",
        "|---|--:|--:|--:|--:|:-:|",
    ]
    for row in sorted(report["contestants"], key=lambda row: row["sentences_per_second"]):
        p = "–" if row.get("p") is None else f"{row['p']:.3f}"
        lines.append(
            f"| {row['name']} | {row['bleu']:.2f} | {p} | {row['sentences_per_second']:,.0f} | "
            f"{row['times_baseline']:.2f} | {'●' if row['best'] else ''} |"
        )
    return "\n".join([*lines, "", f"p and × are against: {report['baseline']}"])


WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 56, 24, 24, 52
COLORS = ("#1f5fb4", "#c2571a", "#2a8a57", "#8a4fb4")
WITH_SHORTLIST = "CTranslate2 int8 with shortlist"
SHAPES = {"torch": "circle", "CTranslate2": "square", "CTranslate2 int8": "diamond", WITH_SHORTLIST: "pill"}
GREY = "#7a828d"
STYLE = """text.beam { font-size: 10px; font-weight: 600; fill: #fff !important; text-anchor: middle }
text { font: 12px system-ui, sans-serif; fill: #5b636e } .paper { fill: #fff } line { stroke: #e4e6ea }
polyline { fill: none; stroke: #9aa5b5; stroke-width: 1.5; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) { .paper { fill: #0f1217 } text { fill: #9aa4b2 } line { stroke: #2a313b } }"""


def mark(x: float, y: float, shape: str, color: str, letter: str = "", title: str = "") -> str:
    """Return a marker: shape by engine, color by run, the beam as its text."""
    rotation = f' transform="rotate(45 {x:.1f} {y:.1f})"' if shape == "diamond" else ""
    corner = f'x="{x - 7.5:.1f}" y="{y - 7.5:.1f}" width="15" height="15"'
    if shape == "pill":
        corner = f'x="{x - 11:.1f}" y="{y - 6.5:.1f}" width="22" height="13" rx="6.5"'
    element = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8.5"' if shape == "circle" else f"<rect {corner}{rotation}"
    inside = f'<text class="beam" x="{x:.1f}" y="{y + 3.5:.1f}">{letter}</text>' if letter else ""
    return f'<g>{element} fill="{color}" fill-opacity="0.85"/>{inside}<title>{title}</title></g>'


def picture(rows: list[Table]) -> str:
    """Return an SVG: sentences per second (log scale) to the right, BLEU upwards, the Pareto curve dashed."""
    speeds, scores = [row["sentences_per_second"] for row in rows], [row["bleu"] for row in rows]
    low, high = min(scores) - 0.75, max(scores) + 0.25
    slow, fast = log10(min(speeds)) - 0.05, log10(max(speeds)) + 0.05

    def x_position(speed: float) -> float:
        return LEFT + (log10(speed) - slow) / (fast - slow) * (WIDTH - LEFT - RIGHT)

    def y_position(score: float) -> float:
        return HEIGHT - BOTTOM - (score - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>']
    for speed in (speed for power in (1, 10, 100, 1000) for speed in (power, 2 * power, 5 * power)):
        if slow <= log10(speed) <= fast:
            x = f"{x_position(speed):.1f}"
            parts.append(f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
            parts.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{speed:,}</text>')
    for score in range(int(low) + 1, int(high) + 1):
        y = f"{y_position(score):.1f}"
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y}" dy="4" text-anchor="end">{score}</text>')
    curve = sorted((row["sentences_per_second"], row["bleu"]) for row in rows if row["best"])
    parts.append(f'<polyline points="{" ".join(f"{x_position(x):.1f},{y_position(y):.1f}" for x, y in curve)}"/>')
    runs, engines = (list(dict.fromkeys(row["name"].split(", ")[i] for row in rows)) for i in (0, 1))
    for row in rows:
        run, engine, beam = row["name"].split(", ")
        point = x_position(row["sentences_per_second"]), y_position(row["bleu"])
        parts.append(mark(*point, SHAPES[engine], COLORS[runs.index(run) % 4], beam.split()[1], row["name"]))
    legend = [
        *((run, "circle", COLORS[i % 4]) for i, run in enumerate(runs)),
        *((e, SHAPES[e], GREY) for e in engines),
    ]
    for i, (name, shape, color) in enumerate([*legend, ("number: the beam", "", "")]):
        x, y = LEFT + 20, HEIGHT - BOTTOM - 14 - 21 * (len(legend) - i)
        parts.append(mark(x, y, shape, color) if shape else "")
        parts.append(f'<text x="{x + 16}" y="{y + 4}">{name}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 12}" text-anchor="middle">sentences per second</text>')
    parts.append(f'<text x="{LEFT}" y="{TOP - 8}">BLEU</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="BLEU against sentences per second"><style>{STYLE}</style>{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    sys.exit(main())
