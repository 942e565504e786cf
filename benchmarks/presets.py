"""Scores of the presets: kind × data × time budget, each run with `tongsa train --data FILE --budget TIME`.

    python benchmarks/presets.py                     the whole table: about 30 minutes
    python benchmarks/presets.py --kinds rnn transformer --data demo-20k --budgets 1m
    python benchmarks/presets.py --record            write the rows to benchmarks/results/presets.json

Every run has one CPU thread; `--jobs` is the number of runs at the same time (default: 2, for two cores). The score on
test is BLEU with beam 5, the accuracy of a classifier, or the perplexity per token of a language model. Perplexities
compare only if the vocabularies are the same.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from machine import machine
from record import Measurement, add_options, record, to_number, to_slug

from tongsa.bundle import load_bundle
from tongsa.demo import read_pairs
from tongsa.errors import InputError
from tongsa.runs.plan_warnings import count_epoch_steps
from tongsa.runs.run import open_run
from tongsa.training.journal import read_journal

SHARED_DATA = Path(__file__).parent.parent.parent / "shared/data"
Lines = list[str]


class Splits(NamedTuple):
    """Lines of files that tongsa reads; an empty dev set is split off from train."""

    train: Lines
    dev: Lines
    test: Lines


@dataclass(frozen=True)
class Dataset:
    task: str
    budgets: tuple[str, ...]
    """Time budgets of the default table."""
    read: Callable[[Path], Splits]
    settings: tuple[str, ...] = ()


def read_lines(path: Path, encoding: str = "utf-8") -> Lines:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.decode(encoding).rstrip("\n").split("\n")


def multi30k(pairs: int, folder: Path) -> Splits:
    def read(name: str, suffix: str = "") -> Lines:
        sides = (read_lines(folder / f"multi30k/{name}.{language}{suffix}") for language in ("de", "en"))
        return ["\t".join(pair) for pair in zip(*sides, strict=True)]

    return Splits(read("train", ".gz")[:pairs], read("val"), read("test_2016_flickr"))


def demo(_: Path) -> Splits:
    pairs = read_pairs()
    return Splits(*(["\t".join(pair) for pair in pairs[split]] for split in ("train", "dev", "test")))


def trec(folder: Path) -> Splits:
    train, test = (
        ["\t".join(reversed(line.split(" ", 1))) for line in read_lines(folder / f"trec/{name}.txt", "latin-1")]
        for name in ("train", "test")
    )
    return Splits(train, [], test)


def nsmc(reviews: int, folder: Path) -> Splits:
    train, test = (
        ["\t".join(line.split("\t")[1:]) for line in read_lines(folder / f"nsmc/ratings_{name}.txt.gz")[1:]]
        for name in ("train", "test")
    )
    return Splits(train[:reviews], [], test[:5000])


def texts(name: str, folder: Path) -> Splits:
    """Every twentieth line is in the test set: the lines may be sorted."""
    lines = [line for line in read_lines(folder / f"tiny-lm/{name}.txt") if line.strip()]
    return Splits([line for i, line in enumerate(lines) if i % 20], [], lines[::20])


GERMAN = ("data.source_language=de", "data.target_language=en")
DATASETS = {
    "multi30k-2k": Dataset("seq2seq", ("1m",), partial(multi30k, 2_000), GERMAN),
    "multi30k-20k": Dataset("seq2seq", ("1m", "4m"), partial(multi30k, 20_000), GERMAN),
    "demo-20k": Dataset("seq2seq", (), demo, ("data.source_language=en", "data.target_language=ko")),
    "trec": Dataset("classification", ("1m",), trec),
    "nsmc-20k": Dataset("classification", ("4m",), partial(nsmc, 20_000)),
    "names": Dataset("language_model", ("1m",), partial(texts, "names")),
    "shakespeare": Dataset("language_model", ("4m",), partial(texts, "shakespeare")),
}
KINDS = {
    "seq2seq": ("transformer", "rnn_attention", "rnn", "conv_s2s", "structured_self_attention"),
    "classification": ("transformer_classifier", "structured_self_attention"),
    "language_model": ("transformer_lm", "rnn_lm"),
}
METRICS = {"seq2seq": "bleu", "classification": "accuracy", "language_model": "perplexity"}
UNITS = {"seq2seq": "BLEU", "classification": "% accuracy", "language_model": "perplexity"}


class Case(NamedTuple):
    """A row of the table."""

    kind: str
    data: str
    budget: str


def main() -> int:
    options = parse_options()
    cases = list(select_cases(options))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        try:
            files = {name: write_files(name, Path(folder), options.folder) for name in {case.data for case in cases}}
            rows = list(pool.map(lambda case: measure(case, files[case.data], Path(folder), options), cases))
        except (InputError, OSError) as error:
            print(f"presets: {error}", file=sys.stderr)
            return 2
    report = {"rows": rows, "seed": options.seed, "machine": machine()}
    print(json.dumps(report, ensure_ascii=False) if options.json else as_text(rows))
    if options.record:
        record("presets", [measurement(row, options.seed) for row in rows], options.results)
    return 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = sorted({kind for task in KINDS.values() for kind in task})
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds, metavar="KIND", help="default: all")
    parser.add_argument(
        "--data", nargs="+", choices=DATASETS, default=[*DATASETS], metavar="NAME", help=f"{[*DATASETS]}"
    )
    parser.add_argument("--budgets", nargs="+", metavar="TIME", help="default: 1m or 4m or both, by data set")
    parser.add_argument("--folder", type=Path, default=SHARED_DATA, help="folder of the data sets")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time, one CPU thread each (default: 2)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of every run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_options(parser)
    return parser.parse_args()


def select_cases(options: argparse.Namespace) -> Iterable[Case]:
    """Yield the cases, long runs first: the last runs should be short."""
    cases = [
        Case(kind, name, budget)
        for name in options.data
        for kind in KINDS[DATASETS[name].task]
        for budget in options.budgets or DATASETS[name].budgets
        if kind in options.kinds
    ]
    return sorted(cases, key=lambda case: case.budget, reverse=True)


def write_files(name: str, folder: Path, data: Path) -> dict[str, Path]:
    """Write the splits of a data set; an empty one has no file."""
    extension = "txt" if DATASETS[name].task == "language_model" else "tsv"
    paths: dict[str, Path] = {}
    for split, lines in DATASETS[name].read(data)._asdict().items():
        if lines:
            paths[split] = folder / f"{name}.{split}.{extension}"
            paths[split].write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return paths


def measure(case: Case, files: dict[str, Path], folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    dataset, run = DATASETS[case.data], folder / to_slug("-".join(case))
    settings = [f"model.kind={case.kind}", f"training.seed={options.seed}", f"data.test={files['test']}"]
    settings += ["training.threads=1", *dataset.settings, *options.set]
    if (case.kind, dataset.task) == ("structured_self_attention", "seq2seq"):
        settings.append("model.head=decoder")
    dev = ["--dev", str(files["dev"])] if "dev" in files else []
    train(case, ["--data", str(files["train"]), *dev, "--run", str(run), "--budget", case.budget], settings)
    metric = METRICS[dataset.task]
    opened, updates = open_run(run), [line for line in read_journal(run / "journal.jsonl") if "tokens" in line]
    validations = [line["validation"] for line in read_journal(run / "journal.jsonl") if line.get("best")]
    model = load_bundle(run).model
    return case._asdict() | {
        "task": dataset.task,
        "pairs": len(opened.data.train),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "vocabulary": len(
            opened.data.target_tokenizer if dataset.task != "classification" else opened.data.source_tokenizer
        ),
        "steps": len(updates),
        "epochs": len(updates) / count_epoch_steps(opened),
        "dev": validations[-1][metric],
        "test": json.loads((run / "scores.json").read_text("utf-8"))["test"][metric],
    }


def train(case: Case, arguments: list[str], settings: list[str]) -> None:
    flags = [word for setting in settings for word in ("--set", setting)]
    command = [sys.executable, "-m", "tongsa.cli", "train", *arguments, *flags]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise InputError(f"{' '.join(case)}: tongsa train failed. Its last line: {done.stderr.splitlines()[-1]}")
    print(f"{' '.join(case)}: done", file=sys.stderr)


def as_text(rows: list[dict[str, Any]]) -> str:
    names = ("kind", "data", "budget", "pairs", "parameters", "vocabulary", "steps", "epochs", "dev", "test")
    lines = [f"| {' | '.join(names)} |", "|---|---|---|" + "--:|" * 7]
    for row in rows:
        cells = [f"{row[name]:,.1f}" if isinstance(row[name], float) else f"{row[name]}" for name in names]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def measurement(row: dict[str, Any], seed: int) -> Measurement:
    counts = {name: row[name] for name in ("pairs", "parameters", "vocabulary", "steps")}
    return Measurement(
        id=to_slug(f"preset-{row['kind']}-{row['data']}-{row['budget']}") + "-{cpu}",
        table=to_slug(row["task"]),
        what=f"{row['kind']}, {row['data']}, {row['budget']}",
        value=to_number(row["test"], 1),
        unit=f"{UNITS[row['task']]} on test",
        seeds=[seed],
        details=counts | {"epochs": to_number(row["epochs"], 1), "on dev": to_number(row["dev"], 1)},
    )


if __name__ == "__main__":
    sys.exit(main())
