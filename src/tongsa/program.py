"""Commands in messages: the program as the user typed it, with arguments quoted for the shell."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

NAME = "tongsa"
PROGRAM_VARIABLE = "TONGSA_PROGRAM"
"""Environment variable of worker processes: the program as the user typed it to start them."""


def format_command(template: str, *arguments: object) -> str:
    """Return a command to print, such as `tongsa train --resume 'my run'` for "train --resume {}" and a folder."""
    return f"{program_name()} {template.format(*(_quote(str(argument)) for argument in arguments))}"


def _quote(argument: str) -> str:
    """Quote an argument for the shell if it needs it; letters of any script do not, unlike in shlex.quote."""
    return argument if re.fullmatch(r"[\w@%+=:,./-]+", argument) else shlex.quote(argument)


def on_one_line(message: str, words: Sequence[str]) -> str:
    """Return a message in which arguments with line ends, quoted as they were typed, stay on one line."""
    for word in words:
        for part in (word, word.partition("=")[2]):
            if "\n" in part:
                message = message.replace(part, part.replace("\n", "\\n"))
    return message


def program_name() -> str:
    """Return how this process was started: `tongsa`, `.venv/bin/tongsa` or `python -m tongsa`."""
    if PROGRAM_VARIABLE in os.environ:
        return os.environ[PROGRAM_VARIABLE]
    started = Path(sys.argv[0])
    if started.name == "__main__.py" and started.parent.name in (NAME, "cli"):
        module = NAME if started.parent.name == NAME else f"{NAME}.cli"
        return f"{shlex.quote(sys.orig_argv[0])} -m {module}"
    if started.stem != NAME:  # a Python program that uses the package
        return NAME
    import shutil  # here, because it is slow to import and --help does not need it

    on_path = shutil.which(NAME)
    is_on_path = on_path is not None and os.path.realpath(on_path) == os.path.realpath(started)
    return NAME if is_on_path else shlex.quote(str(started))
