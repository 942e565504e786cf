"""`tongsa export`: the model of a run in the format of another program."""

import argparse

from tongsa.cli.verbs import out, say
from tongsa.errors import InputError

NEXT = {
    "ctranslate2": "tongsa translate {run} takes it by itself, until the run has other weights",
    "ctranslate2, int8": "tongsa translate {run} --engine ctranslate2",
    "onnx": "docs/export.md shows how it is used with ONNX Runtime and nothing else",
    "huggingface": "transformers.MarianMTModel.from_pretrained({folder!r}) loads it",
}
ELSEWHERE = "docs/export.md shows how {folder} is used, without tongsa too"


def export(options: argparse.Namespace) -> None:
    from tongsa.export import export

    if options.int8 and options.to != "ctranslate2":
        raise InputError(f"--int8 goes with --to ctranslate2; leave it out for --to {options.to}")
    folder = export(options.run, options.to, options.output, int8=options.int8)
    out(str(folder))
    # the engine is looked for beside the model alone
    following = ELSEWHERE if options.output else NEXT[options.to + (", int8" if options.int8 else "")]
    say(f"next: {following.format(run=options.run, folder=str(folder))}")
