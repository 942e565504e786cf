"""Run `tongsa` commands inside the test process, and follow the remedies that error messages print.

`follow_remedy(arguments, message)` changes a failed command as its message says. It knows these forms:

    tongsa train --resume runs/a        the command itself; it ends at a comma, a semicolon, a full stop or a line end
    Add --rerank.  Add -o OUT.          flags are appended
    for example --run runs/mine         flags are appended
    (--set decoding.min_tokens=2)       flags are appended
    Write --set decoding.beam=3.        replaces the argument that contains the same text
    Leave out --int8.  Leave it out     flags are removed with their values; "it" is the flag that opens the message
    --count 0: … at least 1             the value of the flag is replaced
    training.step: … did you mean 'steps'?   the key is replaced
    Write tokenizer.jamo = false.       --set tokenizer.jamo=false is appended
    training: … Set shard = false.      --set training.shard=false is appended
    training.device: … Write "auto"     --set training.device=auto is appended
    Export with --to onnx.              the flag gets this value
"""

import contextlib
import io
import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tongsa.cli import COMMANDS, main

END = r"(?=[.,;)]*(?:\s|$))"
WORD = r"[^\s,;()]*[^\s,;().]"
FLAG = r"--?[a-z][a-z0-9-]*"
SECTION = "(?:data|model|tokenizer|training|decoding)"
FLAG_AND_VALUE = rf"{FLAG}(?: (?!-|or |and ){WORD})?"


@dataclass(frozen=True)
class CommandResult:
    code: int
    stdout: str
    stderr: str

    @property
    def error(self) -> str:
        """The last line of standard error: the message that ends a failed command."""
        return self.stderr.rstrip("\n").rpartition("\n")[2]


def run_command(*arguments: object, cwd: Path | None = None, stdin: str = "") -> CommandResult:
    """Run `tongsa` with these arguments in this process; `cwd` is the working directory meanwhile."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as file,
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
        mock.patch("sys.stdin", file),
    ):
        file.write(stdin)
        file.seek(0)
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as ended:  # raised by argparse
            code = int(ended.code or 0)
    return CommandResult(code, stdout.getvalue(), stderr.getvalue())


def set_flags(*assignments: str) -> list[str]:
    """Return `--set KEY=VALUE` arguments."""
    return [word for assignment in assignments for word in ("--set", assignment)]


def printed_command(message: str) -> list[str]:
    """Return the arguments of the first `tongsa …` command in a message; an empty list if there is none."""
    names = "|".join(COMMANDS)
    match = re.search(rf"tongsa ((?:{names})\b(?: (?!or |and )(?:'[^']*'|{WORD}))*){END}", message)
    return shlex.split(match.group(1)) if match else []


def follow_remedy(
    arguments: Sequence[object], message: str, placeholders: Mapping[str, object] | None = None
) -> list[str]:
    """Return the arguments changed as the message says; `placeholders` gives values for words such as FILE."""
    words = [str(argument) for argument in arguments]
    words = _changed_arguments(words, message)
    return [str((placeholders or {}).get(word, word)) for word in words]


def _changed_arguments(words: list[str], message: str) -> list[str]:
    if command := printed_command(message):
        return command
    if match := re.search(rf"[Ll]eave (?:out ((?:{FLAG}(?:, )?)+)|it out)", message):
        flags = match.group(1).split(", ") if match.group(1) else [_opening_flag(message)]
        return _without_flags(words, flags)
    if match := re.search(r"(--[a-z-]+) \S+: .* at least (\d+)", message):
        position = words.index(match.group(1))
        return [*words[: position + 1], match.group(2), *words[position + 2 :]]
    if match := re.search(r"([\w.]+): [^:]*did you mean '(\w+)'", message):
        wrong, right = match.group(1), match.group(2)
        return [word.replace(f"{wrong}=", f"{wrong.rpartition('.')[0]}.{right}=") for word in words]
    if match := re.search(rf"[Ww]rite (--[a-z-]+) ({WORD})", message):
        return _with_replacement(words, match.group(1), match.group(2))
    if assignment := _printed_assignment(message):
        return [*words, "--set", assignment]
    if match := re.search(rf"(?:Add|for example|\() ?((?:{FLAG_AND_VALUE} ?)+){END}", message):
        return [*words, *shlex.split(match.group(1))]
    if match := re.search(rf"(?:with|use|pass) ({FLAG})(?: ({WORD}))?{END}", message):
        flag, value = match.groups()
        return [*_without_flags(words, [] if flag == "--set" else [flag]), flag, *([value] if value else [])]
    raise AssertionError(f"no remedy in this message: {message}")


def _printed_assignment(message: str) -> str:
    """Return the `key=value` of a setting that a message asks for, or an empty string."""
    value = r"""["']?([^\s"',;]*[^\s"',;.])"""
    if match := re.search(rf"(?:[Ww]rite|[Ss]et|[Uu]se) (\w+(?:\.\w+)+) = {value}", message):
        return f"{match.group(1)}={match.group(2)}"
    if match := re.search(rf"\b({SECTION}): .*(?:Write|Set|Use) (\w+) = {value}", message):
        return f"{match.group(1)}.{match.group(2)}={match.group(3)}"
    if match := re.search(rf"({SECTION}[\w.]+)\b[^:]*: .*(?:Write|Choose from)(?: at \w+)? {value}", message):
        return f"{match.group(1)}={match.group(2)}"
    return ""


def _opening_flag(message: str) -> str:
    match = re.search(FLAG, message)
    assert match, message
    return match.group().rstrip(":")


def _without_flags(words: list[str], flags: Sequence[str]) -> list[str]:
    kept: list[str] = []
    removing = False
    for word in words:
        removing = word in flags or (removing and not word.startswith("-"))
        if not removing:
            kept.append(word)
    return kept


def _with_replacement(words: list[str], flag: str, value: str) -> list[str]:
    """Replace the argument that `value` corrects: the longest one that is a part of it."""
    position = max((i for i, word in enumerate(words) if word in value), key=lambda i: len(words[i]))
    before = words[:position]
    return [*(before[:-1] if before and before[-1] == flag else before), flag, value, *words[position + 1 :]]
