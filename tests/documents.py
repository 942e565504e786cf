"""Commands and Python examples of the documents and of `--help`, each distinct one once."""

import ast
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from tongsa.cli import COMMANDS

ROOT = Path(__file__).parent.parent
USER_PAGES = [ROOT / "README.md", ROOT / "README.ko.md", *sorted((ROOT / "docs").rglob("*.md"))]


def fenced_blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def documented_commands() -> list[str]:
    """Return the shell commands of all pages and help texts, without comments and `.venv/bin/`.

    A script that begins with #! is one command.
    """
    commands = [command for page in USER_PAGES for block in fenced_blocks(page, "bash") for command in _commands(block)]
    commands += [command for name in ("", *COMMANDS.values()) for command in _help_commands(name)]
    return list(dict.fromkeys(commands))


def _commands(block: str) -> Iterator[str]:
    if block.startswith("#!"):
        yield block.splitlines()[0]
        return
    for line in block.replace("\\\n", " ").splitlines():
        if command := _without_comment(line.replace(".venv/bin/", "")):
            yield command


def _without_comment(line: str) -> str:
    """Return a line without its comment and without repeated spaces, except in quotes."""
    lexer = shlex.shlex(line, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = "#"
    return " ".join(lexer)


def _help_commands(name: str) -> Iterator[str]:
    """Yield the commands of a help text: indented by two spaces, explained after two more."""
    description: str = import_module(f"tongsa.cli.{name}" if name else "tongsa.cli").DESCRIPTION
    for line in description.replace("\\\n", " ").splitlines():
        if re.match(r"  (?:tongsa|echo) ", line):
            words = re.sub(r"\s+(?=--)", " ", line.strip())
            yield _without_comment(re.split(r"\s{2,}", words)[0])


def python_examples() -> list[tuple[str, list[str]]]:
    """Return each page with its Python blocks; pages with the same code (English and Korean) once."""
    pages: dict[str, tuple[str, list[str]]] = {}
    for page in USER_PAGES:
        blocks = fenced_blocks(page, "python")
        if blocks:
            code = ast.dump(ast.parse("\n".join(blocks)))
            pages.setdefault(code, (str(page.relative_to(ROOT)), blocks))
    return list(pages.values())
