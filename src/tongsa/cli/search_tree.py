"""`tongsa search-tree`: how the beam came to its translation."""

import argparse
from pathlib import Path

from tongsa.cli.verbs import print_result, print_status


def run(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.visualize.search_tree import build_search_tree, write_page

    translator = bundle.load_bundle(options.run).translator()
    tree = build_search_tree(
        translator, options.text, beam=options.beam, alpha=options.alpha, max_pruned=options.pruned
    )
    if tree.truncated:
        print_status(f"longer than the model can read, cut: {tree.text[:60]}…")
    write_page(options.output, f"{Path(options.run).name}: {options.text}", tree)
    print_result(str(options.output))
