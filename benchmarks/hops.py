"""Attention of structured self-attention by position: the weight of its hops on the first and last words of a text.

    python benchmarks/hops.py runs/nsmc-3h-r5 runs/nsmc-1h-r5 --data ratings_test.txt.gz --columns 2 3 --header

For each run: the share of all hops' weight on the first five and on the last five tokens of texts with at least 20
tokens, the share that equal weights would have, and the mean of each hop's largest weight. Tokens are subwords; </s>
counts as a token.
"""

import argparse
import json
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

import tongsa
from tongsa.data.corpus import read_pairs
from tongsa.data.ledger import Ledger

END_TOKENS = 5
"""Tokens at each end."""
MIN_TOKENS = 20
"""In shorter texts the ends are most of the text."""


class EndShares(NamedTuple):
    """Mean shares of the hops' weight, in percent."""

    first: float
    last: float
    uniform: float
    """Share of one end if all tokens had the same weight."""
    largest: float
    """Mean of the largest weight of each hop."""
    texts: int


def measure(run: Path, texts: list[str]) -> EndShares:
    classifier = tongsa.load(run, task="classification")
    shares = []
    for text in texts:
        weights = np.asarray(classifier(text).attention["hops"][0])  # (1, hop, token) or (hop, token)
        weights = weights.reshape(-1, weights.shape[-1])
        count = weights.shape[-1]
        if count >= MIN_TOKENS:
            mean = weights.mean(axis=0)
            largest = weights.max(axis=1).mean()
            shares.append((mean[:END_TOKENS].sum(), mean[-END_TOKENS:].sum(), END_TOKENS / count, largest))
    means = [100 * fmean(map(float, column)) for column in zip(*shares, strict=True)]
    return EndShares(*means, len(shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--columns", type=int, nargs=2, default=(1, 2))
    parser.add_argument("--header", action="store_true")
    parser.add_argument("--count", type=int, default=1000, help="number of texts to read")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    pairs = read_pairs([options.data], Ledger(None), columns=tuple(options.columns), header=options.header)
    texts = [pair.source for pair in islice(pairs, options.count)]
    shares = {run.name: measure(run, texts) for run in options.runs}
    if options.json:
        print(json.dumps({name: share._asdict() for name, share in shares.items()}))
        return
    for name, share in shares.items():
        print(
            f"{name}: first {END_TOKENS} tokens {share.first:.1f} %, last {END_TOKENS} tokens {share.last:.1f} %, "
            f"equal weights {share.uniform:.1f} % each; largest weight of a hop {share.largest:.1f} %; "
            f"{share.texts} texts"
        )


if __name__ == "__main__":
    main()
