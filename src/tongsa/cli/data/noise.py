"""`tongsa data noise`: a copy of a test set with noise in its sources."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from tongsa.cli.data_arguments import add_format_arguments
from tongsa.cli.data_format import data_format
from tongsa.cli.model_arguments import add_set_argument, parse_tables
from tongsa.cli.output import print_status
from tongsa.errors import InputError

HELP = "write a copy of a corpus with noise in its sources"
DESCRIPTION = """\
Write the pairs of a corpus as TSV, with noise in the sources; the targets stay as they are. The same seed gives the
same file. Compare the scores of a model on both files, or of two models on the noised one.

  tongsa data noise test.tsv -o noised.tsv --set data.noise.typos=0.1
  tongsa data noise test.tsv -o noised.tsv --set data.noise.case=0.5 --set data.encoding=auto
  tongsa data noise test.ko test.en -o noised.tsv --set data.noise.spacing=0.2 --set data.noise.jamo_slips=0.1 --seed 2
  tongsa evaluate runs/mine --data noised.tsv

Noise: share, word_drop, word_swap, word_mask, case, spacing, typos, jamo_slips (docs/data.md).
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", nargs="+", metavar="CORPUS", help="file of pairs, or source and target file")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT", help="the TSV file to write")
    add_format_arguments(parser)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="random seed (default: 1)")
    add_set_argument(parser, "data.noise.typos=0.1")


def run(options: argparse.Namespace) -> None:
    from tongsa import config, storage
    from tongsa.data.corpus import read_pairs
    from tongsa.data.ledger import Ledger
    from tongsa.data.noise import NoiseConfig, add_noise, text_seed

    settings = parse_tables(options.set, ["data"])["data"]
    noise = config.build_config(NoiseConfig, settings.get("noise", {}), "data.noise")
    if not noise.is_on:
        raise InputError("--set: no noise. Write for example --set data.noise.typos=0.1")
    if options.seed < 0:
        raise InputError(f"--seed {options.seed}: below 0. Give 0 or more.")
    if options.output.exists():
        raise InputError(f"{options.output}: exists. Give another name.")
    ledger, changed = Ledger(None), 0
    pairs = read_pairs(options.corpus, ledger, **data_format(options, None).reading)

    def noised_lines() -> Iterator[str]:
        nonlocal changed
        for i, pair in enumerate(pairs):
            source = add_noise(pair.source, noise, text_seed(options.seed, 0, i))
            changed += source != pair.source
            yield f"{source}\t{pair.target}\n"
        if not ledger.kept:  # the output is not written
            raise InputError(f"{options.corpus[0]}: no usable pair. Check the format and --columns.")

    count = storage.write_lines(options.output, noised_lines())
    print_status(f"{ledger.summary()}; noise in {changed:,} of {count:,} sources; {options.output}")
