"""`tongsa evaluate`: metrics on a test set, with signatures."""

import argparse
import json
from typing import TYPE_CHECKING

from tongsa.cli.model_arguments import add_decoding_arguments, add_run_argument, decoding_settings, model_spec
from tongsa.cli.output import print_result, print_status
from tongsa.errors import InputError

if TYPE_CHECKING:
    from tongsa.bundle import Bundle
    from tongsa.data.ledger import Ledger, Pair
    from tongsa.evaluation.evaluate import EvaluationConfig

HELP = "compute BLEU, chrF, exact match, WER or perplexity on a test set"
DESCRIPTION = """\
Evaluate a model on a test set. Each score is printed with its signature.

  tongsa evaluate runs/mine --data test.tsv
  tongsa evaluate runs/mine --data test.de test.en --beam 5 --metrics bleu chrf --json
  tongsa evaluate runs/mine --data test.tsv --set decoding.coverage_penalty=0.2

A classifier is scored by accuracy and macro F1, a language model by perplexity.
Lines of the test set that are also in the training files of the run are reported on standard error.
"""
SEQ2SEQ_ONLY = ("metrics", "ensemble", "lm", "beam", "alpha", "set", "tokenize")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument("--data", nargs="+", required=True, metavar="FILE", help="test file, or two parallel files")
    parser.add_argument("--columns", nargs=2, type=int, default=(1, 2), metavar="N", help="TSV columns (default: 1 2)")
    parser.add_argument("--header", action="store_true", help="skip the first line of a TSV file")
    add_decoding_arguments(parser)
    parser.add_argument("--tokenize", metavar="NAME", help="sacreBLEU tokenizer (default: by language, 13a or char)")
    parser.add_argument(
        "--metrics",
        nargs="+",
        choices=["bleu", "chrf", "exact_match", "wer", "per"],
        metavar="NAME",
        help="bleu, chrf, exact_match, wer, per (default: the model's)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.data.ledger import Ledger
    from tongsa.evaluation.evaluate import evaluate
    from tongsa.runs.leakage import find_leakage

    loaded = bundle.load_bundle(options.run)
    is_seq2seq = loaded.config.task == "seq2seq"
    flags = [name for name in SEQ2SEQ_ONLY if getattr(options, name)]
    if flags and not is_seq2seq:
        raise InputError(f"--{flags[0]}: {loaded.kind} does not translate. Leave out --{flags[0]}.")
    ledger = Ledger(None)
    pairs = _read_pairs(options, loaded, ledger)
    if ledger.dropped:
        print_status(ledger.summary())
    text_model = model_spec(options).build() if is_seq2seq else loaded.text_model()
    leakage = find_leakage(options.run, pairs)
    if leakage.level != "ok":
        print_status(leakage.text)
    report = evaluate(text_model, [(pair.source, pair.target) for pair in pairs], _evaluation_config(options, loaded))
    if options.json:
        record = report.as_json() | {"dropped": ledger.dropped, "leakage": leakage.as_json()}
        print_result(json.dumps(record, ensure_ascii=False))
        return
    for name, score in report.scores.items():
        print_result(f"{name:12} {score.value:8.2f}  {score.signature}")
    print_result(f"{'sentences':12} {report.sentences:8,}  in {report.seconds:.1f} s")


def _read_pairs(options: argparse.Namespace, loaded: "Bundle", ledger: "Ledger") -> "list[Pair]":
    from tongsa.data.corpus import CorpusError, no_pairs_message, read_pairs, read_texts

    if loaded.config.task == "language_model":
        pairs = list(read_texts(options.data, ledger))
    else:
        columns = (options.columns[0], options.columns[1])
        languages = (loaded.source_language, loaded.target_language)
        pairs = list(read_pairs(options.data, ledger, columns=columns, languages=languages, header=options.header))
    if not pairs:
        raise CorpusError(no_pairs_message(options.data[0], ledger, "Give a file with test data."))
    return pairs


def _evaluation_config(options: argparse.Namespace, loaded: "Bundle") -> "EvaluationConfig":
    from tongsa.evaluation.evaluate import DEFAULT_METRICS, EvaluationConfig
    from tongsa.evaluation.metrics import bleu_tokenizer

    return EvaluationConfig(
        metrics=options.metrics or loaded.metrics or DEFAULT_METRICS,
        tokenize=options.tokenize or bleu_tokenizer(loaded.target_language),
        decoding=decoding_settings(options),
    )
