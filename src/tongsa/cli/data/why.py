"""`tongsa data why`: what happens to one line of a corpus when it is cleaned, and why."""

import argparse
import tempfile
from pathlib import Path

from tongsa.cli.data.clean import add_cleaning_arguments, make_cleaning
from tongsa.cli.output import print_result

HELP = "explain why cleaning keeps or drops a line"
DESCRIPTION = """\
Print the repairs of one line, and value, threshold and verdict of each filter, as `tongsa data clean` with the same
options would have them. For a duplicate, the line that is kept instead.

  tongsa data why corpus.tsv 17
  tongsa data why corpus.en corpus.ko 17 --set data.filters.ratio=learn
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", nargs="+", metavar="CORPUS", help="files of pairs, or a source and a target file")
    parser.add_argument("line", type=int, metavar="LINE", help="number of the line, from 1")
    add_cleaning_arguments(parser)


def run(options: argparse.Namespace) -> None:
    from tongsa.data.array_files import ArrayFiles
    from tongsa.runs.line_explanation import explain_line

    with tempfile.TemporaryDirectory(prefix="tongsa-") as folder:
        arrays = ArrayFiles(Path(folder))
        explanations = explain_line(make_cleaning(options), options.line, arrays)
    for explanation in explanations:
        print_result(f"{explanation.file}:{explanation.line}: {'dropped' if explanation.dropped else 'kept'}")
        if explanation.reader:
            print_result(f"  the reader drops it: {explanation.reader}")
            continue
        for name, raw, repaired in zip(("source", "target"), explanation.raw, explanation.repaired, strict=True):
            print_result(f"  {name}: {repaired}" + (f"  (in the file: {raw!r})" if raw != repaired else ""))
        for repair in explanation.repairs:
            print_result(f"  repaired: {repair}")
        for verdict in explanation.verdicts:
            print_result(f"  {'drops' if verdict.dropped else 'keeps'}  {verdict.name}: {verdict.detail or '–'}")
