"""`tongsa classify`: a label for each line."""

import argparse
import json

from tongsa.cli.model_arguments import add_device_arguments, add_run_argument, add_text_file_argument, load_model
from tongsa.cli.output import add_results_argument, print_result, print_status
from tongsa.cli.text_input import read_chunks

HELP = "print a label for each line"
DESCRIPTION = """\
Print label<TAB>probability for each line, in order.

  tongsa classify runs/reviews < reviews.txt
  tongsa classify runs/reviews reviews.txt --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    add_text_file_argument(parser, "texts, one per line")
    parser.add_argument("--json", action="store_true", help="one JSON object per line, with all probabilities")
    add_results_argument(parser)
    add_device_arguments(parser)


def run(options: argparse.Namespace) -> None:
    classifier = load_model(options).classifier()
    for chunk in read_chunks(options.file):
        for text, answer in zip(chunk, classifier.classify(chunk), strict=True):
            if answer.truncated:
                print_status(f"truncated, the text is longer than the model can read: {text[:60]}…")
            if not options.json:
                print_result(f"{answer.label}\t{answer.probability:.4f}")
                continue
            record = {
                "text": text,
                "label": answer.label,
                "probabilities": answer.probabilities,
                "truncated": answer.truncated,
            }
            print_result(json.dumps(record, ensure_ascii=False))
