"""`tongsa inspect`: an HTML page of heads, dropout, norms and weights over many sentences."""

import argparse
from pathlib import Path

from tongsa.cli.data_arguments import add_data_argument
from tongsa.cli.output import add_output_argument, print_result, print_status, write_page

HELP = "write an HTML page of heads, dropout, norms and weights over many sentences"
DESCRIPTION = """\
Write one HTML page about the first sentences of a file, for one model or for several side by side: patterns and
entropy of every head, what dropout changes, hidden states before and after every norm, weights and embeddings.

  tongsa inspect runs/mine --data dev.tsv -o inspect.html
  tongsa inspect runs/one runs/two --data dev.tsv --sentences 100 --draws 50
  tongsa inspect runs/mine --data dev.tsv --json > statistics.json
"""
DEFAULT_PAGE = Path("inspect.html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folders of runs or of models of one task")
    add_data_argument(parser, "file of pairs, two parallel files, or texts for a language model")
    parser.add_argument(
        "--sentences", type=int, default=50, metavar="N", help="number of sentences, up to 200 (default: 50)"
    )
    parser.add_argument("--draws", type=int, default=20, metavar="N", help="number of dropout draws (default: 20)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the dropout draws (default: 1)")
    parser.add_argument("--json", action="store_true", help="print the statistics as JSON instead of writing a page")
    add_output_argument(parser, DEFAULT_PAGE)


def run(options: argparse.Namespace) -> None:
    from tongsa.visualize.inspection import inspect

    result = inspect(
        options.runs,
        data=options.data,
        columns=tuple(options.columns or (1, 2)),
        header=options.header,
        sentences=options.sentences,
        draws=options.draws,
        seed=options.seed,
    )
    if result.skipped:
        print_status(
            f"skipped, too long for a model: {result.skipped} of {result.skipped + len(result.pairs)} sentences"
        )
    if not options.json:
        write_page(options.output, result.page.html)
    elif options.output == DEFAULT_PAGE:
        print_result(result.as_json())
    else:
        write_page(options.output, result.as_json())
