"""`tongsa evaluate`: metrics on a test set, with signatures."""

import argparse

from tongsa.cli.data_arguments import add_data_argument
from tongsa.cli.model_arguments import (
    add_decoding_arguments,
    add_run_argument,
    add_tag_argument,
    decoding_settings,
    load_model,
    model_spec,
)
from tongsa.cli.output import add_results_argument, print_result, print_status
from tongsa.cli.parser import ListAction, is_not_folder
from tongsa.errors import InputError

HELP = "compute BLEU, chrF, TER, exact match, WER or perplexity on a test set, with intervals"
DESCRIPTION = """\
Evaluate a model on a test set. Each score is printed with its 95 % bootstrap interval and its signature.

  tongsa evaluate runs/mine --data test.tsv
  tongsa evaluate runs/mine --data test.de test.en --beam 5 --metrics bleu chrf --json
  tongsa evaluate runs/mine --data test.tsv --set decoding.coverage_penalty=0.2
  tongsa evaluate runs/mine --data test.tsv --by length frequency --csv -o slices.csv
  tongsa evaluate runs/mine --data test.tsv --by length position -o slices.html

A classifier is scored by accuracy and macro F1, a language model by perplexity.
Lines of the test set that are also in the training files of the run are reported on standard error.
"""
SETTING_TABLES = ("decoding", "data")
METRICS = ("bleu", "chrf", "ter", "exact_match", "wer", "per")
SLICES = ("length", "frequency", "position")
SEQ2SEQ_ONLY = ("metrics", "comet_model", "ensemble", "lm", "beam", "alpha", "split_sentences", "tokenize")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    add_data_argument(parser, "test file, or two parallel files")
    add_decoding_arguments(parser)
    add_tag_argument(parser)
    parser.add_argument("--tokenize", metavar="NAME", help="sacreBLEU tokenizer (default: by language, 13a or char)")
    parser.add_argument(
        "--metrics",
        action=ListAction,
        belongs=is_not_folder,
        choices=[*METRICS, "comet"],
        metavar="NAME",
        help=f"{', '.join(METRICS)}, comet (default: the model's)",
    )
    parser.add_argument(
        "--comet-model", metavar="FILE", help="checkpoint of a COMET model; needs the package unbabel-comet"
    )
    parser.add_argument(
        "--by",
        action=ListAction,
        belongs=is_not_folder,
        choices=SLICES,
        default=(),
        metavar="NAME",
        help="scores by length, frequency (of words in the training data) or position (in the sentence)",
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print one JSON object")
    output.add_argument("--csv", action="store_true", help="print one line of CSV for each score and slice")
    add_results_argument(parser)


def run(options: argparse.Namespace) -> None:
    from tongsa.cli.data_format import data_format
    from tongsa.runs.evaluation import EvaluationOptions, EvaluationSet, evaluate_on, report_json
    from tongsa.runs.evaluation_page import evaluation_page
    from tongsa.visualize.family import column_names

    is_page = is_page_output(options)
    loaded = load_model(options)
    is_seq2seq, decoding = loaded.config.task == "seq2seq", decoding_settings(options)
    flags = [name for name in SEQ2SEQ_ONLY if getattr(options, name)] + (["set"] if decoding else [])
    if flags and not is_seq2seq:
        flag = f"--{flags[0].replace('_', '-')}"
        raise InputError(f"{flag}: {loaded.kind} does not translate. Leave out {flag}.")
    text_model = model_spec(options).build(print_status) if is_seq2seq else loaded.text_model()
    report = evaluate_on(
        text_model,
        EvaluationSet(files=options.data, **vars(data_format(options, loaded, SETTING_TABLES))),
        EvaluationOptions(
            metrics=options.metrics or (),
            tokenize=options.tokenize or "",
            decoding=decoding,
            comet_model=options.comet_model or "",
            by=options.by,
        ),
        log=print_status,
    )
    if is_page:
        print_status(str(report))
        print_result(evaluation_page(report, column_names([options.run])[0], options.data).html)
    else:
        print_result(report_json(report) if options.json else report.as_csv() if options.csv else str(report))


def is_page_output(options: argparse.Namespace) -> bool:
    """Return whether the output is a page; raise InputError if there is nothing to draw or another format is asked."""
    if options.output.suffix.lower() != ".html":
        return False
    if options.json or options.csv:
        flag = "--json" if options.json else "--csv"
        raise InputError(f"-o {options.output}: the page is an HTML file. Leave out {flag}, or give another name.")
    if not options.by:
        raise InputError(f"-o {options.output}: a page of charts by length, frequency or position. Add --by length.")
    return True
