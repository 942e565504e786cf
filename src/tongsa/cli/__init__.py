"""The command line: one module per command. Results go to standard output, messages to standard error."""

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from tongsa import __version__
from tongsa.cli.model_arguments import check_argument_order
from tongsa.cli.output import STANDARD_OUTPUT, check_output_file, redirect_results
from tongsa.cli.parser import CommandParser
from tongsa.errors import (
    EXIT_FAILURE,
    EXIT_INPUT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_OK,
    OS_ERROR_REMEDIES,
    InputError,
    InterruptedRun,
    LostWorkerError,
    describe_os_error,
    readable_message,
)
from tongsa.program import on_one_line

DESCRIPTION = """\
tongsa 통사: train, inspect, compare and serve sequence-to-sequence models.

  tongsa demo                                   train English → Korean in about three minutes
  tongsa train --data my.tsv --run runs/mine    train on your own source<TAB>target lines
  tongsa translate runs/mine < input.txt        one output line per input line
  tongsa evaluate runs/mine --data test.tsv     BLEU, chrF, exact match, perplexity, with signatures
  tongsa compare runs/a runs/b --data test.tsv  which is better, and how sure that is
  tongsa view runs/mine 'a sentence'            attention of every head, as an HTML page
  tongsa ladder --data my.tsv                   the models of the papers, from RNN to Transformer, compared
  tongsa serve runs/mine                        a web page and an API on http://127.0.0.1:8000

tongsa COMMAND --help shows the arguments and more examples.
"""
COMMANDS = {
    "demo": "demo",
    "doctor": "doctor",
    "train": "train",
    "translate": "translate",
    "evaluate": "evaluate",
    "compare": "compare",
    "score": "score",
    "view": "view",
    "search-tree": "search_tree",
    "trace": "trace",
    "family": "family",
    "inspect": "inspect",
    "ladder": "ladder",
    "classify": "classify",
    "sample": "sample",
    "distil": "distil",
    "export": "export",
    "shortlist": "shortlist",
    "serve": "serve",
    "data": "data",
    "settings": "settings",
    "completion": "completion",
}
"""Name of each command and of its module here, which has HELP, DESCRIPTION, add_arguments and run."""


def build_parser() -> CommandParser:
    """Return the parser of all commands. Their modules import torch only when they run."""
    parser = CommandParser("tongsa", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"tongsa {__version__}", help="print the version")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=CommandParser)
    for name, module_name in COMMANDS.items():
        command = import_module(f"tongsa.cli.{module_name}")
        subparser = subparsers.add_parser(name, help=command.HELP, description=command.DESCRIPTION)
        command.add_arguments(subparser)
        subparser.set_defaults(run_command=command.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 success, 1 failure, 2 bad input, 130 interrupted."""
    # must be set before torch is imported: threads that spin while they wait slow down a shared machine
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    if sys.stderr is None:  # closed by the caller
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8", newline="\n")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):  # the locale may not be UTF-8; Windows would write \r\n
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace", newline="\n")
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if sys.stdout is None:
            raise InputError("standard output: closed. Redirect it to a file or to /dev/null.")
        return _run_command(words)
    except InputError as error:
        return _report(f"tongsa: {on_one_line(str(error), words)}", EXIT_INPUT_ERROR)
    except LostWorkerError as error:
        return _report(f"tongsa: {error}", EXIT_FAILURE)
    except InterruptedRun as stopped:
        return _report(f"\n{stopped}", EXIT_INTERRUPTED)
    except KeyboardInterrupt:
        return _report("\ninterrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        _discard_output()
        return EXIT_OK
    except OSError as error:
        return _report_os_error(error)


def _run_command(argv: list[str]) -> int:
    parser = build_parser()
    try:
        options = parser.parse_args(argv)
        if options.command is None:
            parser.print_help()
            return EXIT_OK
        options.argv = argv
        check_argument_order(options)
        if hasattr(options, "output"):
            check_output_file(options.output, getattr(options, "file", "-"))
        results = options.output if getattr(options, "redirects_results", False) else STANDARD_OUTPUT
        with redirect_results(results):
            return int(options.run_command(options) or EXIT_OK)
    finally:
        sys.stdout.flush()  # here, because nothing catches an error when the process exits


def _discard_output() -> None:
    """Let the flush at the exit of Python succeed."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_os_error(error: OSError) -> int:
    """Report an error that no command has explained: a file that cannot be used, or a full standard output."""
    name, is_known = error.filename, error.errno == errno.ENOENT or error.errno in OS_ERROR_REMEDIES
    if name is None and is_known:
        name = "standard output"
        _discard_output()
    message = describe_os_error(error) if name else str(error)
    return _report(f"tongsa: {f'{name}: ' if name else ''}{message}", EXIT_INPUT_ERROR if is_known else EXIT_FAILURE)


def _report(message: str, exit_code: int) -> int:
    print(readable_message(message), file=sys.stderr)  # noqa: T201
    return exit_code
