"""`tongsa compare`: systems on one test set, with intervals and tests, as a table and an HTML page."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tongsa.cli.compare_grid import grid_test_set, is_grid, train_grid_runs
from tongsa.cli.data_arguments import add_data_argument
from tongsa.cli.evaluate import METRICS
from tongsa.cli.grid_arguments import add_grid_arguments
from tongsa.cli.model_arguments import (
    add_device_arguments,
    add_search_arguments,
    configure_device,
    decoding_flags,
    decoding_settings,
)
from tongsa.cli.output import add_output_argument, check_output_file, is_stream, print_result, print_status, write_page
from tongsa.cli.parser import ListAction, is_not_folder
from tongsa.errors import EXIT_FAILURE, EXIT_OK, InputError

if TYPE_CHECKING:
    from tongsa.runs.compared_systems import ComparisonOptions
    from tongsa.runs.evaluation import EvaluationSet

HELP = "compare runs, models and files of outputs on a test set, with significance tests"
DESCRIPTION = """\
Compare systems on one test set: scores with 95 % intervals, tests of all pairs in words, settings that differ,
training curves, cost, slices of the test set, and the sentences in which the systems differ most.
A system is a run, a model, or a text file with one output per line. Runs that differ only in their seed are one
setting: settings are compared over seeds and sentences. A recipe with --vary or --seeds is trained first: one run
for each setting and seed, in a folder named like the page. The same command continues an interrupted grid.

  tongsa compare runs/one runs/two --data test.tsv -o compare.html
  tongsa compare runs/mine theirs.txt --data test.de test.en --metrics bleu chrf --table compare.tex
  tongsa compare runs/one runs/two --data test.tsv --beam 1 --views 10
  tongsa compare recipe.toml --vary model.norm=pre,post --seeds 3 --budget 2m -o runs/norm.html
"""
DEFAULT_PAGE = Path("compare.html")
SETTING_TABLES = ("decoding", "data")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "systems", nargs="+", type=Path, metavar="SYSTEM", help="runs, models, files of outputs; or a recipe first"
    )
    add_data_argument(parser, "test file, or two parallel files", required=False)
    parser.add_argument("--tokenize", metavar="NAME", help="sacreBLEU tokenizer (default: by language, 13a or char)")
    parser.add_argument(
        "--metrics",
        action=ListAction,
        belongs=is_not_folder,
        choices=[*METRICS, "comet"],
        metavar="NAME",
        help=f"{', '.join(METRICS)}, comet (default: the first model's)",
    )
    parser.add_argument(
        "--comet-model", metavar="FILE", help="checkpoint of a COMET model; needs the package unbabel-comet"
    )
    parser.add_argument("--each-run", action="store_true", help="compare runs one by one, also those of one setting")
    parser.add_argument(
        "--views",
        type=int,
        default=0,
        metavar="N",
        help="also write pages of the N top sentences: attention and beam of all models",
    )
    parser.add_argument(
        "--table",
        action="append",
        type=Path,
        default=[],
        metavar="OUT",
        help="also write the main table (.csv, .md, .tex) or all numbers (.json); may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    add_search_arguments(parser)
    add_device_arguments(parser)
    add_grid_arguments(parser)
    add_output_argument(parser, DEFAULT_PAGE)


def run(options: argparse.Namespace) -> int:
    from tongsa.runs.comparison import compare_systems

    check_outputs(options)
    comparison_options = read_options(options)
    if is_grid(options):
        grid = train_grid_runs(options, comparison_options)
        systems, failures, test_set = grid.systems, grid.failures, grid_test_set(options, grid.systems[0])
    else:
        systems, failures, test_set = options.systems, "", read_test_set(options)
    comparison = compare_systems(systems, test_set, comparison_options, log=print_status)
    if is_stream(options.output):
        write_page(options.output, comparison.page.html)
    else:
        print_result(comparison.as_json() if options.json else str(comparison))
        files = comparison.save_views(options.output, options.views) if options.views else []
        for path in [comparison.save(options.output), *files, *map(comparison.save, options.table)]:
            print_status(str(path))
    if failures:
        print_status(failures)
    return EXIT_FAILURE if failures else EXIT_OK


def check_outputs(options: argparse.Namespace) -> None:
    """Raise InputError for output files of a wrong format, before the work starts."""
    from tongsa.runs.comparison import TABLES, check_suffix

    if not is_stream(options.output) and check_suffix(options.output) in (*TABLES, ".json"):
        raise InputError(f"-o {options.output}: the page is an HTML file. Write --table {options.output}")
    if options.views < 0:
        raise InputError(f"--views {options.views}: too few. Give at least 0.")
    for path in options.table:
        check_output_file(path)
        if check_suffix(path) == ".html":
            raise InputError(f"--table {path}: a table is no page. Give a name that ends in .csv, .md, .tex or .json.")


def read_test_set(options: argparse.Namespace) -> "EvaluationSet":
    """Return the files of the test set and their format."""
    from tongsa.cli.data_format import data_format
    from tongsa.runs.evaluation import EvaluationSet

    if not options.data:
        raise InputError("compare: no test set. Add --data FILE.")
    return EvaluationSet(files=options.data, **vars(data_format(options, None, SETTING_TABLES)))


def read_options(options: argparse.Namespace) -> "ComparisonOptions":
    """Return metrics and decoding of the comparison."""
    from tongsa.runs.compared_systems import ComparisonOptions
    from tongsa.runs.system_outputs import DecodingOptions

    # --set of a grid changes its runs
    settings = decoding_flags(options) if is_grid(options) else decoding_settings(options)
    decoding = DecodingOptions(settings=settings, engine=options.engine, device=configure_device(options))
    return ComparisonOptions(
        metrics=options.metrics or (),
        tokenize=options.tokenize or "",
        comet_model=options.comet_model or "",
        decoding=decoding,
        group_seeds=not options.each_run,
    )
