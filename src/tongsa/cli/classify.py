"""`tongsa classify`: a label for each line."""

import argparse
import json
import sys

from tongsa.cli.model_arguments import add_device_arguments, add_run_argument, add_text_file_argument, load_model
from tongsa.cli.output import add_results_argument, print_result
from tongsa.cli.text_input import lines_per_chunk

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
    from tongsa.data.chunks import ChunkReader
    from tongsa.decoding.training_comparison import input_remarks
    from tongsa.runs.reporting import ProgressDisplay

    classifier = load_model(options).classifier()
    display = ProgressDisplay(enabled=False)
    with ChunkReader(options.file) as reader:
        for chunk in reader.chunks(lines_per_chunk(options.file)):
            results = zip(chunk.lines, classifier.classify(chunk.lines), strict=True)
            for line, (text, result) in enumerate(results, start=chunk.first_line + 1):
                if remark := "; ".join(input_remarks(result)):
                    display.log_remark(f"{chunk.name}:{line}: {remark}")
                record = {"text": text, "label": result.label} | result.details
                plain = f"{result.label}\t{result.probability:.4f}"
                print_result(json.dumps(record, ensure_ascii=False) if options.json else plain)
            sys.stdout.flush()
    display.log_remark_count()
