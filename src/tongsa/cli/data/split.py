"""`tongsa data split`: train, dev and test without leaks."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tongsa import storage
from tongsa.cli.data_arguments import add_format_arguments
from tongsa.cli.data_format import Reading, data_format
from tongsa.cli.model_arguments import add_set_argument
from tongsa.cli.output import print_status
from tongsa.data.compression import format_suffix
from tongsa.data.corpus import group_files, has_lines, read_pairs
from tongsa.data.corpus_split import Keys, split_rows, text_keys
from tongsa.data.file_patterns import expand_patterns
from tongsa.data.formats import FORMATS
from tongsa.data.ledger import Ledger
from tongsa.data.source_file import SourceFile
from tongsa.data.text_store import PairStore
from tongsa.errors import InputError

HELP = "split a corpus; duplicates and documents stay on one side"
DESCRIPTION = """\
Split a corpus into train.tsv, dev.tsv and test.tsv. Pairs with the same source or the same target (letters and digits,
without case) stay on one side, and so do the pairs of a document.

  tongsa data split corpus.tsv --dev-size 1000 --test-size 1000 -o data/mine
  tongsa data split corpus.tsv --dev-size 1000 --test-size 1000 -o data/mine --document-column 3
  tongsa data split corpus.tmx -o data/mine --set data.source_language=en --set data.target_language=ko
  tongsa data split a.en a.ko --test-size 2000 -o data/mine --by-document    blank lines separate documents
"""
COLUMN_FORMATS = {".tsv", ".csv", ".parquet", ".arrow"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", metavar="CORPUS", nargs="+", help="files of pairs, or a source and a target file")
    parser.add_argument("--dev-size", type=int, default=1000, metavar="N", help="pairs of the dev set (default: 1000)")
    parser.add_argument(
        "--test-size", type=int, default=1000, metavar="N", help="pairs of the test set (default: 1000)"
    )
    parser.add_argument(
        "-o", "--output", dest="folder", type=Path, required=True, metavar="FOLDER", help="folder to write"
    )
    add_format_arguments(parser)
    add_set_argument(parser, "data.encoding=auto")
    parser.add_argument("--document-column", type=int, metavar="N", help="column with the name of the document")
    parser.add_argument("--by-document", action="store_true", help="blank lines separate documents")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another split (default: 1)")


def run(options: argparse.Namespace) -> None:
    folder: Path = options.folder
    if min(options.dev_size, options.test_size) < 0:
        raise InputError("--dev-size, --test-size: negative. Write the number of pairs.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: exists. Choose another folder with -o.")
    files = expand_patterns(options.corpus)
    reading = data_format(options, None).reading
    with storage.replace_folder(folder) as new:
        with Ledger(new / "ledger.jsonl") as ledger:
            pairs = PairStore.from_pairs(read_pairs(files, ledger, **reading))
            ledger.check()
        keys = [text_keys(pairs.sources, len(pairs)), text_keys(pairs.targets, len(pairs))]
        if options.document_column is not None:
            keys.append(_column_keys(pairs, files, reading, options.document_column))
        elif options.by_document:
            keys.append(_blank_line_keys(pairs, files, reading["encoding"]))
        split = split_rows(keys, options.dev_size, options.test_size, options.seed)
        is_empty = [
            bool(size) and not len(rows)
            for size, rows in ((options.dev_size, split.dev), (options.test_size, split.test))
        ]
        if not len(split.train) or any(is_empty):
            raise InputError(
                f"{files[0]}: {len(pairs):,} pairs, of which {split.largest_group:,} belong together, cannot be split "
                f"into {options.dev_size:,} dev and {options.test_size:,} test pairs. Ask for fewer."
            )
        for name, rows in (("train", split.train), ("dev", split.dev), ("test", split.test)):
            _write_tsv(new / f"{name}.tsv", pairs.select(rows))
    print_status(ledger.summary())
    print_status(
        f"train {len(split.train):,} + dev {len(split.dev):,} + test {len(split.test):,} = {len(pairs):,} pairs"
    )
    held_out = len(split.dev) + len(split.test)
    print_status(
        f"a random split would have had {split.random_leak:,} of {held_out:,} dev and test pairs "
        f"with source, target or document in train; this one has 0 (largest group: {split.largest_group:,} pairs)"
    )


def _write_tsv(path: Path, pairs: PairStore) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{pair.source}\t{pair.target}\n" for pair in pairs)


def _column_keys(pairs: PairStore, files: list[str], reading: Reading, column: int) -> Keys:
    """Return a key for the document of each pair, from another column; a pair without one is a document of its own.

    Both readings have the records in the same order; each may lack some.
    """
    for unit in group_files([Path(file) for file in files]):
        if len(unit) > 1 or format_suffix(unit[0]) in FORMATS.keys() - COLUMN_FORMATS:
            raise InputError(f"--document-column: {unit[0]} has no numbered columns. Write its pairs as TSV.")
    order = {str(Path(file)): i for i, file in enumerate(files)}
    document_reading: Reading = {**reading, "columns": (column, reading["columns"][1])}
    if next(read_pairs(files, Ledger(None), **document_reading), None) is None:
        raise InputError(f"--document-column {column}: no pair has a document there. Give another column.")

    def names() -> Iterator[str]:
        documents = read_pairs(files, Ledger(None), **document_reading)
        document = next(documents, None)
        for pair in pairs:
            location = order[pair.file], pair.line
            while document and (order[document.file], document.line) < location:
                document = next(documents, None)
            is_same = document and (order[document.file], document.line) == location
            yield f"document {document.source if document and is_same else location}"

    return text_keys(names(), len(pairs))


def _blank_line_keys(pairs: PairStore, files: list[str], encoding: str) -> Keys:
    blanks: dict[str, np.ndarray] = {}
    for unit in group_files([Path(file) for file in files]):
        if not has_lines(unit[0]):
            raise InputError(f"{unit[0]}: a format without lines. Name the column of the document: --document-column.")
        lines = SourceFile(unit[0], encoding).lines()
        blanks[str(unit[0])] = np.array([n for n, line in enumerate(lines, 1) if not line.strip()], np.int64)

    def names() -> Iterator[str]:
        for pair in pairs:
            yield f"{np.searchsorted(blanks[pair.file], pair.line)} of {pair.file}"

    return text_keys(names(), len(pairs))
