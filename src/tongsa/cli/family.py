"""`tongsa family`: an HTML page of one sentence through several models, over their training."""

import argparse
from pathlib import Path

from tongsa.cli.output import add_output_argument, is_stream, print_result, write_page

HELP = "write an HTML page that compares models on one sentence, also over their training"
DESCRIPTION = """\
Write an HTML page of one sentence through several models: output, memory, attention, the five most
probable tokens of each step, beam, number of parameters and time.
Runs trained with training.probe also show their outputs and attention during training.
A trace of each model is written beside the page, which links to it.

  tongsa train --data my.tsv --run runs/rnn --set model.kind=rnn --set 'training.probe=I go home'
  tongsa family runs/rnn-attention runs/mine 'I go home' --reference '나는 집에 간다' -o family.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folders of runs or of models of one task")
    parser.add_argument("text", metavar="TEXT", help="the sentence to compare the models on")
    parser.add_argument("--reference", default="", metavar="TEXT", help="the expected output; equal outputs are marked")
    add_output_argument(parser, Path("family.html"))


def run(options: argparse.Namespace) -> None:
    from tongsa.visualize.family import family, write_family

    if is_stream(options.output):
        write_page(options.output, family(options.runs, options.text, reference=options.reference).html)
        return
    for path in write_family(options.output, options.runs, options.text, reference=options.reference):
        print_result(str(path))
