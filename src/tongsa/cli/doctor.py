"""`tongsa doctor`: what is wrong, before it costs a night."""

import argparse
import json

from tongsa.cli.verbs import out


def doctor(options: argparse.Namespace) -> int:
    from tongsa import experiment
    from tongsa.text.finding import worst

    found = experiment.findings(options.recipe, pairs=options.pairs, dev=options.dev, settings=options.set)
    level = worst(found)
    if options.json:
        out(json.dumps({"worst": level, "findings": [one.as_json() for one in found]}, ensure_ascii=False))
    else:
        for one in found:
            out(one.text)
    return 1 if level == "fault" else 0
