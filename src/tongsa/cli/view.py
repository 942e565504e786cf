"""`tongsa view`: an HTML page of attention, beam search, positions and training curves."""

import argparse
from pathlib import Path

from tongsa.cli.model_arguments import add_run_argument
from tongsa.cli.output import print_result

HELP = "write an HTML page of attention, beam search, positions and training curves"
DESCRIPTION = """\
Write one HTML page that needs no network: attention of every head, the beam search, positions, training curves.

  tongsa view runs/mine 'I go home' 'I love you' -o page.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument("texts", nargs="+", metavar="TEXT", help="sentences to show")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("attention.html"), metavar="FILE", help="default: attention.html"
    )


def run(options: argparse.Namespace) -> None:
    from tongsa.visualize.panels import view

    print_result(str(view(options.run, options.texts).save(options.output)))
