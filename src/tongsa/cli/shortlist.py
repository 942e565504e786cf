"""`tongsa shortlist`: which pieces each piece of a source may become, learnt from pairs."""

import argparse

from tongsa.cli.verbs import print_result, print_status
from tongsa.errors import InputError


def run(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.data.corpus import CorpusError, read_pairs
    from tongsa.data.ledger import Ledger
    from tongsa.decoding import shortlist

    if min(options.each, options.frequent) < 1:
        raise InputError("--each and --frequent are at least 1")
    loaded = bundle.load_bundle(options.run)
    if loaded.folder is None or loaded.config.task != "seq2seq":
        raise InputError(
            f"{options.run}: {bundle.TASK_COMMAND_HINTS[loaded.config.task]}; a shortlist is for models that translate"
        )
    ledger, languages = Ledger(None), (loaded.source_language, loaded.target_language)
    pairs = [(pair.source, pair.target) for pair in read_pairs(options.pairs, ledger, languages=languages)]
    if not pairs:
        raise CorpusError(f"{options.pairs[0]}: no usable line in it: {ledger.summary()}")
    made = shortlist.learn_shortlist(
        pairs,
        loaded.source_tokenizer,
        loaded.target_tokenizer,
        num_candidates=options.each,
        num_always=options.frequent,
    )
    place = bundle.artifact_folder(loaded.folder) / shortlist.SHORTLIST_FILE
    shortlist.save_shortlist(place, made, loaded.source_tokenizer, loaded.target_tokenizer)
    print_result(str(place))
    print_status(f"next: tongsa translate {options.run} --search shortlist=true")
