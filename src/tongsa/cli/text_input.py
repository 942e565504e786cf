"""Chunks of lines from a file or from standard input."""

import sys
from collections.abc import Iterator
from itertools import islice

LINES_PER_CHUNK = 512
"""Lines processed together when they come from a file or a pipe."""


def lines_per_chunk(file: str) -> int:
    """Return 1 for a terminal, so that each typed line is answered at once."""
    return 1 if file == "-" and sys.stdin is not None and sys.stdin.isatty() else LINES_PER_CHUNK


def read_chunks(file: str) -> Iterator[list[str]]:
    """Yield lists of lines; flush standard output after each."""
    from tongsa.data.corpus import read_lines

    lines = read_lines(file)
    while chunk := list(islice(lines, lines_per_chunk(file))):
        yield chunk
        sys.stdout.flush()
