"""`tongsa doctor`: check the data and the model before training."""

import argparse
import json
from pathlib import Path

from tongsa.cli.data_arguments import add_training_arguments, add_training_data_arguments, training_settings
from tongsa.cli.output import add_results_argument, print_result
from tongsa.errors import EXIT_FAILURE, EXIT_OK

HELP = "check the data and the model before training"
DESCRIPTION = """\
Check a run before its first step. Nothing is written.

The data: overlap of train with dev or test, duplicates, copies, misaligned lines, wrong scripts, unknown tokens.
The model: a decoder that sees future tokens, a wrong initial loss, a model that cannot overfit a few examples.
The machine: memory and time.

  tongsa doctor recipes/multi30k-de-en.toml
  tongsa doctor --data train.tsv --dev dev.tsv
  tongsa doctor --data reviews.tsv --set model.kind=structured_self_attention --json

Each finding is ok, a remark, a warning or a fault. Exit code: 1 with a fault, 0 without, 2 for bad input.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", nargs="?", type=Path, metavar="RECIPE", help="a TOML file; see recipes/")
    add_training_data_arguments(parser)
    add_training_arguments(parser, "tokenizer.vocab_size=4000")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_results_argument(parser)


def run(options: argparse.Namespace) -> int:
    from tongsa.checks.finding import worst_level
    from tongsa.runs.doctor import run_doctor

    settings = training_settings(options)
    findings = run_doctor(options.recipe, data=options.data, dev=options.dev, test=options.test, settings=settings)
    level = worst_level(findings)
    if options.json:
        record = {"worst": level, "findings": [finding.as_json() for finding in findings]}
        print_result(json.dumps(record, ensure_ascii=False))
    else:
        for finding in findings:
            print_result(finding.text)
    return EXIT_FAILURE if level == "fault" else EXIT_OK
