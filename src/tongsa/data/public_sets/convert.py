"""Text of a data set: lines of its parts, converted to what the recipes read."""

import html
import re
from collections.abc import Callable, Iterable, Iterator

_SEGMENT = re.compile(rb"<seg[^>]*>(.*)</seg>")
_TED_TEXT = re.compile(rb"<(title|description)>(.*)</\1>")


def _cmudict(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield WORD<TAB>PHONES for a word, two spaces and its phones."""
    return (line.replace(b"  ", b"\t", 1) for line in lines)


def _scan(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield COMMAND<TAB>ACTIONS for `IN: command OUT: actions`."""
    return (line.removeprefix(b"IN: ").replace(b" OUT: ", b"\t", 1) for line in lines)


def _segments(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the texts of the segments of an SGML or XML test set."""
    for line in lines:
        if match := _SEGMENT.search(line):
            text = html.unescape(match[1].decode(errors="surrogateescape")).strip()
            yield text.encode(errors="surrogateescape") + b"\n"


def _ted(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield titles, descriptions and sentences of TED talks, without the other tagged lines."""
    for line in lines:
        if match := _TED_TEXT.match(line):
            yield match[2].strip() + b"\n"
        elif not line.startswith(b"<"):
            yield line.strip() + b"\n"


CONVERTERS: dict[str, Callable[[Iterable[bytes]], Iterable[bytes]]] = {
    "": lambda lines: lines,
    "cmudict": _cmudict,
    "scan": _scan,
    "segments": _segments,
    "ted": _ted,
}
"""Name in the table → function from lines to lines, line ends included."""
