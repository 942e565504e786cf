"""Markdown: headings, paragraphs, list items, quotations and table cells are segments; each is written on one line.

Front matter, code, HTML blocks, math blocks, link definitions and the markup of blocks are kept.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tongsa.document_formats.markdown_inline import split_inline, write_cell, write_inline
from tongsa.document_formats.segment import Mark, MarkedText, ParsedDocument, Part, Segment, Slot, make_segment
from tongsa.document_formats.text_encoding import decode_text

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_CONTAINER = re.compile(r"(?:[ \t]{0,3}>[ \t]?)*+")
"""Marks of quotations at the beginning of a line."""
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+(?:\[[ xX]\][ \t]+)?|$)")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}(?:[ \t]+|$)")
_HEADING_END = re.compile(r"[ \t]+#+[ \t]*$|[ \t]+$")
_UNDERLINE = re.compile(r"[ \t]{0,3}(?:=+|-+)[ \t]*$")
_RULE = re.compile(r"[ \t]{0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})")
_DEFINITION = re.compile(r"[ \t]{0,3}\[(?P<label>[^\]\n^][^\]\n]*)\]:[ \t]*\S")
_FOOTNOTE = re.compile(r"[ \t]{0,3}\[\^[^\]\s]+\]:[ \t]*")
_TABLE_RULE = re.compile(r"[ \t]{0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_CELL = re.compile(r"(?:[^|\\`]|\\.|`[^`]*`|`)+")
_HARD_BREAK = re.compile(r"[ \t]{2,}$|\\$")
_RAW_HTML = re.compile(r"[ \t]{0,3}<(?P<name>script|pre|style|textarea|!--)", re.IGNORECASE)
_HTML_BLOCK = re.compile(
    r"[ \t]{0,3}(?:</?(?:address|article|aside|blockquote|body|center|details|dialog|div|dl|dt|dd|fieldset|figcaption|"
    r"figure|footer|form|h[1-6]|head|header|hr|html|iframe|li|link|main|menu|nav|ol|p|picture|section|source|summary|"
    r"table|tbody|td|tfoot|th|thead|title|tr|track|ul|video)\b|<[!?])",
    re.IGNORECASE,
)


def parse_markdown(content: bytes, name: str) -> ParsedDocument:
    decoded = decode_text(content, name)
    parser = _Parser([line[0] for line in _LINE.finditer(decoded.text) if line[0]])
    return ParsedDocument([MarkedText(parser.parse())], lambda texts: decoded.encode(texts[0]))


@dataclass
class _Parser:
    """Line by line. A paragraph is collected until a line ends it."""

    lines: list[str]
    parts: list[str | Slot] = field(default_factory=list)
    paragraph: list[str] = field(default_factory=list)
    """Lines of the current paragraph, without the prefix of the first."""
    in_list: bool = False

    def parse(self) -> list[str | Slot]:
        self.labels = frozenset(
            definition["label"].casefold() for line in self.lines if (definition := _DEFINITION.match(line))
        )
        i = self._skip_front_matter()
        while i < len(self.lines):
            i = self._read_block(i)
        self._end_paragraph()
        return self.parts

    def _keep(self, lines: list[str]) -> None:
        self._end_paragraph()
        self.parts.append("".join(lines))

    def _skip_front_matter(self) -> int:
        first = self.lines[0].strip() if self.lines else ""
        if first in ("---", "+++"):
            for i, line in enumerate(self.lines[1:], start=1):
                if line.strip() in (first, "..." if first == "---" else first):
                    self._keep(self.lines[: i + 1])
                    return i + 1
        return 0

    def _read_block(self, i: int) -> int:
        """Read the block that starts at a line; return the index of the line after it."""
        line = self.lines[i]
        quote = _CONTAINER.match(line)
        prefix = quote[0] if quote else ""
        body = line[len(prefix) :]
        if not body.strip():
            self._keep([line])
            return i + 1
        if end := self._raw_block_end(i, prefix, body):
            self.in_list = self.in_list and body[:1] in " \t"
            self._keep(self.lines[i:end])
            return end
        if "|" in body and i + 1 < len(self.lines) and _is_table_rule(self.lines[i + 1][len(prefix) :]):
            return self._read_table(i, prefix)
        self._read_text(prefix, body)
        return i + 1

    def _raw_block_end(self, i: int, prefix: str, body: str) -> int:
        """Return the line after a block that is not translated; 0 if none starts here."""
        item = _LIST_ITEM.match(body)
        if fence := _FENCE.match(body[item.end() :] if item else body):
            return self._find(i + 1, re.compile(rf"[ \t>]*{fence['fence']}{fence['fence'][0]}*[ \t]*$"))
        if body.strip() == "$$":
            return self._find(i + 1, re.compile(r"[ \t>]*\$\$[ \t]*$"))
        if raw := _RAW_HTML.match(body):
            end = "-->" if raw["name"] == "!--" else f"</{raw['name']}>"
            return self._find(i, re.compile(f".*{end}", re.IGNORECASE))
        if _HTML_BLOCK.match(body):
            return self._find(i, re.compile(r"[ \t]*$"))
        is_code = not self.paragraph and not self.in_list and body.startswith(("    ", "\t")) and not prefix
        is_definition = _DEFINITION.match(body)
        is_underline = self.paragraph and _UNDERLINE.match(_content(body))
        return i + 1 if is_code or is_definition or is_underline or _RULE.match(_content(body)) else 0

    def _find(self, i: int, end: re.Pattern[str]) -> int:
        """Return the index after the first line that matches, or the end of the document."""
        while i < len(self.lines) and not end.match(_content(self.lines[i])):
            i += 1
        return min(i + 1, len(self.lines))

    def _read_text(self, prefix: str, body: str) -> None:
        """Read a heading, or a line of a paragraph or list item."""
        if heading := _HEADING.match(body):
            self.in_list = False
            self._keep([prefix + heading[0]])
            text = body[heading.end() :]
            end = _HEADING_END.search(_content(text))
            stop = end.start() if end else len(_content(text))
            self._add_slot(text[:stop], write_inline)
            self.parts.append(text[stop:])
            return
        starter = _LIST_ITEM.match(body) or _FOOTNOTE.match(body)
        if starter or not self.paragraph:
            self._end_paragraph()
            self.in_list = bool(starter) or (self.in_list and body[:1] in " \t")
            indent = len(body) - len(body.lstrip(" \t"))
            start = starter.end() if starter else indent
            self.parts.append(prefix + body[:start])
            self.paragraph = [body[start:]]
        else:
            self.paragraph.append(prefix + body)

    def _end_paragraph(self) -> None:
        if not self.paragraph:
            return
        raw = "".join(self.paragraph)
        content = raw.rstrip("\r\n \t")
        self.paragraph = []
        self._add_slot(content, write_inline)
        self.parts.append(raw[len(content) :])

    def _add_slot(self, raw: str, write: Callable[[Segment], str]) -> None:
        self.parts.append(Slot(make_segment(self._inline(raw)), raw, write))

    def _inline(self, raw: str) -> list[Part]:
        """Return the parts of a text of several lines: they are joined, a hard line break is kept."""
        lines = [line[0] for line in _LINE.finditer(raw) if line[0]]
        text, breaks = "", dict[int, str]()
        for i, line in enumerate(lines):
            container = _CONTAINER.match(line) if i else None
            prefix = (container[0] if container else "") if i else ""
            body = _content(line[len(prefix) :])
            body, indent = (body.lstrip(" \t"), len(body) - len(body.lstrip(" \t"))) if i else (body, 0)
            if i and not breaks.get(len(text)):
                text += " "
            elif i:
                breaks[len(text)] += line[: len(prefix) + indent]
            hard = _HARD_BREAK.search(body) if i + 1 < len(lines) else None
            text += body[: hard.start()] if hard else body
            if hard:
                breaks[len(text)] = hard[0] + line[len(_content(line)) :]
        parts, end = list[Part](), 0
        for position, mark in breaks.items():
            parts += [*split_inline(text[end:position], self.labels), Mark(mark, "break")]
            end = position
        return [*parts, *split_inline(text[end:], self.labels)]

    def _read_table(self, i: int, prefix: str) -> int:
        self._end_paragraph()
        rule = i + 1
        while i < len(self.lines) and "|" in self.lines[i] and _content(self.lines[i]).strip():
            if i == rule:
                self._keep([self.lines[i]])
            else:
                self._read_row(self.lines[i], len(prefix))
            i += 1
        return i

    def _read_row(self, line: str, start: int) -> None:
        end = 0
        for cell in _CELL.finditer(_content(line), start):
            if text := cell[0].strip():
                offset = cell.start() + cell[0].index(text)
                self.parts.append(line[end:offset])
                self.parts.append(Slot(make_segment(split_inline(text, self.labels)), text, write_cell))
                end = offset + len(text)
        self.parts.append(line[end:])


def _content(line: str) -> str:
    """Return a line without its line end."""
    return line.rstrip("\r\n")


def _is_table_rule(line: str) -> bool:
    return "-" in line and "|" in line and bool(_TABLE_RULE.match(_content(line)))
