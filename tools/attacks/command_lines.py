"""Attacks on the command line: random arguments of the real parser with hostile values, parsed alone or run."""

import argparse
import io
import os
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from random import Random

from attacks.fixture import Fixture, copy_folder
from attacks.outcomes import Outcome, WrongAnswerError
from tongsa.cli import build_parser, main
from tongsa.cli.model_arguments import check_argument_order
from tongsa.cli.output import check_output_file
from tongsa.cli.parser import CommandParser
from tongsa.errors import EXIT_INPUT_ERROR, EXIT_OK, OS_ERROR_REMEDIES, InputError
from tongsa.program import on_one_line

VALUES = [
    "",
    " ",
    "0",
    "-1",
    "1e308",
    "nan",
    "inf",
    "9" * 400,
    "1" * 5000,
    "x",
    "--",
    "-",
    "-x",
    "--x=y",
    "a=b",
    "a.b=c",
]
VALUES += ["decoding.beam=1000000000", "decoding.alpha=nan", "model.width=[[", "=", "k=", "\n", "\u202e", "\udcff"]
VALUES += [
    "가",
    "🙂",
    "/dev/null",
    "/dev/full",
    "/proc/self/mem",
    "/",
    "..",
    "~",
    "nowhere",
    "x" * 5000,
    "[",
    "{}",
    "1:2",
]
VALUES += [
    "2m",
    "1d",
    "-5m",
    "99999999999h",
    "1/0",
    "0x10",
    "1_000",
    "٣",
    "True",
    "null",
    "%s",
    "{}{}",
    "$(id)",
    "' \"",
]
QUICK_COMMANDS = (
    "translate",
    "evaluate",
    "score",
    "classify",
    "sample",
    "search-tree",
    "settings",
    "export",
    "shortlist",
)
"""Commands that are run: they end in a moment with a tiny model, use no network and start no server."""
FORBIDDEN = ("ray", "cuda", "mps", "--workers", "--executor", "--address")


@cache
def parser() -> CommandParser:
    """Return the parser of all commands; building it takes longer than a case."""
    return build_parser()


def random_line(rng: Random, files: Sequence[str], commands: Sequence[str] = ()) -> list[str]:
    """Return the words of a random command line: options of one command, most with a value."""
    leaves = parser().leaf_commands()
    name = rng.choice(list(commands) or [*leaves, *leaves, "nothing", ""])
    words = name.split()
    if name not in leaves:
        return [*words, *rng.choices(VALUES, k=rng.randrange(3))]
    actions = [action for action in leaves[name]._actions if not isinstance(action, argparse._HelpAction)]
    for action in rng.sample(actions, rng.randrange(min(len(actions), 5) + 1)):
        words += random_argument(rng, action, files)
    if files and rng.random() < 0.9:
        words.insert(len(name.split()), rng.choice(files))
    if rng.random() < 0.1:
        words += rng.choices(VALUES, k=2)
    return words


def random_argument(rng: Random, action: argparse.Action, files: Sequence[str]) -> list[str]:
    def value() -> str:
        usual = [str(choice) for choice in action.choices or ()] or ["1", "2", *files]
        return rng.choice(usual if rng.random() < 0.4 else VALUES)

    option = [rng.choice(action.option_strings)] if action.option_strings else []
    if action.nargs == 0 or rng.random() < 0.05:
        return option
    count = action.nargs if isinstance(action.nargs, int) else rng.choice((1, 1, 2)) if action.nargs == "+" else 1
    if option and option[0].startswith("--") and count == 1 and rng.random() < 0.2:
        return [f"{option[0]}={value()}"]
    return option + [value() for _ in range(count)]


def attack_parser(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Parse a random line as `main` does, without running the command."""
    del scratch
    words = random_line(rng, [str(fixture.run), str(fixture.pairs), "x.tsv"])
    parser().long_list = ""
    try:
        with redirect_stdout(io.StringIO()):
            options = parser().parse_args(words)
        if options.command is not None:
            options.argv = words
            check_argument_order(options)
            if hasattr(options, "output"):
                check_output_file(options.output, getattr(options, "file", "-"))
    except OSError as error:
        if error.errno not in OS_ERROR_REMEDIES:  # these `main` explains
            raise
        return Outcome.REFUSED
    except InputError as error:
        raise InputError(on_one_line(str(error), words)) from None
    except SystemExit as stopped:  # --help, --version
        if stopped.code:
            raise WrongAnswerError(f"{words}: exit code {stopped.code} without a message") from None
        return Outcome.NO_EFFECT
    return Outcome.NO_EFFECT


def attack_command(rng: Random, fixture: Fixture, scratch: Path) -> Outcome:
    """Run a random line with a tiny model: success, or exit code 2 and one message."""
    run = copy_folder(fixture.run, scratch / "run")
    (scratch / "texts.txt").write_text("a b\n\nc\n", "utf-8", newline="\n")
    words = random_line(rng, [str(run), str(run), str(scratch / "texts.txt")], QUICK_COMMANDS)
    if any(word.startswith(FORBIDDEN) for word in words):
        return Outcome.NO_EFFECT
    os.chdir(scratch)
    run_command(words)
    return Outcome.NO_EFFECT


def run_command(words: Sequence[str]) -> None:
    """Run a command in this process; raise its message as InputError, and WrongAnswerError for another end."""
    messages = io.StringIO()
    with redirect_stderr(messages), redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")):
        try:
            code = main(words)
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else EXIT_OK
    if code == EXIT_INPUT_ERROR:
        raise InputError(messages.getvalue().rstrip("\n").rpartition("tongsa: ")[2] or "no message")
    if code != EXIT_OK:
        raise WrongAnswerError(f"{list(words)}: exit code {code}: {messages.getvalue()[-300:]!r}")
