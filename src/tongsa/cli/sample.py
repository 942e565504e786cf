"""`tongsa sample`: texts sampled from a language model."""

import argparse
import json

from tongsa.cli.model_arguments import add_run_argument
from tongsa.cli.output import print_result
from tongsa.errors import InputError

HELP = "sample texts from a language model"
DESCRIPTION = """\
Sample texts from a language model, one per line.

  tongsa sample runs/lm --count 5 --temperature 0.8 --top-p 0.9 --seed 2
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument("--count", type=int, default=10, metavar="N", help="number of texts (default: 10)")
    parser.add_argument("--temperature", type=float, default=1.0, metavar="T", help="softmax temperature (default: 1)")
    parser.add_argument("--top-k", type=int, default=0, metavar="K", help="sample from the K most probable tokens")
    parser.add_argument("--top-p", type=float, default=1.0, metavar="P", help="nucleus sampling with probability P")
    parser.add_argument("--min-p", type=float, default=0.0, metavar="P", help="drop tokens below P times the maximum")
    parser.add_argument("--max-tokens", type=int, default=100, metavar="N", help="maximum length (default: 100)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="random seed (default: 1)")
    parser.add_argument("--json", action="store_true", help="one JSON object per line, with the log-probability")


def run(options: argparse.Namespace) -> None:
    from tongsa import bundle
    from tongsa.decoding.sampling import SamplingConfig

    try:
        sampling = SamplingConfig(
            temperature=options.temperature,
            top_k=options.top_k,
            top_p=options.top_p,
            min_p=options.min_p,
            seed=options.seed,
        )
    except ValueError as error:
        raise InputError(str(error)) from None
    for flag in ("count", "max_tokens"):
        if (value := getattr(options, flag)) < 1:
            raise InputError(f"--{flag.replace('_', '-')} {value}: too small. Give at least 1.")
    generator = bundle.load_bundle(options.run).generator()
    for text, log_prob in generator.sample(options.count, sampling, max_tokens=options.max_tokens):
        record = {"text": text, "log_prob": log_prob}
        print_result(json.dumps(record, ensure_ascii=False) if options.json else text)
