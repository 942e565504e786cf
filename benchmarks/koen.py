"""Korean–English in both directions: one model per corpus, and one for all three with a tag for domain and direction.

    python benchmarks/koen.py                           train what is not trained yet, score all test sets
    python benchmarks/koen.py --record                  write the rows to benchmarks/results/quality.json
    python benchmarks/koen.py --budget 10m --budget-all 20m

The recipes are those of recipes/koen-*.toml. koen-pydocs and koen-bible bring a test set; of koen-tatoeba, 300 pairs
are split off first (`tongsa data split`; equal sentences stay on one side) and are in no training data. The same
command continues after an interruption.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ladder import SHARED_DATA
from machine import machine
from record import Measurement, Number, add_options, record, to_number

import tongsa
from tongsa.cli import main as run_tongsa
from tongsa.errors import InputError
from tongsa.evaluation.evaluate import EvaluationReport
from tongsa.runs.evaluation import EvaluationOptions, EvaluationSet, evaluate_on
from tongsa.training import journal

RECIPES = Path(__file__).parent.parent / "recipes"
ALL = "koen-all"
TATOEBA_TEST_SIZE = 300


class Corpus(NamedTuple):
    name: str
    what: str
    columns: tuple[int, int]
    """Columns of English and Korean."""
    domain: str
    """Beginning of its tags in the model for all corpora: <docs2ko>, <docs2en>."""


CORPORA = (
    Corpus("koen-pydocs", "Python documentation", (1, 2), "docs"),
    Corpus("koen-bible", "Bible", (3, 2), "bible"),
    Corpus("koen-tatoeba", "everyday sentences", (1, 2), "talk"),
)
DIRECTIONS = (("en", "ko", "English → Korean"), ("ko", "en", "Korean → English"))


def main() -> int:
    options = parse_options()
    try:
        data = prepare_data(options.folder, options.runs / "data")
        runs = {name: train(name, data, options) for name in (*(corpus.name for corpus in CORPORA), ALL)}
        measurements = [*measure(runs, data)]
    except (InputError, OSError) as error:
        print(f"koen: {error}", file=sys.stderr)
        return 2
    rows = [f"{item.what} | {item.value} {item.unit} | {item.details}" for item in measurements]
    print(json.dumps({"rows": rows, "machine": machine()}, ensure_ascii=False) if options.json else "\n".join(rows))
    if options.record:
        record("quality", measurements, options.results)
    return 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="8m", metavar="TIME", help="of a model for one corpus (default: 8m)")
    parser.add_argument("--budget-all", default="16m", metavar="TIME", help="of the model for all (default: 16m)")
    parser.add_argument("--folder", type=Path, default=SHARED_DATA, help="folder of the data sets")
    parser.add_argument("--runs", type=Path, default=Path("runs/koen"), help="folder of the runs")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="settings of every run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_options(parser)
    return parser.parse_args()


def prepare_data(folder: Path, data: Path) -> Path:
    """Return a folder with the three corpora, in which the test pairs of koen-tatoeba are apart."""
    data.mkdir(parents=True, exist_ok=True)
    for name in ("koen-pydocs", "koen-bible"):
        if not (data / name).exists():
            (data / name).symlink_to((folder / name).resolve())
    tatoeba = data / "koen-tatoeba"
    if not (tatoeba / "test.tsv").exists():
        source = str(folder / "koen-tatoeba/kor.txt")
        sizes = ["--dev-size", "0", "--test-size", str(TATOEBA_TEST_SIZE)]
        if code := run_tongsa(["data", "split", source, *sizes, "-o", str(tatoeba)]):
            raise InputError(f"{source}: not split (exit code {code}). Read the message above.")
        (tatoeba / "train.tsv").rename(tatoeba / "kor.txt")  # the name in the recipes
    return data


def train(name: str, data: Path, options: argparse.Namespace) -> Path:
    """Train a recipe, unless its run is finished; return the run."""
    run = options.runs / name
    folder = data if name == ALL else data / name
    tongsa.train(
        RECIPES / f"{name}.toml",
        run=run,
        settings=[f"data.folder={folder}", *options.set],
        budget=options.budget_all if name == ALL else options.budget,
        resume_if_exists=True,
    )
    return run


def measure(runs: dict[str, Path], data: Path) -> Iterator[Measurement]:
    for corpus in CORPORA:
        for source, target, direction in DIRECTIONS:
            separate = score(runs[corpus.name], data, corpus, source, f"<2{target}>")
            joint = score(runs[ALL], data, corpus, source, f"<{corpus.domain}2{target}>")
            yield Measurement(
                id=f"{corpus.name}-{source}-{target}" + "-{cpu}",
                table="korean",
                what=f"{corpus.what}, {direction}",
                value=to_number(separate.scores["chrf"].value, 1),
                unit="chrF on test",
                seeds=[1],
                details={
                    "chrF, one model for all": to_number(joint.scores["chrf"].value, 1),
                    "BLEU": to_number(separate.scores["bleu"].value, 1),
                    "BLEU, one model for all": to_number(joint.scores["bleu"].value, 1),
                    "BLEU tokenizer": tokenizer(separate),
                    "test pairs": separate.sentences,
                    **training_details(runs[corpus.name], ""),
                    **training_details(runs[ALL], ", one model for all"),
                },
            )


def score(run: Path, data: Path, corpus: Corpus, source: str, tag: str) -> EvaluationReport:
    english, korean = corpus.columns
    test = EvaluationSet(
        files=[str(data / corpus.name / "test.tsv")],
        columns=(english, korean) if source == "en" else (korean, english),
        source_language=source,
        target_language="ko" if source == "en" else "en",
        tag=tag,
    )
    model = tongsa.load(run, task="seq2seq", quiet=True)
    return evaluate_on(model, test, EvaluationOptions(metrics=["chrf", "bleu"]), log=print)


def tokenizer(report: EvaluationReport) -> str:
    """Return the tokenizer in the signature of BLEU."""
    parts = dict(part.split(":", 1) for part in report.scores["bleu"].signature.split("|"))
    return parts["tok"]


def training_details(run: Path, suffix: str) -> dict[str, Number]:
    """Return updates and time of a run."""
    updates = [entry for entry in journal.read_journal(run / "journal.jsonl") if "lr" in entry]
    seconds = sum(entry["seconds"] for entry in updates)
    return {f"updates{suffix}": len(updates), f"seconds of updates{suffix}": round(seconds)}


if __name__ == "__main__":
    sys.exit(main())
