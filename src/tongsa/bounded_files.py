"""Bounded reading of files in a model or run folder: nothing in such a folder is believed.

People download models from strangers, and disks damage runs. So a file is opened without waiting, must be a regular
file, and has at most as many bytes as its kind may have. JSON and TOML also have limits on nesting and on digits.

Links. A file may be a link to a file in the same folder. It may also lead to `blobs/` of a Hugging Face cache, which
keeps each file there once and fills `snapshots/COMMIT/` with links to it. Any other link is refused: a folder from a
stranger must not choose which files of this machine are read. Folders may be links: those are the user's.
"""

import json
import os
import re
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from tongsa import system
from tongsa.errors import InputError

MAX_TOML_BYTES = 1 << 20
"""Size of settings: model.toml has about 3 kB; run.toml may list many data files."""
MAX_JSON_BYTES = 4 << 20
"""Size of descriptions, labels and the header of a tensor file."""
MAX_TOKENIZER_BYTES = 64 << 20
"""Size of a SentencePiece model; 32,000 tokens need about 1 MB."""
MAX_PROFILE_BYTES = 128 << 20
"""Size of the profile of the training data: 4 bytes per word stem, so 33 million stems."""
MAX_SHORTLIST_BYTES = 128 << 20
"""Size of a shortlist: 4 bytes per candidate of a token, so 524 candidates for each of 64,000 tokens."""
MAX_WEIGHTS_BYTES = 1 << 40
"""Size of a tensor file; available memory is usually the lower limit."""
MAX_LINE_BYTES = 1 << 20
"""Size of one line of a journal."""
MAX_NESTING = 32
"""Depth of tables and lists in TOML and JSON."""
MAX_DIGITS = 40
"""Digits of a number in TOML and JSON; a float has at most 17, with an exponent of 3."""
COPY_AGAIN = "Copy the whole folder again."

_QUOTED = re.compile(
    r'"""(?:\\.|[^\\"]|"(?!""))*+"{0,5}|'
    r"'''(?:[^']|'(?!''))*+'{0,5}|"
    r'"(?:\\.|[^"\\\n])*+"?|'
    r"'[^'\n]*+'?|#[^\n]*+",
    re.DOTALL,
)
"""Strings and comments of TOML: brackets, dots and digits in them are text."""
_BRACKET = re.compile(r"[][{}]")
_LONG_KEY = re.compile(rf"(?<![\w-])[\w-]++(?:[ \t]*\.[ \t]*[\w-]++){{{MAX_NESTING},}}")
_LONG_NUMBER = re.compile(rf"(?<!\w)[0-9]\w{{{MAX_DIGITS}}}")


class UnreadableFileError(InputError):
    """A file of a model or run folder that is missing, not a regular file, too large or damaged."""

    def __init__(self, path: Path, reason: str, remedy: str = COPY_AGAIN) -> None:
        super().__init__(f"{path}: {reason}. {remedy}")
        self.reason = reason


class MalformedTextError(ValueError):
    """JSON or TOML that is not valid, or beyond the limits of this module."""


@contextmanager
def open_regular(path: Path, max_bytes: int) -> Iterator[BinaryIO]:
    """Open a regular file of at most `max_bytes` for reading; raise UnreadableFileError for anything else."""
    try:
        descriptor = system.open_without_waiting(_follow_link(path))
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        raise UnreadableFileError(path, f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise UnreadableFileError(path, "a folder, a pipe or a device, not a file")
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size > max_bytes:
            raise UnreadableFileError(path, f"too large ({status.st_size:,} bytes; at most {max_bytes:,} are read)")
        yield file


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """Return the content of a regular file of at most `max_bytes`."""
    with open_regular(path, max_bytes) as file:
        try:
            content = file.read(max_bytes + 1)
        except OSError as error:
            raise UnreadableFileError(path, f"cannot be read ({error.strerror})") from None
    if len(content) > max_bytes:  # it has grown since it was opened
        raise UnreadableFileError(path, f"too large (at most {max_bytes:,} bytes are read)")
    return content


def read_json(path: Path, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """Return the value in a JSON file."""
    try:
        return parse_json(read_bytes(path, max_bytes))
    except MalformedTextError as error:
        raise UnreadableFileError(path, f"damaged ({error})") from None


def is_file_name(name: str) -> bool:
    """Return whether a name from a description is that of a file in the same folder: no path, no special name."""
    return bool(name) and name not in (".", "..") and not set(name) & set("/\\\0:")


def read_lines(path: Path, max_bytes: int) -> Iterator[str]:
    """Yield the lines of a file without their ends. Damaged characters are replaced, overlong lines are skipped."""
    with open_regular(path, max_bytes) as file:
        while line := file.readline(MAX_LINE_BYTES):
            is_overlong = False
            while line and len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                is_overlong, line = True, file.readline(MAX_LINE_BYTES)
            if not is_overlong:
                yield line.decode("utf-8", "replace").rstrip("\r\n")


def _follow_link(path: Path) -> Path:
    """Return the file that a link leads to, if it is an allowed one; see the top of this module."""
    if not path.is_symlink():
        return path
    try:
        folder, target = path.parent.resolve(), path.resolve()
    except RuntimeError:
        raise UnreadableFileError(path, "a symbolic link that leads to itself", "Remove it.") from None
    if target.parent == folder:
        return target
    for parent in (folder, *folder.parents):
        if parent.name == "snapshots" and target.parent == parent.parent / "blobs":
            return target
    raise UnreadableFileError(path, "a link that leads out of its folder", "Replace the link by a copy of the file.")


def parse_json(content: bytes | str) -> Any:
    """Return the value of a JSON text; raise MalformedTextError if it is not valid or beyond the limits."""
    try:
        value = json.loads(content, parse_int=_parse_int)
    except RecursionError:
        raise MalformedTextError("nested too deeply") from None
    except ValueError as error:  # not JSON, not UTF-8, or too many digits
        raise MalformedTextError(f"not valid JSON: {error}") from None
    _check_depth(value)
    return value


def _parse_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise MalformedTextError(f"a number of {len(digits):,} digits")
    return int(digits)


def _check_depth(value: Any) -> None:
    """Raise MalformedTextError for a value that is nested too deeply; without recursion."""
    level = [value]
    for _ in range(MAX_NESTING + 1):
        containers = [item for item in level if isinstance(item, dict | list)]
        level = [item for items in containers for item in (items.values() if isinstance(items, dict) else items)]
        if not level:
            return
    raise MalformedTextError("nested too deeply")


def parse_toml(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text; raise MalformedTextError if it is not valid or beyond the limits.

    The limits are checked before parsing: the time of Python's parser grows with the square of the parts of a key.
    """
    plain = _QUOTED.sub(lambda match: "" if match[0].startswith("#") else "x", text)
    depth = 0
    for bracket in _BRACKET.finditer(plain):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_NESTING:
            raise MalformedTextError("nested too deeply")
    if _LONG_KEY.search(plain):
        raise MalformedTextError("a key with too many parts")
    if _LONG_NUMBER.search(plain):
        raise MalformedTextError(f"a number or a name with more than {MAX_DIGITS} digits")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedTextError(f"not valid TOML: {error}") from None
