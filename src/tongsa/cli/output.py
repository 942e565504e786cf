"""Results on standard output or in the file of `-o`, messages on standard error."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from tongsa.errors import InputError

STANDARD_OUTPUT = Path("-")


def add_output_argument(parser: argparse.ArgumentParser, default: Path = STANDARD_OUTPUT) -> None:
    """Add -o. An existing file is replaced when the new one is complete; `-` is standard output."""
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=default,
        metavar="OUT",
        help=f"output file, or - for stdout (default: {default})",
    )


def add_results_argument(parser: argparse.ArgumentParser) -> None:
    """Add -o for a command whose printed results go to this file."""
    add_output_argument(parser)
    parser.set_defaults(redirects_results=True)


def is_stream(path: Path) -> bool:
    """Return whether the output is `-`, a device or a pipe, which cannot be replaced by a finished file."""
    return path == STANDARD_OUTPUT or (path.exists() and not path.is_file() and not path.is_dir())


def check_output_file(path: Path, input_file: str = "-") -> None:
    """Raise InputError if the file cannot be written or is the input, before the work starts."""
    from tongsa import storage

    with storage.explain_os_errors(path):
        if is_stream(path):
            return
        if path.is_dir():
            raise InputError(f"-o {path}: a folder. Give the name of a file.")
        if not path.parent.is_dir():
            raise InputError(f"-o {path}: there is no folder {path.parent}. Create it, or choose another one.")
        if not os.access(path.parent, os.W_OK):
            raise InputError(f"-o {path}: no permission to write in {path.parent}. Choose another folder.")
        if input_file != "-" and path.exists() and Path(input_file).exists() and path.samefile(input_file):
            raise InputError(f"-o {path}: this is the input. Give another name.")


@contextmanager
def redirect_results(path: Path) -> Iterator[None]:
    """Write the printed results to a file, which replaces `path` after success."""
    from tongsa import storage

    if path == STANDARD_OUTPUT:
        yield
        return
    temporary = path if is_stream(path) else path.with_name(path.name + ".part")
    with storage.explain_os_errors(path):
        try:
            with temporary.open("w", encoding="utf-8", newline="\n") as file, redirect_stdout(file):
                yield
            if temporary != path:
                storage.replace_file(temporary, path)
        except BaseException:
            if temporary != path:
                temporary.unlink(missing_ok=True)
            raise


def write_page(path: Path, html: str) -> None:
    """Write an HTML page and print its name, or print the page itself."""
    from tongsa import storage

    if path == STANDARD_OUTPUT:
        print_result(html)
        return
    if is_stream(path):
        path.write_text(html, "utf-8", newline="\n")
    else:
        storage.write_text(path, html)
    print_result(str(path))


def print_result(line: str) -> None:
    print(line)  # noqa: T201


def print_status(message: str) -> None:
    print(message, file=sys.stderr)  # noqa: T201
