"""Parser of the command line: options and files in any order, errors of one sentence, suggestions for wrong words."""

import argparse
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from tongsa.errors import InputError
from tongsa.program import format_command

NEGATIVE_NUMBER = re.compile(r"-\d+(\.\d*)?$|-\.\d+$")
PLAIN_TYPE_NAMES = {
    "invalid int value:": "not a whole number:",
    "invalid float value:": "not a number:",
    "the following arguments are required:": "missing:",
}
"""Wording of argparse, and ours."""
PATH_METAVARS = ("FILE", "FOLDER", "OUT", "RECIPE", "RUN", "SYSTEM", "TEACHER")
"""Names of arguments that are paths."""


class UsageError(InputError):
    """A command line that cannot be parsed."""


class ListAction(argparse.Action):
    """Option with one or more values; given twice, the values are joined.

    `belongs` tells its values from a positional argument typed after them: in `--ensemble A B input.txt`, A and B are
    folders and input.txt is a file.
    """

    def __init__(self, option_strings: Sequence[str], *, belongs: Callable[[str], bool], **kwargs: Any) -> None:
        super().__init__(option_strings, nargs="+", **kwargs)
        self.belongs = belongs

    def __call__(
        self, _parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, _option: str | None = None
    ) -> None:
        previous = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if previous is self.default else [*previous, *values])


def is_not_folder(word: str) -> bool:
    return not os.path.isdir(word)  # noqa: PTH112 - a name that is too long is no folder, and no error here


def is_not_file(word: str) -> bool:
    return word != "-" and not os.path.isfile(word)  # noqa: PTH113 - as above


def is_not_recipe(word: str) -> bool:
    return not word.endswith(".toml")


class CommandParser(argparse.ArgumentParser):
    """Parser of `tongsa` or of one of its commands."""

    def __init__(self, prog: str, **kwargs: Any) -> None:
        super().__init__(prog, add_help=False, **kwargs)
        self.formatter_class = argparse.RawDescriptionHelpFormatter
        self.allow_abbrev = False
        self.add_argument("-h", "--help", action="help", help="show this page and exit")
        self.long_list = ""  # the last list option with several values

    def commands(self) -> "dict[str, CommandParser]":
        """Return the parsers of the commands; empty for the parser of a command."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return dict(action.choices)
        return {}

    def leaf_commands(self) -> "dict[str, CommandParser]":
        """Return the parsers of the commands that are not a group: `data noise` instead of `data`."""
        leaves = dict[str, CommandParser]()
        for name, parser in self.commands().items():
            leaves |= {f"{name} {leaf}": group for leaf, group in parser.leaf_commands().items()} or {name: parser}
        return leaves

    def command_helps(self) -> dict[str, str]:
        """Return the line of help of each command."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return {choice.dest: choice.help or "" for choice in action._choices_actions}
        return {}

    def arguments(self) -> list[argparse.Action]:
        """Return the options and positional arguments."""
        return list(self._actions)

    def format_help(self) -> str:
        if not self.commands():  # the options are listed below
            self.usage = f"%(prog)s {' '.join(self._required_words())} [options]"
        return super().format_help()

    def _required_words(self) -> Iterator[str]:
        """Yield the positional arguments and the required options, as on a line of usage."""
        for action in self._actions:
            if not action.option_strings:
                form = {"?": "[{}]", "*": "[{} ...]", "+": "{} [...]"}.get(str(action.nargs), "{}")
                yield form.format(action.metavar)
            elif action.required:
                yield f"{action.option_strings[-1]} {action.metavar or '{' + ','.join(action.choices or ()) + '}'}"

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        if args is None:
            return super().parse_known_args(args, namespace)
        if self.commands():
            self._require_command_first(list(args))
            options, extras = super().parse_known_args(args, namespace)
            if extras:
                self.error(f"{extras[0]!r}: unexpected argument")
            return options, []
        options, extras = super().parse_known_args(self._options_first(list(args)), namespace)
        if extras:
            self.error(f"{extras[0]!r}: unexpected argument")
        return options, []

    def _require_command_first(self, words: list[str]) -> None:
        """Raise UsageError if options of a command are typed before its name."""
        if not words or not self._is_option(words[0]) or words[0] in self._option_string_actions:
            return
        first = next((i for i, word in enumerate(words) if word in self.commands()), None)
        ordered = ["COMMAND", *words] if first is None else [*words[first:], *words[:first]]
        command = format_command(" ".join(["{}"] * len(ordered)), *ordered)
        raise UsageError(f"{words[0]}: an option before the command. Options follow it: {command}")

    def _options_first(self, words: list[str]) -> list[str]:
        """Return the words with all options before all positional arguments."""
        options, positionals = list[str](), list[str]()
        while words:
            word = words.pop(0)
            if word == "--":
                positionals += words
                break
            if not self._is_option(word):
                positionals.append(word)
                continue
            action = self._find_option(word)
            attached = word.partition("=")[2] if word.startswith("--") else word[2:]
            if attached == "--":  # argparse would drop it
                raise UsageError(f"{word}: -- is no value. Write the value of {action.option_strings[-1]}.")
            options.append(word)
            if word in action.option_strings:  # otherwise the value is in the same word: --beam=5, -oFILE
                values, others = self._split_values(action, words)
                options += values
                positionals += others
                words = words[len(values) + len(others) :]
        return [*options, "--", *positionals] if positionals else options

    def _split_values(self, action: argparse.Action, words: list[str]) -> tuple[list[str], list[str]]:
        """Return the values of an option, and the positional arguments directly after the values of a list."""
        limit = action.nargs if isinstance(action.nargs, int) else len(words) if action.nargs == "+" else 1
        values = list[str]()
        for word in words[:limit]:
            if self._is_option(word) or word == "--":
                break
            values.append(word)
        count = len(values)
        if isinstance(action, ListAction):
            while count > 1 and not action.belongs(values[count - 1]):
                count -= 1
            if count > 1:
                self.long_list = action.option_strings[-1]
        return values[:count], values[count:]

    def _is_option(self, word: str) -> bool:
        is_dashed = word.startswith("-") and word not in ("-", "--") and " " not in word.partition("=")[0]
        return is_dashed and not NEGATIVE_NUMBER.match(word)

    def _find_option(self, word: str) -> argparse.Action:
        name = word.partition("=")[0] if word.startswith("--") else word[:2]
        if name not in self._option_string_actions:
            from tongsa.config import did_you_mean

            known = [option for option in self._option_string_actions if option.startswith("--")]
            raise UsageError(f"{name}: unknown option of {self.prog}; {did_you_mean(name, known)}")
        return self._option_string_actions[name]

    def _get_value(self, action: argparse.Action, text: str) -> Any:
        """Convert a word; an empty path (of a shell variable that is not set) would be the current folder."""
        if not text.strip() and action.metavar in PATH_METAVARS:
            raise argparse.ArgumentError(action, "empty. Give the name of a file or folder")
        return super()._get_value(action, text)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from tongsa.config import did_you_mean

            word = "command" if self.commands() else "value"
            raise argparse.ArgumentError(action, f"{value!r}: unknown {word}; {did_you_mean(value, action.choices)}")

    def error(self, message: str) -> NoReturn:
        for theirs, ours in PLAIN_TYPE_NAMES.items():
            message = message.replace(theirs, ours)
        message = message.removeprefix("argument ").removeprefix("COMMAND: ")
        command = self.prog.partition(" ")[2]
        if "missing:" in message and self.long_list:
            message += f" ({self.long_list} took all words after it: write other arguments before it)"
        end = "" if message.endswith("?") else "."
        help_command = format_command(f"{command} --help".strip())
        raise UsageError(f"{command + ': ' if command else ''}{message}{end} See {help_command}")
