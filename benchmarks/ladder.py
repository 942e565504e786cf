"""The models of the papers on public data sets: `tongsa ladder`, and language models of characters.

    python benchmarks/ladder.py phrasebook           `make ladder`: the demo's pairs, BLEU on characters
    python benchmarks/ladder.py multi30k             German → English, BLEU on test_2016_flickr
    python benchmarks/ladder.py scan                 four splits of SCAN, exact match; tokens are whole words
    python benchmarks/ladder.py jaen                 neubig/nmt-tips, Japanese → English, BLEU on its tokens
    python benchmarks/ladder.py characters           names and Shakespeare: nats per character
    python benchmarks/ladder.py scan --splits jump --budget 1m --seeds 1
    python benchmarks/ladder.py multi30k --record    write the rows to benchmarks/results/ladder-multi30k.json

The runs are in runs/benchmark-ladder, those of the phrasebook in runs/ladder; the same command continues after an
interruption. A value is the mean over the seeds, its spread the lowest and the highest seed.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from statistics import fmean
from typing import Any

from machine import machine
from record import Measurement, Number, add_options, record, to_number, to_slug, to_spread

from tongsa import storage
from tongsa.bundle import load_bundle
from tongsa.data.normalize import normalize
from tongsa.demo.phrasebook import write_phrasebook
from tongsa.errors import InputError
from tongsa.runs.grid import GridRun, describe_failures, train_grid
from tongsa.runs.grid_plan import DataFiles, GridPlan, Vary
from tongsa.runs.ladder import DEFAULT_BUDGET, MODELS, LadderPlan, train_ladder
from tongsa.runs.ladder_report import LadderReport, LadderScore

SHARED_DATA = Path(__file__).parent.parent.parent / "shared/data"
UNITS = {"bleu": "BLEU on test", "exact_match": "% exact match on test", "perplexity": "perplexity on test"}
TRANSLATORS = tuple(model.name for model in MODELS["seq2seq"] if model.name != "rnn-lm")


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Files, settings and default budget of a data set."""

    files: DataFiles
    """Paths in the folder of the data sets; empty for the demo's pairs."""
    budget: str
    settings: tuple[str, ...] = ()
    tokenize: str = ""
    models: tuple[str, ...] = ()
    """Models of the ladder; by default all."""
    published: tuple[tuple[str, str, float], ...] = ()
    """Model, source and score that others published."""


TUTORIAL = "pytorch-seq2seq notebook, lower-cased spaCy tokens"
MULTI30K = Dataset(
    files=DataFiles(
        train=("multi30k/train.de.gz", "multi30k/train.en.gz"),
        dev=("multi30k/val.de", "multi30k/val.en"),
        test=("multi30k/test_2016_flickr.de", "multi30k/test_2016_flickr.en"),
    ),
    budget="10m",
    settings=("data.source_language=de", "data.target_language=en", "decoding.split_sentences=false"),
    published=(
        ("sutskever", TUTORIAL, 13.76),
        ("cho", TUTORIAL, 20.61),
        ("bahdanau", TUTORIAL, 28.30),
        ("conv-s2s", TUTORIAL, 34.14),
        ("transformer", TUTORIAL, 36.52),
    ),
)
JAEN = Dataset(
    files=DataFiles(
        train=("nmt-tips-jaen/train.ja", "nmt-tips-jaen/train.en"),
        dev=("nmt-tips-jaen/dev.ja", "nmt-tips-jaen/dev.en"),
        test=("nmt-tips-jaen/test.ja", "nmt-tips-jaen/test.en"),
    ),
    budget="5m",
    settings=("data.source_language=ja", "data.target_language=en", "decoding.split_sentences=false"),
    tokenize="none",
    published=(
        ("cho", "nmt-tips, encoder-decoder", 1.76),
        ("bahdanau", "nmt-tips, attention", 2.17),
        ("transformer", "nmt-tips, its best ensemble", 10.99),
    ),
)


def scan(split: str) -> Dataset:
    """Return a split of SCAN: whole words as tokens, greedy search, long outputs for short commands."""
    return Dataset(
        files=DataFiles(train=(f"scan/{split}-train.tsv.gz",), test=(f"scan/{split}-test.tsv.gz",)),
        budget="3m",
        settings=(
            *("tokenizer.model=word", "tokenizer.shared=false", 'data.metrics=["exact_match"]'),
            *("data.max_length_ratio=0", "decoding.beam=1", "decoding.split_sentences=false"),
            *("data.source_language=en", "data.target_language=en"),
        ),
        models=TRANSLATORS,
    )


SUITES = {
    "phrasebook": {"phrasebook": Dataset(files=DataFiles(), budget=DEFAULT_BUDGET)},
    "multi30k": {"multi30k": MULTI30K},
    "scan": {split: scan(split) for split in ("simple", "length", "jump", "around-right")},
    "jaen": {"jaen": JAEN},
    "characters": {
        "names": Dataset(
            files=DataFiles(train=("tiny-lm/names.txt",)),
            budget="3m",
            published=(("transformer_lm", "makemore, 200k parameters", 1.92),),
        ),
        "shakespeare": Dataset(files=DataFiles(train=("tiny-lm/shakespeare.txt",)), budget="5m"),
    },
}


def main() -> int:
    options = parse_options()
    measurements: list[Measurement] = []
    try:
        for name in options.splits or SUITES[options.suite]:
            measurements += measure(name, SUITES[options.suite][name], options)
    except (InputError, OSError) as error:
        print(f"ladder: {error}", file=sys.stderr)
        return 2
    rows = [f"{item.table} | {item.what} | {item.value} {item.unit} | {item.spread or ''}" for item in measurements]
    report = {"rows": rows, "machine": machine()}
    print(json.dumps(report, ensure_ascii=False) if options.json else "\n".join(rows))
    if options.record:
        record(f"ladder-{options.suite}", measurements, options.results)
    return 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--splits", nargs="+", metavar="NAME", help="data sets of the suite (default: all)")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each model (default: 3)")
    parser.add_argument("--budget", metavar="TIME", help="time of each run (default: by data set, 2m to 10m)")
    parser.add_argument("--models", nargs="+", default=(), metavar="NAME", help="only these models")
    parser.add_argument("--folder", type=Path, default=SHARED_DATA, help="folder of the data sets")
    parser.add_argument("--runs", type=Path, default=Path("runs/benchmark-ladder"), help="folder of the runs")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of every run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_options(parser)
    options = parser.parse_args()
    for name in options.splits or ():
        if name not in SUITES[options.suite]:
            parser.error(f"--splits {name}: not in {options.suite}. Choose from {', '.join(SUITES[options.suite])}")
    return options


def measure(name: str, dataset: Dataset, options: argparse.Namespace) -> list[Measurement]:
    if options.suite == "characters":
        return list(measure_characters(name, dataset, options))
    folder = options.runs / options.suite / name
    files = {split: tuple(str(options.folder / file) for file in paths) for split, paths in vars(dataset.files).items()}
    if not dataset.files.train:
        folder = options.runs.with_name("ladder")  # the folder of `make ladder`, so that its runs are used
    plan = LadderPlan(
        folder=folder,
        data=DataFiles(**files) if dataset.files.train else write_phrasebook(folder / "phrasebook"),
        settings=(*dataset.settings, *options.set),
        seeds=tuple(range(1, options.seeds + 1)),
        budget=options.budget or dataset.budget,
        models=tuple(options.models) or dataset.models,
        tokenize=dataset.tokenize,
    )
    report = train_ladder(plan)
    check_runs(report.runs)
    return list(ladder_measurements(name, dataset, report))


def check_runs(runs: Sequence[GridRun]) -> None:
    if failures := describe_failures(runs):
        raise InputError(failures)


def ladder_measurements(name: str, dataset: Dataset, report: LadderReport) -> Iterator[Measurement]:
    for model in report.titles:
        scores = [score for score in report.scores if score.run.variant == model]
        if scores:
            yield ladder_measurement(name, dataset, model, scores, report)


def ladder_measurement(
    name: str, dataset: Dataset, model: str, scores: Sequence[LadderScore], report: LadderReport
) -> Measurement:
    metric = scores[0].metric
    values = [score.scores[metric] for score in scores]
    _, source, published = next((item for item in dataset.published if item[0] == model), ("", None, None))
    details = run_details([score.run for score in scores], scores[0].parameters)
    if metric != "perplexity":
        details["perplexity"] = to_number(fmean(score.scores["perplexity"] for score in scores), 2)
    for i, band in enumerate(report.bands):
        lengths = [score.by_length[i] for score in scores if score.by_length]
        details[f"{band} words"] = to_number(fmean(lengths), 1) if lengths else None
    return Measurement(
        id=to_slug(f"ladder-{name}-{model}") + "-{cpu}",
        table=name,
        what=f"{model} ({report.titles[model]})",
        value=to_number(fmean(values), 2),
        unit=UNITS[metric],
        spread=to_spread(values, 2),
        baseline=source,
        baseline_value=Decimal(str(published)) if published is not None else None,
        seeds=[score.run.seed for score in scores],
        details=details,
    )


def run_details(runs: Sequence[GridRun], parameters: int) -> dict[str, Number | str | None]:
    steps, seconds = fmean(run.steps for run in runs), fmean(run.seconds for run in runs)
    return {"parameters": parameters, "steps": round(steps), "seconds in updates": round(seconds)}


def measure_characters(name: str, dataset: Dataset, options: argparse.Namespace) -> Iterator[Measurement]:
    """Train both language models on characters and measure nats per character, the end of a line counted as one."""
    folder = options.runs / options.suite / name
    splits = read_splits(name, options.folder / dataset.files.train[0])
    paths = {split: folder / "data" / f"{split}.txt" for split in splits}
    for split, lines in splits.items():
        storage.write_text(paths[split], "".join(f"{line}\n" for line in lines))
    plan = GridPlan(
        folder=folder,
        data=DataFiles(train=(str(paths["train"]),), dev=(str(paths["dev"]),)),
        settings=("tokenizer.model=char", *options.set),
        vary=(Vary("model.kind", tuple(options.models) or ("rnn_lm", "transformer_lm")),),
        seeds=tuple(range(1, options.seeds + 1)),
        budget=options.budget or dataset.budget,
    )
    runs = train_grid(plan)
    check_runs(runs)
    for variant in plan.all_variants:
        kind = variant.name.partition("=")[2]
        group = [run for run in runs if run.variant == variant.name]
        values = [nats_per_character(run, splits["test"]) for run in group]
        _, source, published = next((item for item in dataset.published if item[0] == kind), ("", None, None))
        model = load_bundle(group[0].folder).model
        yield Measurement(
            id=to_slug(f"ladder-{name}-{kind}") + "-{cpu}",
            table=name,
            what=kind,
            value=to_number(fmean(values), 3),
            unit="nats per character on test",
            spread=to_spread(values, 3),
            baseline=source,
            baseline_value=Decimal(str(published)) if published is not None else None,
            seeds=[run.seed for run in group],
            details=run_details(group, sum(parameter.numel() for parameter in model.parameters())),
        )


def read_splits(name: str, path: Path) -> dict[str, list[str]]:
    """Split the lines of a text: names by turns, because they are sorted; of the plays, the last tenth is the test."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = [line for line in map(normalize, content.decode("utf-8").split("\n")) if line]
    if name == "names":
        rest = [line for i, line in enumerate(lines) if i % 16]
        return {"train": rest, "dev": lines[::32], "test": lines[16::32]}
    end = len(lines) * 9 // 10
    dev = lines[end - len(lines) // 40 : end]
    return {"train": lines[: end - len(dev)], "dev": dev, "test": lines[end:]}


def nats_per_character(run: GridRun, lines: Sequence[str]) -> float:
    """Return the cross-entropy per character; the tokenizer's mark of a beginning is no character."""
    model: Any = load_bundle(run.folder).text_model()
    log_probs = model.score([("", line) for line in lines])
    return -sum(map(sum, log_probs)) / sum(len(line) + 1 for line in lines)


if __name__ == "__main__":
    sys.exit(main())
