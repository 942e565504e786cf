"""Subtitles: SubRip (.srt) and WebVTT (.vtt). The text of a cue is a segment; its lines are joined and wrapped again.

Numbers, timestamps, cue settings, comments, styles and regions are kept. Lines of a dialogue that begin with a dash are
translated separately.
"""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tongsa.document_formats.placeholders import split_placeholders
from tongsa.document_formats.segment import Mark, MarkedText, ParsedDocument, Part, Segment, Slot, make_segment
from tongsa.document_formats.text_encoding import decode_text

_TIMING = re.compile(r"[ \t]*(?:\d+:)?\d+:\d+[,.]\d+[ \t]*-->[ \t]*(?:\d+:)?\d+:\d+[,.]\d+")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|$)")
_CUE_MARK = re.compile(r"\{\\[^{}\n]*\}|<\d[\d:.]*>")
"""A position such as {\\an8} of SubRip, and a timestamp inside a cue of WebVTT."""
_DASH = re.compile(r"(?:\{\\[^{}\n]*\}|<[^<>\n]*>|[ \t])*+[-–—]")


def parse_srt(content: bytes, name: str) -> ParsedDocument:
    return _parse(content, name, unescape=str, escape=str)


def parse_vtt(content: bytes, name: str) -> ParsedDocument:
    return _parse(content, name, unescape=html.unescape, escape=partial(html.escape, quote=False))


def _parse(
    content: bytes, name: str, *, unescape: Callable[[str], str], escape: Callable[[str], str]
) -> ParsedDocument:
    decoded = decode_text(content, name)
    text, parts, end = decoded.text, list[str | Slot](), 0
    for start, stop in _cue_texts(text):
        raw = text[start:stop]
        segment = make_segment(part if isinstance(part, Mark) else unescape(part) for part in _cue_parts(raw))
        parts += [text[end:start], Slot(segment, raw, partial(_write_cue, raw=raw, escape=escape))]
        end = stop
    parts.append(text[end:])
    return ParsedDocument([MarkedText(parts)], lambda texts: decoded.encode(texts[0]))


def _cue_texts(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the text of each cue: the lines between its timestamps and an empty line."""
    lines = [line.span(1) for line in _LINE.finditer(text)]
    is_timing = [bool(_TIMING.match(text, *line)) for line in lines]
    i = 0
    while i < len(lines):
        i += 1
        if not is_timing[i - 1]:
            continue
        first = i
        while i < len(lines) and text[slice(*lines[i])].strip() and not is_timing[i]:
            is_number = text[slice(*lines[i])].strip().isdigit() and i + 1 < len(lines) and is_timing[i + 1]
            if is_number:  # the empty line before the next cue is missing
                break
            i += 1
        if i > first:
            yield lines[first][0], lines[i - 1][1]


def _cue_parts(raw: str) -> Iterator[Part]:
    for i, line in enumerate(re.split(r"(\r\n|\r|\n)", raw)):
        if i % 2:
            newline = line
            continue
        if i:
            yield Mark(newline, "break") if _DASH.match(line) else " "
        if dash := _DASH.match(line):
            yield Mark(dash[0], "break")
            line = line[dash.end() :]
        end = 0
        for match in _CUE_MARK.finditer(line):
            yield from _text_parts(line[end : match.start()])
            yield Mark(match[0], "point")
            end = match.end()
        yield from _text_parts(line[end:])


def _text_parts(text: str) -> Iterator[Part]:
    """Yield texts and marks; a tag of WebVTT such as <c.yellow> is closed by its name without the class."""
    for part in split_placeholders(text):
        yield part if isinstance(part, str) else Mark(part.raw, part.kind, part.name.partition(".")[0])


def _write_cue(segment: Segment, *, raw: str, escape: Callable[[str], str]) -> str:
    """Write a cue in as many lines as it had; a dialogue has one line for each speaker."""
    newlines = re.findall(r"\r\n|\r|\n", raw)
    is_dialogue = any(isinstance(part, Mark) and part.kind == "break" for part in segment.parts)
    parts = segment.parts if is_dialogue or not newlines else wrap(segment.parts, len(newlines) + 1, newlines[0])
    return "".join(escape(part) if isinstance(part, str) else part.raw for part in parts)


def wrap(parts: Sequence[Part], line_count: int, newline: str) -> list[Part]:
    """Break a text at spaces into at most `line_count` lines of about the same length."""
    width = sum(len(part) for part in parts if isinstance(part, str)) / line_count
    wrapped, column, breaks = list[Part](), 0, 0
    for part in parts:
        if not isinstance(part, str):
            wrapped.append(part)
            continue
        for i, word in enumerate(part.split(" ")):
            if i:
                is_full = column > 0 and column + len(word) / 2 >= width * (breaks + 1)
                is_break = is_full and breaks < line_count - 1
                wrapped.append(newline if is_break else " ")
                breaks, column = breaks + is_break, column + 1
            wrapped.append(word)
            column += len(word)
    return wrapped
