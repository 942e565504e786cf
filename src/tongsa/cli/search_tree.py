"""`tongsa search-tree`: an HTML page of one beam search."""

import argparse
from pathlib import Path

from tongsa.cli.model_arguments import add_beam_arguments, add_run_argument
from tongsa.cli.output import add_output_argument, print_status, write_page

HELP = "write an HTML page of one beam search: hypotheses kept and pruned"
DESCRIPTION = """\
Write an HTML page of one beam search: which hypotheses were kept, which were pruned, and by what margin.

  tongsa search-tree runs/mine 'I go home' --beam 4 -o tree.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument("text", metavar="TEXT", help="the sentence to translate")
    add_output_argument(parser, Path("search-tree.html"))
    add_beam_arguments(parser)
    parser.add_argument("--pruned", type=int, default=3, metavar="N", help="pruned hypotheses per step (default: 3)")


def run(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.visualize.search_tree import build_search_tree, page_html

    translator = bundle.load_bundle(options.run).translator()
    tree = build_search_tree(
        translator, options.text, beam=options.beam, alpha=options.alpha, max_pruned=options.pruned
    )
    if tree.truncated:
        print_status(f"truncated, the text is longer than the model can read: {tree.text[:60]}…")
    write_page(options.output, page_html(options.run.resolve().name, tree))
