"""`tongsa data`: commands about corpora, one module each."""

import argparse
from importlib import import_module

from tongsa.cli.parser import CommandParser

COMMANDS = {
    "get": "get",
    "clean": "clean",
    "why": "why",
    "report": "report",
    "split": "split",
    "align": "align",
    "back-translate": "back_translate",
    "noise": "noise",
}
"""Name of each command and of its module here, which has HELP, DESCRIPTION, add_arguments and run."""

HELP = "make corpora: public sets, cleaning, splits, aligned documents, synthetic pairs, noised copies"
DESCRIPTION = """\
Make corpora.

  tongsa data get                                                        list the public data sets
  tongsa data get multi30k                                               download one into data/multi30k
  tongsa data clean corpus.tsv -o clean.tsv                              repairs and filters, with all reasons
  tongsa data why corpus.tsv 17                                          why a line is kept or dropped
  tongsa data report corpus.tsv -o corpus.html                           a page about a corpus
  tongsa data split corpus.tsv --test-size 1000 -o data/mine             train, dev and test without leaks
  tongsa data align book.en book.ko -o book.tsv                          pairs of sentences from two documents
  tongsa data back-translate runs/ko-en news.ko -o synthetic.tsv         synthetic pairs
  tongsa data noise test.tsv -o noised.tsv --set data.noise.typos=0.1    a copy with typing errors in the sources
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    subparsers = parser.add_subparsers(
        dest="data_command", metavar="COMMAND", title="commands", required=True, parser_class=CommandParser
    )
    for name, module_name in COMMANDS.items():
        command = import_module(f"tongsa.cli.data.{module_name}")
        subparser = subparsers.add_parser(name, help=command.HELP, description=command.DESCRIPTION)
        command.add_arguments(subparser)
        subparser.set_defaults(run_data_command=command.run)


def run(options: argparse.Namespace) -> int | None:
    result: int | None = options.run_data_command(options)
    return result
