"""`tongsa shortlist`: a lexical shortlist, learnt from sentence pairs."""

import argparse

from tongsa.cli.data_arguments import add_data_argument
from tongsa.cli.model_arguments import add_run_argument, add_set_argument
from tongsa.cli.output import print_result, print_status
from tongsa.program import format_command

HELP = "learn a lexical shortlist, for faster decoding"
DESCRIPTION = """\
Learn a lexical shortlist from sentence pairs. Decoding then scores only the target tokens that a source makes likely.

  tongsa shortlist runs/mine --data train.tsv
  tongsa translate runs/mine --set decoding.shortlist=true < input.txt
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    add_data_argument(parser, "the training data of the model")
    add_set_argument(parser, "data.source_language=de")
    parser.add_argument("--candidates", type=int, default=40, metavar="N", help="per source token (default: 40)")
    parser.add_argument("--always", type=int, default=500, metavar="N", help="frequent tokens to keep (default: 500)")


def run(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.cli.data_format import data_format
    from tongsa.runs.shortlist import build_shortlist

    read_format = data_format(options, bundle.load_bundle(options.run))
    path = build_shortlist(
        options.run,
        options.data,
        candidates=options.candidates,
        always=options.always,
        columns=read_format.columns,
        header=read_format.header,
        encoding=read_format.encoding,
        languages=(read_format.source_language, read_format.target_language),
    )
    print_result(str(path))
    print_status(f"next: {format_command('translate {} --set decoding.shortlist=true', options.run)}")
