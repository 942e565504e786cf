"""The command line: one module per command. Results go to standard output, messages to standard error."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from tongsa import __version__
from tongsa.errors import (
    EXIT_FAILURE,
    EXIT_INPUT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_OK,
    InputError,
    InterruptedRun,
    LostWorkerError,
)

DESCRIPTION = """\
tongsa 통사: train, inspect, compare and serve sequence-to-sequence models.

  tongsa demo                                   train English → Korean in about three minutes
  tongsa train --data my.tsv --run runs/mine    train on your own source<TAB>target lines
  tongsa translate runs/mine < input.txt        one output line per input line
  tongsa evaluate runs/mine --data test.tsv     BLEU, chrF, exact match, perplexity, with signatures
  tongsa view runs/mine 'a sentence'            attention of every head, as an HTML page
  tongsa serve runs/mine                        a web page and an API on http://127.0.0.1:8000

tongsa COMMAND --help shows the arguments and more examples.
"""
COMMANDS = {
    "demo": "demo",
    "doctor": "doctor",
    "train": "train",
    "translate": "translate",
    "evaluate": "evaluate",
    "score": "score",
    "view": "view",
    "search-tree": "search_tree",
    "classify": "classify",
    "sample": "sample",
    "distil": "distil",
    "export": "export",
    "shortlist": "shortlist",
    "serve": "serve",
}
"""Name of each command and of its module here, which has HELP, DESCRIPTION, add_arguments and run."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands. Their modules import torch only when they run."""
    parser = argparse.ArgumentParser(
        "tongsa", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"tongsa {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module_name in COMMANDS.items():
        command = import_module(f"tongsa.cli.{module_name}")
        subparser = subparsers.add_parser(
            name,
            help=command.HELP,
            description=command.DESCRIPTION,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(subparser)
        subparser.set_defaults(run_command=command.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 success, 1 failure, 2 bad input, 130 interrupted."""
    # must be set before torch is imported: threads that spin while they wait slow down a shared machine
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    for stream in (sys.stdout, sys.stderr):  # the locale may not be UTF-8; Windows would write \r\n
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace", newline="\n")
    options = build_parser().parse_args(argv)
    options.argv = list(sys.argv[1:] if argv is None else argv)
    try:
        code: int = options.run_command(options) or EXIT_OK
        sys.stdout.flush()  # here, because nothing catches a BrokenPipeError when the process exits
        return code
    except InputError as error:
        return _report(f"tongsa: {error}", EXIT_INPUT_ERROR)
    except LostWorkerError as error:
        return _report(f"tongsa: {error}", EXIT_FAILURE)
    except InterruptedRun as stopped:
        return _report(f"\n{stopped}", EXIT_INTERRUPTED)
    except KeyboardInterrupt:
        return _report("\ninterrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK


def _report(message: str, exit_code: int) -> int:
    print(message, file=sys.stderr)  # noqa: T201
    return exit_code
