"""`tongsa shortlist`: which pieces each piece of a source may become, learnt from pairs."""

import argparse

from tongsa.cli.verbs import out, say
from tongsa.errors import InputError


def shortlist(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.decoding import shortlist
    from tongsa.text import CorpusError, Ledger, read_pairs

    if min(options.each, options.frequent) < 1:
        raise InputError("--each and --frequent are at least 1")
    loaded = bundle.load(options.run)
    if loaded.folder is None or loaded.config.task != "pairs":
        raise InputError(f"{options.run}: {bundle.CAN[loaded.config.task]}; a shortlist is for models that translate")
    ledger, languages = Ledger(None), (loaded.source_language, loaded.target_language)
    pairs = [(pair.source, pair.target) for pair in read_pairs(options.pairs, ledger, languages=languages)]
    if not pairs:
        raise CorpusError(f"{options.pairs[0]}: no usable line in it: {ledger.summary()}")
    made = shortlist.learnt(pairs, loaded.source, loaded.target, each=options.each, frequent=options.frequent)
    place = bundle.beside(loaded.folder) / shortlist.NAME
    shortlist.write(place, made, loaded.source, loaded.target)
    out(str(place))
    say(f"next: tongsa translate {options.run} --search shortlist=true")
