"""`tongsa data back-translate`: synthetic pairs from monolingual text."""

import argparse
from pathlib import Path

from tongsa.cli.data_arguments import add_format_arguments
from tongsa.cli.data_format import data_format
from tongsa.cli.model_arguments import (
    add_decoding_arguments,
    add_run_argument,
    add_sampling_arguments,
    decoding_flags,
    model_spec,
    parse_tables,
    sampling_config,
)
from tongsa.cli.output import print_status

HELP = "make synthetic pairs from monolingual text"
DESCRIPTION = """\
Translate monolingual text of the target language with a model of the other direction. The output is a TSV file of
synthetic source<TAB>text, to train on beside real pairs. Dropped lines are in OUT.ledger.jsonl.

  tongsa data back-translate runs/ko-en news.ko -o synthetic.tsv               for a model English → Korean
  tongsa data back-translate runs/ko-en news.ko -o synthetic.tsv --sample      samples instead of beam search
  tongsa data back-translate runs/en-ko news.en -o synthetic.tsv --self-train  text of the source language

If killed, the same command goes on.
"""
SETTING_TABLES = ("decoding", "sampling", "data")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument("texts", nargs="+", metavar="MONO", help="files of texts, one per line")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT", help="TSV file to write")
    parser.add_argument("--tag", default="<bt>", metavar="TAG", help="first word of each source (default: <bt>)")
    add_format_arguments(parser)
    parser.add_argument("--self-train", action="store_true", help="the texts are sources; the model writes the targets")
    parser.add_argument("--sample", action="store_true", help="sample instead of beam search")
    add_decoding_arguments(parser)
    add_sampling_arguments(parser)


def run(options: argparse.Namespace) -> None:
    from tongsa.runs.back_translation import BackTranslation, back_translate
    from tongsa.runs.translate_job import TranslateJobConfig

    settings = parse_tables(options.set, SETTING_TABLES)
    job = TranslateJobConfig(
        models=model_spec(options),
        decoding_overrides=settings["decoding"] | decoding_flags(options),
        sampling=sampling_config(options, settings["sampling"]) if options.sample else None,
    )
    reading = data_format(options, None, SETTING_TABLES).reading
    config = BackTranslation(tag=options.tag, self_train=options.self_train, reading=reading)
    ledger = back_translate(job, options.texts, options.output, config)
    print_status(ledger.summary())
