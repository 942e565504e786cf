"""`tongsa data report`: a page by which a person judges a corpus, and what each filter costs or wins in BLEU."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tongsa.cli.data.clean import add_cleaning_arguments, make_cleaning, print_report
from tongsa.cli.data_arguments import FILES
from tongsa.cli.grid_arguments import parse_seeds, repeat_command
from tongsa.cli.output import check_output_file, print_result, print_status
from tongsa.errors import InputError

if TYPE_CHECKING:
    from tongsa.data.cleaning.report_data import CorpusReport
    from tongsa.runs.ablation import AblationPlan
    from tongsa.visualize.corpus_report import Ablation

HELP = "write a page about a corpus: filters, lengths, scripts, duplicates, misaligned blocks, samples"
DESCRIPTION = """\
Write an HTML page about a corpus: what `tongsa data clean` with the same options would drop and repair, with samples,
lengths and ratios, scripts and languages, frequent pairs, and the lines where the sides slip. It writes no corpus.

  tongsa data report corpus.tsv -o corpus.html
  tongsa data report a.en a.ko -o corpus.html --set data.filters.ratio=learn
  tongsa data report corpus.tsv -o corpus.html --ablate --budget 1m --dev dev.tsv

--ablate trains a model on the corpus with all filters, with none, and without each filter that dropped a pair, and
compares their BLEU on the dev set. The runs are in the folder named like the page; the same command goes on with them.
"""
DEFAULT_PAGE = Path("corpus.html")
DEFAULT_BUDGET = "1m"
VERDICTS = {"better": "better", "worse": "worse", "disagree": "the tests disagree", "none": "no evidence"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", nargs="+", metavar="CORPUS", help="files of pairs, or a source and a target file")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=DEFAULT_PAGE,
        metavar="OUT",
        help=f"page to write (default: {DEFAULT_PAGE})",
    )
    add_cleaning_arguments(parser)
    group = parser.add_argument_group("ablation")
    group.add_argument("--ablate", action="store_true", help="train with and without each filter, and compare")
    group.add_argument("--budget", metavar="TIME", help=f"time of each training (default: {DEFAULT_BUDGET})")
    group.add_argument("--dev", **FILES, help="dev set (default: a part of CORPUS)")
    group.add_argument("--seeds", type=int, metavar="N", help="train each with seeds 1 to N (default: 1)")


def run(options: argparse.Namespace) -> None:
    from tongsa.runs.ablation import ablate_filters
    from tongsa.runs.corpus_analysis import corpus_analysis
    from tongsa.visualize.corpus_report import corpus_page

    check_arguments(options)
    cleaning = make_cleaning(options)
    report = corpus_analysis(cleaning, options.output)
    print_report(report)
    print_blocks(report)
    corpus_page(report).save(options.output)
    if options.ablate and not any(item.dropped for item in report.filters):
        print_status("no filter dropped a pair: there is nothing to compare by training")
    elif options.ablate:
        ablation = ablate_filters(cleaning, report, ablation_plan(options), print_status)
        print_ablation(ablation)
        corpus_page(report, ablation).save(options.output)
    print_status(str(options.output))


def check_arguments(options: argparse.Namespace) -> None:
    """Raise InputError before the work starts."""
    for corpus in options.corpus:
        check_output_file(options.output, corpus)
    if options.output.suffix.lower() != ".html":
        raise InputError(f"-o {options.output}: the page is an HTML file. Give a name that ends in .html.")
    for name in ("budget", "dev", "seeds"):
        if getattr(options, name) and not options.ablate:
            raise InputError(f"--{name}: only the ablation trains models. Add --ablate.")
    if options.ablate and options.task != "seq2seq":
        raise InputError(f"--ablate: compares translations, not --task {options.task}. Leave it out.")


def ablation_plan(options: argparse.Namespace) -> "AblationPlan":
    from tongsa.runs.ablation import AblationPlan

    return AblationPlan(
        folder=options.output.with_suffix(""),
        dev=tuple(options.dev),
        budget=options.budget or DEFAULT_BUDGET,
        seeds=parse_seeds(options.seeds or 1),
        command=repeat_command(options.argv),
    )


def print_blocks(report: "CorpusReport") -> None:
    for block in report.blocks:
        direction = "below" if block.shift > 0 else "above"
        print_result(
            f"misaligned: {block.file}:{block.first_line} to line {block.last_line:,}: "
            f"the source of a target is {abs(block.shift)} lines {direction}"
        )


def print_ablation(ablation: "Ablation") -> None:
    """Print a row for each training."""
    print_result(f"{'training data':28} {'pairs':>10} {ablation.metric:>7} {'95 % interval':>15} {'difference':>11}")
    for row in ablation.rows:
        name = {"all": "all filters", "none": "no filters"}.get(row.kind, f"without {row.filter}")
        interval = f"{row.score.low:.1f} … {row.score.high:.1f}" if row.score.low is not None else ""
        line = f"{name:28} {row.pairs:10,} {row.score.value:7.2f} {interval:>15}"
        if row.difference is not None:
            line += f" {row.difference:+11.2f}  {VERDICTS[row.verdict]} (p = {row.p:.3f})"
        print_result(line)
