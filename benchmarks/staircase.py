"""The staircase of neubig/nmt-tips, climbed with tongsa: one change per step, 10,000 Japanese–English pairs.

    python benchmarks/staircase.py                  train what is not trained yet, score every step
    python benchmarks/staircase.py --record         write the rows to benchmarks/results/ladder-jaen.json
    python benchmarks/staircase.py --seeds 1 --set training.steps=300

The published steps replace unknown words and add a lexicon; subwords and convolutions stand in their place here. BLEU
is computed on the tokens of the data, as `multi-bleu` does. The same command continues after an interruption. A value
is the mean over the seeds, its spread the lowest and the highest; the last step is one ensemble of all seeds.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from statistics import fmean

from ladder import JAEN, SHARED_DATA, check_runs, run_details
from machine import machine
from record import Measurement, add_options, record, to_number, to_slug, to_spread

import tongsa
from tongsa.bundle import load_bundle
from tongsa.errors import InputError
from tongsa.runs.grid import GridRun, train_grid
from tongsa.runs.grid_plan import DataFiles, GridPlan, Variant

VARIANTS = (
    Variant(name="rnn-words", settings=("model.kind=rnn", "tokenizer.model=word")),
    Variant(name="attention-words", settings=("model.kind=rnn_attention", "tokenizer.model=word")),
    Variant(name="attention-subwords", settings=("model.kind=rnn_attention",)),
    Variant(name="convolution", settings=("model.kind=conv_s2s",)),
)


@dataclass(frozen=True)
class Step:
    """A step of the staircase, and the published step at the same height."""

    what: str
    variant: str
    beam: int
    published: str
    bleu: str
    is_ensemble: bool = False


STEPS = (
    Step("encoder-decoder, words, greedy", "rnn-words", 1, "encoder-decoder", "1.76"),
    Step("+ additive attention", "attention-words", 1, "attention", "2.17"),
    Step("+ subwords", "attention-subwords", 1, "unknown words replaced", "3.32"),
    Step("convolutions instead of a GRU", "convolution", 1, "lexicon", "8.83"),
    Step("+ beam 10, length normalization", "convolution", 10, "beam 10, word penalty", "10.00"),
    Step("+ ensemble of all seeds", "convolution", 10, "larger, ensemble", "10.99", is_ensemble=True),
)


def main() -> int:
    options = parse_options()
    folder = options.folder
    plan = GridPlan(
        folder=options.runs,
        data=DataFiles(
            train=tuple(str(folder / file) for file in JAEN.files.train),
            dev=tuple(str(folder / file) for file in JAEN.files.dev),
        ),
        settings=(*JAEN.settings, *(options.set or ["training.steps=1000"]), "training.threads=1"),
        variants=VARIANTS,
        seeds=tuple(range(1, options.seeds + 1)),
        preset="short",
    )
    try:
        runs = train_grid(plan)
        check_runs(runs)
    except (InputError, OSError) as error:
        print(f"staircase: {error}", file=sys.stderr)
        return 2
    test = [str(folder / file) for file in JAEN.files.test]
    measurements = list(measure_steps(runs, test))
    rows = [f"{item.what} | {item.value} {item.unit} | {item.spread or ''}" for item in measurements]
    print(json.dumps({"rows": rows, "machine": machine()}, ensure_ascii=False) if options.json else "\n".join(rows))
    if options.record:
        record("ladder-jaen", measurements, options.results)
    return 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="runs of each model (default: 3)")
    parser.add_argument("--folder", type=Path, default=SHARED_DATA, help="folder of the data sets")
    parser.add_argument("--runs", type=Path, default=Path("runs/benchmark-staircase"), help="folder of the runs")
    parser.add_argument(
        "--set", action="append", metavar="KEY=VALUE", help="settings of every run (default: training.steps=1000)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_options(parser)
    return parser.parse_args()


def measure_steps(runs: Sequence[GridRun], test: Sequence[str]) -> Iterator[Measurement]:
    for number, step in enumerate(STEPS, 1):
        group = [run for run in runs if run.variant == step.variant]
        values = [test_bleu(group, test, step)] if step.is_ensemble else [test_bleu([run], test, step) for run in group]
        parameters = sum(weight.numel() for weight in load_bundle(group[0].folder).model.parameters())
        yield Measurement(
            id=to_slug(f"staircase-{number}-{step.variant}") + "-{cpu}",
            table="staircase",
            what=f"{number}. {step.what}",
            value=to_number(fmean(values), 2),
            unit="BLEU on test",
            spread=to_spread(values, 2),
            baseline=f"nmt-tips, {step.published}",
            baseline_value=Decimal(step.bleu),
            seeds=[run.seed for run in group],
            details=run_details(group, parameters * (len(group) if step.is_ensemble else 1)),
        )


def test_bleu(runs: Sequence[GridRun], test: Sequence[str], step: Step) -> float:
    """Return BLEU of a model, or of an ensemble of several."""
    first, *others = [run.folder for run in runs]
    model = tongsa.load(first, ensemble=others, task="seq2seq", quiet=True)
    report = tongsa.evaluate(model, test, metrics=["bleu"], tokenize="none", beam=step.beam)
    return report.scores["bleu"].value


if __name__ == "__main__":
    sys.exit(main())
