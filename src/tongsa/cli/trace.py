"""`tongsa trace`: an HTML page with every tensor from a text to its output."""

import argparse
from pathlib import Path
from typing import Any

from tongsa.cli.model_arguments import add_run_argument
from tongsa.cli.output import add_output_argument, print_status, write_page
from tongsa.errors import InputError

HELP = "write an HTML page with every tensor from a text to its output, with equations and lines of code"
DESCRIPTION = """\
Write one HTML page that follows a text through the model: every tensor, its equation, and its line of code.

  tongsa trace runs/mine 'I go home' -o trace.html
  tongsa trace runs/mine 'I go home' --target '나는 집에 간다'    the tensors for a given output
  tongsa trace runs/mine 'a long text …' --layers 1            only layer 1: a smaller page
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument("text", metavar="TEXT", help="the text to trace")
    add_output_argument(parser, Path("trace.html"))
    parser.add_argument("--target", metavar="TEXT", help="trace this output (a label for a classifier)")
    parser.add_argument("--tour", type=Path, metavar="FILE", help="a guided tour of your own (JSON)")
    parser.add_argument("--layers", type=_layers, metavar="N,N", help="layers to record, from 1 (default: all)")


def _layers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise InputError(f"--layers {text}: not a list of numbers. Write for example --layers 1,2.") from None


def run(options: argparse.Namespace) -> None:
    from tongsa.visualize.tours import load_tour
    from tongsa.visualize.trace import trace

    tour = None if options.tour is None else load_tour(options.tour)
    result = trace(options.run, options.text, target=options.target, layers=options.layers)
    result.tour = tour
    if result.example.truncated:
        print_status(f"truncated, the text is longer than the model can read: {result.example.text[:60]}…")
    if result.is_reduced:
        print_status(_reduction(result.data["recorded"]))
    write_page(options.output, result.page.html)


def _reduction(recorded: dict[str, Any]) -> str:
    """Return what a page lacks because of its size."""
    layers = None if recorded["chosen"] else recorded["layers"]
    parts = [f"layers {', '.join(map(str, layers))} of {len(recorded['all_layers'])}"] if layers else []
    parts += ["numbers in half precision"] if recorded["precision"] == "float16" else []
    reason = "or the page would be too large. Choose layers with --layers, or shorten the text."
    return f"recorded: {'; '.join(parts)}, {reason}"
