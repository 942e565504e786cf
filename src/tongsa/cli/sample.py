"""`tongsa sample`: texts sampled from a language model."""

import argparse
import json

from tongsa.cli.model_arguments import (
    add_device_arguments,
    add_run_argument,
    add_sampling_arguments,
    add_set_argument,
    load_model,
    parse_tables,
    sampling_config,
)
from tongsa.cli.output import add_results_argument, print_result
from tongsa.errors import InputError

HELP = "sample texts from a language model"
DESCRIPTION = """\
Sample texts from a language model, one per line.

  tongsa sample runs/lm --count 5 --temperature 0.8 --top-p 0.9 --seed 2
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument("--count", type=int, default=10, metavar="N", help="number of texts (default: 10)")
    add_sampling_arguments(parser)
    add_set_argument(parser, "sampling.top_k=40")
    parser.add_argument("--max-tokens", type=int, default=100, metavar="N", help="maximum length (default: 100)")
    parser.add_argument("--json", action="store_true", help="one JSON object per line, with the log-probability")
    add_results_argument(parser)
    add_device_arguments(parser)


def run(options: argparse.Namespace) -> None:
    sampling = sampling_config(options, parse_tables(options.set, ["sampling"])["sampling"])
    for flag in ("count", "max_tokens"):
        if (value := getattr(options, flag)) < 1:
            raise InputError(f"--{flag.replace('_', '-')} {value}: too small. Give at least 1.")
    generator = load_model(options).generator()
    for text, log_prob in generator.sample(options.count, sampling, max_tokens=options.max_tokens):
        record = {"text": text, "log_prob": log_prob}
        print_result(json.dumps(record, ensure_ascii=False) if options.json else text)
