"""Inline Markdown: emphasis, links and images are marks; code, math and addresses are placeholders."""

import re
import string
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from tongsa.data.inline_marks import PLACEHOLDER
from tongsa.document_formats.placeholders import TAG, tag_mark
from tongsa.document_formats.segment import Mark, Part, Segment

_TARGET = r"\((?:[^()\\\n]|\\.|\((?:[^()\\\n]|\\.)*+\))*+\)"
"""Address and title of a link."""
_INLINE = re.compile(
    rf"""
      (?P<code>(?<!`)(`++)(?:[^`]|(?!\2(?!`))`++){{1,2000}}?\2(?!`))
    | (?P<escape>\\[{re.escape(string.punctuation)}])
    | (?P<comment><!--.{{0,5000}}?-->)
    | (?P<autolink><[a-zA-Z][a-zA-Z0-9+.-]{{1,31}}:[^<>\s]*+>)
    | (?P<tag>{TAG.pattern})
    | (?P<math>\$(?=\S)[^$\n]{{1,400}}?(?<=\S)\$(?!\d))
    | (?P<footnote>\[\^[^\]\s]{{1,100}}\])
    | (?P<attributes>\{{[:\#.][^{{}}\n]*\}})
    | (?P<bracket>!?\[|\](?:{_TARGET}|\[[^\]\n]*+\])?+)
    | (?P<emphasis>\*{{1,3}}|_{{1,3}}|~~)
    | (?P<placeholder>{PLACEHOLDER.pattern})
    """,
    re.VERBOSE | re.DOTALL,
)
_SPECIAL = re.compile(r"[\\`*\[\]<]|(?<![^\W_])_|_(?![^\W_])")
"""Characters of a text that Markdown would read as markup."""
_BLOCK_START = re.compile(r"(?:#{1,6}(?=\s|$)|>|[-+](?=\s|$)|\d{1,9}[.)](?=\s|$)|={2,}|-{2,}|~{3,}|`{3,})")


class Delimiter(NamedTuple):
    """A bracket or a run of *, _ or ~, which is a mark if it has a partner, and text otherwise."""

    raw: str
    name: str
    can_open: bool
    can_close: bool


def split_inline(text: str, labels: Set[str] = frozenset()) -> Iterator[Part]:
    """Yield the parts of inline Markdown; `labels` are the labels of the document's link definitions."""
    tokens, end = list[Part | Delimiter](), 0
    for match in _INLINE.finditer(text):
        tokens += [text[end : match.start()], _token(match, text)]
        end = match.end()
    yield from _pair_delimiters([*tokens, text[end:]], labels)


def _token(match: re.Match[str], text: str) -> Part | Delimiter:
    raw, kind = match[0], match.lastgroup
    if kind == "escape":
        return raw[1]
    if kind in ("comment", "footnote", "attributes"):
        return Mark(raw, "point")
    if kind == "tag":
        return Mark(raw, "break") if re.match(r"<br\b", raw, re.IGNORECASE) else tag_mark(raw)
    if kind == "emphasis":
        return _emphasis(match, text)
    if kind == "bracket":
        return Delimiter(raw, "]", can_open=raw.endswith("["), can_close=raw.startswith("]"))
    return Mark(raw, "placeholder")


def _emphasis(match: re.Match[str], text: str) -> Part | Delimiter:
    """Return a delimiter of emphasis. Next to white space it does not open or close; inside a word _ is text."""
    raw, before, after = match[0], text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    is_longer_run = raw[0] in (before, after)
    if is_longer_run or (raw[0] == "_" and before.isalnum() and after.isalnum()):
        return raw
    return Delimiter(raw, raw, can_open=bool(after.strip()), can_close=bool(before.strip()))


def _pair_delimiters(tokens: Sequence[Part | Delimiter], labels: Set[str]) -> list[Part]:
    paired = [token.raw if isinstance(token, Delimiter) else token for token in tokens]
    opened: dict[str, list[int]] = {}
    for i, token in enumerate(tokens):
        if not isinstance(token, Delimiter):
            continue
        starts = opened.setdefault(token.name, [])
        if token.can_close and starts and any(paired[starts[-1] + 1 : i]):
            start = starts[-1]
            for indices in opened.values():  # delimiters between the two have no partner
                while indices and indices[-1] >= start:
                    indices.pop()
            paired[start], paired[i] = _pair_marks(paired, start, i, labels)
        elif token.can_open:
            starts.append(i)
    return paired


def _pair_marks(parts: Sequence[Part], start: int, end: int, labels: Set[str]) -> tuple[Part, Part]:
    """Return a pair of delimiters as marks; brackets without an address are text, unless the label is defined."""
    opening, closing = str(parts[start]), str(parts[end])
    if opening == "![" and closing != "]":
        return Mark(opening, "break"), Mark(closing, "break")
    if closing in ("]", "][]"):  # [label]: the label must not change
        label = "".join(part if isinstance(part, str) else part.raw for part in parts[start + 1 : end])
        if opening == "![" or label.casefold() not in labels:
            return opening, closing
        return Mark(opening, "open", "]"), Mark(f"][{label}]", "close", "]")
    name = "]" if opening == "[" else opening
    return Mark(opening, "open", name), Mark(closing, "close", name)


def write_inline(segment: Segment) -> str:
    """Write a segment as inline Markdown on one line."""
    written = ""
    for part in segment.parts:
        if isinstance(part, Mark):
            written += part.raw
            continue
        text = _SPECIAL.sub(r"\\\g<0>", part)
        is_block = not written and _BLOCK_START.match(text)
        written += f"\\{text}" if is_block and not text[0].isdigit() else text
        if is_block and text[0].isdigit():
            written = re.sub(r"^(\d+)", r"\1\\", written)
    return written


def write_cell(segment: Segment) -> str:
    """Write a segment as a cell of a table."""
    parts = (part.replace("|", "&#124;") if isinstance(part, str) else part for part in segment.parts)
    return write_inline(Segment(tuple(parts)))
