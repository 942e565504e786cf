"""`tongsa shortlist`: a lexical shortlist, learnt from sentence pairs."""

import argparse

from tongsa.cli.data_arguments import add_data_argument
from tongsa.cli.model_arguments import add_run_argument, add_set_argument
from tongsa.cli.output import print_result, print_status
from tongsa.errors import InputError
from tongsa.program import format_command

HELP = "learn a lexical shortlist, for faster decoding"
DESCRIPTION = """\
Learn a lexical shortlist from sentence pairs. Decoding then scores only the target tokens that a source makes likely.

  tongsa shortlist runs/mine --data train.tsv
  tongsa translate runs/mine --set decoding.shortlist=true < input.txt
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    add_data_argument(parser, "the training data of the model")
    add_set_argument(parser, "data.source_language=de")
    parser.add_argument("--candidates", type=int, default=40, metavar="N", help="per source token (default: 40)")
    parser.add_argument("--always", type=int, default=500, metavar="N", help="frequent tokens to keep (default: 500)")


def run(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.cli.file_format import file_format, read_file_pairs
    from tongsa.data.corpus import CorpusError, no_pairs_message
    from tongsa.data.ledger import Ledger
    from tongsa.decoding import shortlist

    for flag in ("candidates", "always"):
        if (value := getattr(options, flag)) < 1:
            raise InputError(f"--{flag} {value}: too small. Give at least 1.")
    loaded = bundle.load_bundle(options.run)
    if loaded.folder is None or loaded.config.task != "seq2seq":
        hint = bundle.TASK_COMMAND_HINTS[loaded.config.task]
        raise InputError(f"{options.run}: a shortlist is only for models that translate; {hint}")
    ledger = Ledger(None)
    read = read_file_pairs(options.data, loaded, file_format(options, loaded), ledger)
    pairs = [(pair.source, pair.target) for pair in read]
    if not pairs:
        raise CorpusError(no_pairs_message(options.data[0], ledger, "Give the training data."))
    candidates = shortlist.learn_shortlist(
        pairs,
        loaded.source_tokenizer,
        loaded.target_tokenizer,
        num_candidates=options.candidates,
        num_always=options.always,
    )
    path = bundle.artifact_folder(loaded.folder) / shortlist.SHORTLIST_FILE
    shortlist.save_shortlist(path, candidates, loaded.source_tokenizer, loaded.target_tokenizer)
    print_result(str(path))
    print_status(f"next: {format_command('translate {} --set decoding.shortlist=true', options.run)}")
