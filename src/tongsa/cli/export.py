"""`tongsa export`: the model of a run in the format of another program."""

import argparse

from tongsa.cli.verbs import out, say
from tongsa.errors import InputError

NEXT = {
    "ctranslate2": "docs/export.md shows how it is used, from Python and without tongsa",
    "onnx": "docs/export.md shows a translation with ONNX Runtime and nothing else",
    "huggingface": "transformers.MarianMTModel.from_pretrained({folder!r}) loads it",
}


def export(options: argparse.Namespace) -> None:
    from tongsa.export import export

    if options.int8 and options.to != "ctranslate2":
        raise InputError(f"--int8 goes with --to ctranslate2; leave it out for --to {options.to}")
    folder = export(options.run, options.to, options.output, int8=options.int8)
    out(str(folder))
    say(f"next: {NEXT[options.to].format(folder=str(folder))}")
