"""`tongsa export`: the model of a run in the format of another program."""

import argparse
from pathlib import Path

from tongsa.cli.model_arguments import add_run_argument
from tongsa.cli.output import print_result, print_status
from tongsa.errors import InputError
from tongsa.program import format_command

HELP = "convert a model to CTranslate2, ONNX or Hugging Face format"
DESCRIPTION = """\
Convert the model of a run to the format of another program, with its tokenizer.

  tongsa export runs/mine --to ctranslate2 --int8    Transformer, for a fast engine; --int8 quantizes the weights
  tongsa export runs/mine --to onnx                  any model, as graphs for ONNX Runtime
  tongsa export runs/mine --to huggingface           Transformer, for AutoModelForSeq2SeqLM of transformers

The folder is RUN/FORMAT (RUN/ctranslate2-int8 with --int8) unless -o names another. An older export there is
replaced; any other content is an error. tongsa itself converts a model for CTranslate2 when it is first used.
"""
NEXT_STEPS = {
    "ctranslate2": "{translate} uses this export, and makes it again when the weights of the run change",
    "ctranslate2, int8": "{translate} --engine ctranslate2-int8",
    "onnx": "docs/export.md shows how to use it with ONNX Runtime alone",
    "huggingface": "{folder}/README.md shows how to use it with transformers alone",
}
CUSTOM_FOLDER_HINT = "docs/export.md shows how to use {folder}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument("--to", required=True, choices=["ctranslate2", "onnx", "huggingface"], help="format")
    parser.add_argument("--int8", action="store_true", help="8-bit weights (ctranslate2)")
    parser.add_argument("-o", "--output", dest="folder", type=Path, metavar="FOLDER", help="default: RUN/FORMAT")


def run(options: argparse.Namespace) -> None:
    from tongsa.export import export

    if options.folder and options.folder.name in ("", ".."):
        raise InputError(f"-o {options.folder}: cannot be replaced. Give the name of a new folder.")
    folder = export(options.run, options.to, options.folder, int8=options.int8)
    print_result(str(folder))
    # tongsa translate looks for the export only next to the model
    hint = CUSTOM_FOLDER_HINT if options.folder else NEXT_STEPS[options.to + (", int8" if options.int8 else "")]
    print_status(f"next: {hint.format(translate=format_command('translate {}', options.run), folder=str(folder))}")
