"""`tongsa doctor`: what is wrong, before it costs a night."""

import argparse
import json

from tongsa.cli.verbs import print_result


def run(options: argparse.Namespace) -> int:
    from tongsa import runs
    from tongsa.checks.finding import worst_level

    found = runs.run_doctor(options.recipe, data=options.pairs, dev=options.dev, settings=options.set)
    level = worst_level(found)
    if options.json:
        print_result(json.dumps({"worst": level, "findings": [one.as_json() for one in found]}, ensure_ascii=False))
    else:
        for one in found:
            print_result(one.text)
    return 1 if level == "fault" else 0
