"""`tongsa data clean`: repaired and filtered pairs, with a reason for each line that is dropped."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tongsa.cli.data_arguments import add_format_arguments
from tongsa.cli.model_arguments import add_set_argument
from tongsa.cli.output import check_output_file, print_result, print_status
from tongsa.data.cleaning.report_data import CorpusReport
from tongsa.errors import InputError

if TYPE_CHECKING:
    from tongsa.runs.cleaning import Cleaning

HELP = "repair and filter a corpus, with all reasons in a ledger"
DESCRIPTION = """\
Repair the texts of a corpus, drop bad pairs, and write the others as TSV (or JSON lines: OUT.jsonl). The ledger
OUT.ledger.jsonl has each dropped line with all its reasons, and each repaired line; kept + dropped = read.

  tongsa data clean corpus.tsv -o clean.tsv
  tongsa data clean corpus.en corpus.ko -o clean.tsv --set data.filters.length=[3,100]
  tongsa data clean corpus.tsv -o clean.tsv --set data.filters.ratio=learn --set data.filters.near_duplicates=0.9
  tongsa data clean reviews.tsv -o clean.tsv --task classification

Filters and repairs: docs/data.md. `tongsa data why corpus.tsv 17` explains a line.
"""
SUFFIXES = ("", ".tsv", ".txt", ".jsonl")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", nargs="+", metavar="CORPUS", help="files of pairs, or a source and a target file")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT", help="file to write")
    add_cleaning_arguments(parser)


def add_cleaning_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a corpus is read and cleaned."""
    add_format_arguments(parser)
    parser.add_argument(
        "--task",
        choices=["seq2seq", "classification", "language_model"],
        default="seq2seq",
        help="labels as targets (classification) or texts without sources (language_model)",
    )
    add_set_argument(parser, "data.filters.ratio=4")


def run(options: argparse.Namespace) -> None:
    from tongsa.runs.cleaning import clean_corpus

    output: Path = options.output
    for corpus in options.corpus:
        check_output_file(output, corpus)
    if output.exists():
        raise InputError(f"{output}: exists. Give another name.")
    if output.suffix.lower() not in SUFFIXES:
        raise InputError(f"{output}: this format is not written. Write {output.stem}.tsv or {output.stem}.jsonl.")
    cleaning = make_cleaning(options)
    print_report(clean_corpus(cleaning, output))
    print_status(f"{output}; drops and repairs: {output}.ledger.jsonl")


def make_cleaning(options: argparse.Namespace) -> "Cleaning":
    """Return the cleaning of the arguments: default filters, unless `--set` changes them, and guessed languages."""
    from tongsa import config
    from tongsa.cli.model_arguments import parse_tables
    from tongsa.data.file_patterns import expand_patterns
    from tongsa.runs.cleaning import Cleaning
    from tongsa.runs.recipe import DataConfig
    from tongsa.runs.reporting import ProgressDisplay

    settings = parse_tables(options.set, ["data"])["data"]
    filters = settings.pop("filters", {})
    if isinstance(filters, dict):  # anything else is an error of the settings
        filters = {"defaults": True} | filters
    folder = config.build_config(DataConfig, {"folder": settings.get("folder", "")}, "data").folder
    flags = {"columns": options.columns} if options.columns else {}
    flags |= {"header": True} if options.header else {}
    files = expand_patterns(options.corpus, folder, parallel=options.task != "language_model")
    table = settings | flags | {"train": files, "filters": filters}
    display = ProgressDisplay()
    cleaning, remark = Cleaning(config.build_config(DataConfig, table, "data"), options.task, display).with_languages()
    if remark:
        print_status(remark)
    return cleaning


def print_report(report: CorpusReport) -> None:
    """Print the counts as a table."""
    print_result(f"{'filter':16} {'dropped':>12} {'by it alone':>12} {'pairs/s':>12}")
    for row in report.filters:
        print_result(f"{row.name:16} {row.dropped:12,} {row.alone:12,} {row.pairs_per_second:12,.0f}")
    for repair in report.repairs:
        print_result(f"repaired: {repair.name}: {repair.count:,} texts")
    for record in report.unusable:
        print_result(f"unusable: {record.name}: {record.count:,}")
    print_result(f"kept {report.kept:,} + dropped {report.dropped:,} = read {report.read:,}; {report.seconds:,.1f} s")
