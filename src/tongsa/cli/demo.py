"""`tongsa demo`: train on the embedded data, evaluate, draw the attention."""

import argparse
from pathlib import Path

from tongsa.cli.data_arguments import add_training_arguments, training_settings

HELP = "train English → Korean on embedded data in about three minutes, then evaluate it"
DESCRIPTION = "Train a small English → Korean model on embedded sentence pairs, evaluate it, write an attention page."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run", type=Path, default=Path("runs/demo"), metavar="FOLDER", help="default: runs/demo")
    add_training_arguments(parser, "training.steps=300")


def run(options: argparse.Namespace) -> None:
    from tongsa.demo.demo import run_demo

    run_demo(options.run, training_settings(options))
