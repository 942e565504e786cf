"""`tongsa export`: the model of a run in the format of another program."""

import argparse

from tongsa.cli.verbs import print_result, print_status
from tongsa.errors import InputError

NEXT_STEPS = {
    "ctranslate2": "tongsa translate {run} takes it by itself, until the run has other weights",
    "ctranslate2, int8": "tongsa translate {run} --engine ctranslate2",
    "onnx": "docs/export.md shows how it is used with ONNX Runtime and nothing else",
    "huggingface": "transformers.MarianMTModel.from_pretrained({folder!r}) loads it",
}
CUSTOM_FOLDER_HINT = "docs/export.md shows how {folder} is used, without tongsa too"


def run(options: argparse.Namespace) -> None:
    from tongsa.export import export

    if options.int8 and options.to != "ctranslate2":
        raise InputError(f"--int8 goes with --to ctranslate2; leave it out for --to {options.to}")
    folder = export(options.run, options.to, options.output, int8=options.int8)
    print_result(str(folder))
    # the engine is looked for beside the model alone
    following = CUSTOM_FOLDER_HINT if options.output else NEXT_STEPS[options.to + (", int8" if options.int8 else "")]
    print_status(f"next: {following.format(run=options.run, folder=str(folder))}")
