"""`tongsa ladder`: train the models of the papers on one data set and compare them."""

import argparse
from pathlib import Path

from tongsa.cli.data_arguments import add_training_data_arguments
from tongsa.cli.grid_arguments import add_run_arguments, parse_seeds, repeat_command
from tongsa.cli.model_arguments import add_device_arguments
from tongsa.cli.output import print_result, print_status
from tongsa.errors import EXIT_FAILURE, EXIT_OK, InputError

HELP = "train the models of the papers, from RNN to Transformer, on the same data, and compare them"
DESCRIPTION = """\
Train the models of the papers on one data set, with the same tokenizer, time and number of parameters,
and compare them: RNN language model, Cho, Sutskever, Bahdanau, ConvS2S, structured self-attention, Transformer.
For text<TAB>label: structured self-attention and the Transformer's encoder.

  tongsa ladder                                             on the phrasebook of the demo: less than 20 minutes
  tongsa ladder --data my.tsv --seeds 3 --budget 5m -o runs/mine-ladder
  tongsa ladder --data train.tsv --dev dev.tsv --test test.tsv --set training.steps=2000 -o runs/mine-ladder
  tongsa ladder --data reviews.tsv -o runs/reviews-ladder   classifiers
  tongsa ladder --quick -o runs/quick-ladder                a few steps, to see that it works

The folder has one run for each model and seed, scores by length of the source (ladder.md) and a page with the
attention of each model for the same sentence (family.html). The same command continues an interrupted ladder.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_training_data_arguments(parser)
    group = parser.add_argument_group("ladder")
    group.add_argument("--models", type=_parse_names, default=(), metavar="A,B", help="only these models")
    group.add_argument("--tokenize", default="", metavar="NAME", help="sacreBLEU tokenizer (default: by language)")
    group.add_argument("--quick", action="store_true", help="few pairs and steps, to see that it works")
    add_run_arguments(parser, group)
    add_device_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        dest="folder",
        type=Path,
        default=Path("runs/ladder"),
        metavar="FOLDER",
        help="folder of the runs and the report (default: runs/ladder)",
    )


def _parse_names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def run(options: argparse.Namespace) -> int:
    from tongsa.demo.phrasebook import write_phrasebook
    from tongsa.runs.grid import describe_failures
    from tongsa.runs.grid_plan import DataFiles
    from tongsa.runs.ladder import LadderPlan, train_ladder

    if options.data:
        data = DataFiles(train=tuple(options.data), dev=tuple(options.dev), test=tuple(options.test))
    elif surplus := [name for name in ("dev", "test", "columns", "header") if getattr(options, name)]:
        raise InputError(f"--{surplus[0]}: only together with data. Leave it out, or add --data FILE.")
    else:
        data = write_phrasebook(options.folder / "phrasebook")
    plan = LadderPlan(
        folder=options.folder,
        data=data,
        settings=tuple(_settings(options)),
        seeds=parse_seeds(options.seeds),
        budget=options.budget,
        quick=options.quick,
        models=options.models,
        tokenize=options.tokenize,
        executor=options.executor,
        command=repeat_command(options.argv),
    )
    report = train_ladder(plan)
    print_result(report.table())
    for path in report.files:
        print_status(f"written: {path}")
    if failures := describe_failures(report.runs, plan.command):
        print_status(failures)
        return EXIT_FAILURE
    return EXIT_OK


def _settings(options: argparse.Namespace) -> list[str]:
    flags = {
        "data.columns": options.columns,
        "data.header": "true" if options.header else None,
        "training.threads": options.threads,
        "training.device": options.device,
    }
    return [*options.set, *(f"{key}={value}" for key, value in flags.items() if value is not None)]
