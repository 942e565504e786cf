"""`tongsa view`: an HTML page of attention, beam search, positions and training curves."""

import argparse
from itertools import islice
from pathlib import Path

from tongsa.cli.model_arguments import add_run_argument
from tongsa.cli.output import add_output_argument, write_page
from tongsa.errors import InputError

HELP = "write an HTML page of attention, beam search, positions and training curves"
DESCRIPTION = """\
Write one HTML page that needs no network: attention of every head, the beam search, positions, training curves.

  tongsa view runs/mine 'I go home' 'I love you' -o page.html
  tongsa view runs/mine 'I go home' --samples dev.tsv --compare runs/other
"""
MAX_SAMPLES = 50
"""Sentences of --samples that are used: enough to tell a habit of a head from an accident."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument("texts", nargs="+", metavar="TEXT", help="sentences to show")
    parser.add_argument(
        "--samples",
        type=Path,
        metavar="FILE",
        help=f"sentences by which heads are named, one per line or source<TAB>target; the first {MAX_SAMPLES} are used",
    )
    parser.add_argument(
        "--compare", type=Path, action="append", default=[], metavar="RUN", help="another run for the training curves"
    )
    add_output_argument(parser, Path("attention.html"))


def run(options: argparse.Namespace) -> None:
    from tongsa.visualize.panels import view

    samples = read_samples(options.samples) if options.samples else []
    page = view(options.run, options.texts, samples=samples, compare=options.compare)
    write_page(options.output, page.html)


def read_samples(path: Path) -> list[str]:
    """Return the first sentences of a file; of a table, those of its first column."""
    try:
        with path.open(encoding="utf-8") as lines:
            sources = (line.rstrip("\r\n").partition("\t")[0].strip() for line in lines)
            return list(islice(filter(None, sources), MAX_SAMPLES))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--samples {path}: {error}. Give a text file in UTF-8 that can be read.") from None
