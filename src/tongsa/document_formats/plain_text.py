"""Plain text: one segment per line. Line ends, empty lines and indentation are kept."""

import re

from tongsa.document_formats.placeholders import split_placeholders
from tongsa.document_formats.segment import Mark, MarkedText, ParsedDocument, Part, Segment, Slot, make_segment
from tongsa.document_formats.text_encoding import decode_text

_LINE = re.compile(r"[^\r\n]+")


def raw_text(segment: Segment) -> str:
    """Return a segment whose texts and marks are written as they are."""
    return "".join(part if isinstance(part, str) else part.raw for part in segment.parts)


def parse_plain_text(content: bytes, name: str) -> ParsedDocument:
    decoded = decode_text(content, name)
    parts, end = list[str | Slot](), 0
    for line in _LINE.finditer(decoded.text):
        parts += [decoded.text[end : line.start()], Slot(make_segment(split_placeholders(line[0])), line[0], raw_text)]
        end = line.end()
    parts.append(decoded.text[end:])
    return ParsedDocument([MarkedText(parts)], lambda texts: decoded.encode(texts[0]))


def split_lines(text: str) -> list[Part]:
    """Return the parts of a text whose line breaks are kept: each line is translated separately."""
    parts = list[Part]()
    for part in re.split(r"(\r\n|[\r\n])", text):
        parts += [Mark(part, "break")] if part and not part.strip("\r\n") else split_placeholders(part)
    return parts
