"""`tongsa evaluate`: metrics on a test set, with signatures."""

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tongsa.cli.data_arguments import add_data_argument
from tongsa.cli.model_arguments import (
    add_decoding_arguments,
    add_run_argument,
    decoding_settings,
    load_model,
    model_spec,
)
from tongsa.cli.output import add_results_argument, print_result, print_status
from tongsa.cli.parser import ListAction, is_not_folder
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
SETTING_TABLES = ("decoding", "data")
SEQ2SEQ_ONLY = ("metrics", "ensemble", "lm", "beam", "alpha", "split_sentences", "tokenize")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    add_data_argument(parser, "test file, or two parallel files")
    add_decoding_arguments(parser)
    parser.add_argument("--tokenize", metavar="NAME", help="sacreBLEU tokenizer (default: by language, 13a or char)")
    parser.add_argument(
        "--metrics",
        action=ListAction,
        belongs=is_not_folder,
        choices=["bleu", "chrf", "exact_match", "wer", "per"],
        metavar="NAME",
        help="bleu, chrf, exact_match, wer, per (default: the model's)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_results_argument(parser)


def run(options: argparse.Namespace) -> None:
    from tongsa.data.ledger import Ledger
    from tongsa.evaluation.evaluate import evaluate
    from tongsa.runs.leakage import find_leakage

    loaded = load_model(options)
    is_seq2seq = loaded.config.task == "seq2seq"
    flags = [name for name in SEQ2SEQ_ONLY if getattr(options, name)]
    flags += ["set"] if decoding_settings(options) else []
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
    texts = [(pair.source, pair.target) for pair in pairs]
    report = evaluate(text_model, texts, _evaluation_config(options, loaded, texts))
    if options.json:
        record = report.as_json() | {"dropped": ledger.dropped, "leakage": leakage.as_json()}
        print_result(json.dumps(record, ensure_ascii=False))
        return
    for name, score in report.scores.items():
        print_result(f"{name:12} {score.value:8.2f}  {score.signature}")
    print_result(f"{'sentences':12} {report.sentences:8,}  in {report.seconds:.1f} s")


def _read_pairs(options: argparse.Namespace, loaded: "Bundle", ledger: "Ledger") -> "list[Pair]":
    from tongsa.cli.file_format import file_format, read_file_pairs
    from tongsa.data.corpus import CorpusError, no_pairs_message

    pairs = read_file_pairs(options.data, loaded, file_format(options, loaded, SETTING_TABLES), ledger)
    if not pairs:
        raise CorpusError(no_pairs_message(options.data[0], ledger, "Give a file with test data."))
    return pairs


def _evaluation_config(
    options: argparse.Namespace, loaded: "Bundle", pairs: list[tuple[str, str]]
) -> "EvaluationConfig":
    from tongsa.cli.file_format import file_format
    from tongsa.evaluation.evaluate import DEFAULT_METRICS, EvaluationConfig

    metrics = options.metrics or loaded.metrics or DEFAULT_METRICS
    language = file_format(options, loaded, SETTING_TABLES).target_language
    tokenize = options.tokenize or _bleu_tokenizer(loaded, language, metrics, [target for _, target in pairs])
    return EvaluationConfig(metrics=metrics, tokenize=tokenize, decoding=decoding_settings(options))


def _bleu_tokenizer(loaded: "Bundle", language: str, metrics: Sequence[str], references: list[str]) -> str:
    """Return the BLEU tokenizer of the target language; without one, that of the references, and say so."""
    from tongsa.evaluation.metrics import bleu_tokenizer, guess_bleu_tokenizer

    if language or loaded.config.task != "seq2seq" or "bleu" not in metrics:
        return bleu_tokenizer(language)
    tokenize, language = guess_bleu_tokenizer(references)
    if language:
        print_status(
            f"target language: {language}, guessed from the references, so BLEU uses tok:{tokenize}. "
            "To change: --tokenize NAME"
        )
    return tokenize
