"""`tongsa search-tree`: how the beam came to its translation."""

import argparse
from pathlib import Path

from tongsa.cli.verbs import out, say


def search_tree(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.view.search_tree import searched, write_page

    translator = bundle.load(options.run).translator()
    tree = searched(translator, options.text, beam=options.beam, alpha=options.alpha, pruned=options.pruned)
    if tree.cut:
        say(f"longer than the model can read, cut: {tree.text[:60]}…")
    write_page(options.output, f"{Path(options.run).name}: {options.text}", tree)
    out(str(options.output))
