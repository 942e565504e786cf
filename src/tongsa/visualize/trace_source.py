"""Source code of recorded tensors: the line that records a value, and the function around it."""

import ast
import linecache
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tongsa.nn.recording import RecordedTensor

PACKAGE_FOLDER = Path(__file__).parent.parent
MAX_CALL_LINES = 4
"""A call of `record` may begin this many lines before its name."""


class SourceLine(NamedTuple):
    """Location of a call of `record`."""

    file: str
    """Path for display: "src/tongsa/nn/attention.py", or the file name of a user's own kind."""
    line: int
    path: str
    """Path on this machine."""


def source_line(recorded: RecordedTensor) -> SourceLine:
    """Return the line that names a recorded tensor; a long call has its name below the line where it begins."""
    path, quoted = recorded.file, f'"{recorded.name}"'
    lines = range(recorded.line, recorded.line + MAX_CALL_LINES)
    line = next((line for line in lines if quoted in linecache.getline(path, line)), recorded.line)
    return SourceLine(_display_path(path), line, path)


def _display_path(path: str) -> str:
    file = Path(path)
    inside = file.is_relative_to(PACKAGE_FOLDER)
    return f"src/tongsa/{file.relative_to(PACKAGE_FOLDER).as_posix()}" if inside else file.name


class Excerpt(NamedTuple):
    """A function with its first line number."""

    start: int
    lines: tuple[str, ...]


def excerpts(locations: Iterable[SourceLine]) -> dict[str, list[Excerpt]]:
    """Return the functions that contain these lines, by file; none for a file that cannot be read."""
    functions_by_file: dict[str, set[Excerpt]] = {}
    for location in set(locations):
        functions = functions_by_file.setdefault(location.file, set())
        bounds = _function_bounds(location.path, location.line)
        if bounds:
            lines = linecache.getlines(location.path)[bounds[0] - 1 : bounds[1]]
            functions.add(Excerpt(bounds[0], tuple(line.rstrip("\n") for line in lines)))
    return {file: sorted(functions) for file, functions in sorted(functions_by_file.items())}


def _function_bounds(path: str, line: int) -> tuple[int, int] | None:
    """Return the first and the last line of the innermost function around a line."""
    around = [bounds for bounds in _functions(path) if bounds[0] <= line <= bounds[1]]
    return max(around, default=None)


@lru_cache(maxsize=64)
def _functions(path: str) -> tuple[tuple[int, int], ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except SyntaxError:
        return ()
    return tuple(
        (node.lineno, node.end_lineno or node.lineno) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    )
