"""`tongsa data align`: pairs of sentences from a document and its translation."""

import argparse
from pathlib import Path

from tongsa import storage
from tongsa.cli.data_arguments import add_format_arguments
from tongsa.cli.data_format import Reading, data_format
from tongsa.cli.model_arguments import add_set_argument
from tongsa.cli.output import print_status
from tongsa.data.corpus import read_texts
from tongsa.data.ledger import Ledger, Pair
from tongsa.data.sentence_splitter import Span, split_sentences
from tongsa.errors import InputError

HELP = "align the sentences of a document and its translation"
DESCRIPTION = """\
Align the sentences of two documents by length (Gale and Church 1993) and by a lexicon learned from them. The output has
source<TAB>target<TAB>bead<TAB>score; lines without a counterpart are in OUT.ledger.jsonl.

  tongsa data align book.en book.ko -o book.tsv
  tongsa data align book.en book.ko -o book.tsv --split-sentences    lines are paragraphs
  tongsa data align book.en book.ko -o book.tsv --set data.encoding=auto
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="A", help="document, one sentence per line")
    parser.add_argument("target", metavar="B", help="its translation, one sentence per line")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT", help="TSV file to write")
    add_format_arguments(parser)
    add_set_argument(parser, "data.encoding=auto")
    parser.add_argument("--split-sentences", action="store_true", help="split lines into sentences first")


def run(options: argparse.Namespace) -> None:
    from tongsa.tokenization.sentence_alignment import align_sentences

    output: Path = options.output
    if output.exists():
        raise InputError(f"{output}: exists. Choose another file with -o.")
    with storage.explain_os_errors(output), Ledger(output.with_name(output.name + ".ledger.jsonl")) as ledger:
        reading, split = data_format(options, None).reading, options.split_sentences
        sides = [_read(file, ledger, reading, split=split) for file in (options.source, options.target)]
        beads = align_sentences(*([pair.target for pair in side] for side in sides))
        lines = []
        for bead in beads:
            parts = [sides[0][i] for i in bead.source], [sides[1][j] for j in bead.target]
            if all(parts):
                texts = (" ".join(pair.target for pair in side) for side in parts)
                lines.append("\t".join((*texts, f"{len(parts[0])}-{len(parts[1])}", f"{bead.score:.2f}")) + "\n")
            for pair in (*parts[0], *parts[1]) if not all(parts) else ():
                ledger.revoke(pair, "unaligned", f"score {bead.score:.2f}")
        ledger.check()
        storage.write_text(output, "".join(lines))
    print_status(f"{len(lines):,} pairs of {len(sides[0]):,} and {len(sides[1]):,} sentences")
    print_status(ledger.summary().replace("pairs read", "sentences read"))


def _read(file: str, ledger: Ledger, reading: Reading, *, split: bool) -> list[Pair]:
    """Return the sentences of a file; each counts as one record of the ledger."""
    sentences: list[Pair] = []
    for pair in read_texts([file], ledger, **reading):
        spans = split_sentences(pair.target) if split else [Span(0, len(pair.target))]
        for number, span in enumerate(spans):
            sentence = Pair("", pair.target[span.start : span.end], pair.file, pair.line)
            sentences.append(sentence)
            if number:
                ledger.count_read(pair.file)
                ledger.keep(sentence)
    return sentences
