"""XLIFF 1.2 and 2.0: a segment without a target gets the translation of its source. Inline tags are kept.

A unit with translate="no" and one that has a target already are kept.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from tongsa.document_formats.limits import DocumentFormatError
from tongsa.document_formats.placeholders import split_placeholders, tag_mark
from tongsa.document_formats.segment import Mark, MarkedText, ParsedDocument, Part, Segment, Slot, make_segment
from tongsa.document_formats.xml_tokens import Token, escape, read_xml, tokenize, unescape

UNITS = ("trans-unit", "segment")
"""Parents of source and target in XLIFF 1.2 and 2.0."""
CODE_ELEMENTS = ("ph", "bpt", "ept", "it")
"""Inline elements of XLIFF 1.2 whose content is code."""
PAIRS = ("g", "pc", "mrk", "sub")
"""Inline elements around text."""
_NOT_TRANSLATED = re.compile(r"""\stranslate\s*=\s*["']no["']""")


def parse_xliff(content: bytes, name: str) -> ParsedDocument:
    decoded = read_xml(content, name)
    tokens = list(tokenize(decoded.text))
    if not any(token.name == "xliff" for token in tokens):
        raise DocumentFormatError(f"{name}: no <xliff> element. Give an XLIFF 1.2 or 2.0 file.")
    parts, end = list[str | Slot](), 0
    for start, stop, slot in _slots(decoded.text, tokens):
        parts += [decoded.text[end:start], slot]
        end = stop
    parts.append(decoded.text[end:])
    return ParsedDocument([MarkedText(parts)], lambda texts: decoded.encode(texts[0]))


def _slots(text: str, tokens: Sequence[Token]) -> Iterator[tuple[int, int, Slot]]:
    """Yield start, end and slot of the target of each unit, which may be missing in the document."""
    path, kept_at = list[str](), 0
    first = 0
    for i, token in enumerate(tokens):
        if token.is_opening:
            path.append(token.name)
            if not kept_at and _NOT_TRANSLATED.search(token.raw):
                kept_at = len(path)
            if token.name in UNITS:
                first = i
        elif token.is_closing:
            if token.name in UNITS and "alt-trans" not in path:
                for start, end, slot in _unit_slot(text, tokens[first : i + 1]):
                    yield start, end, replace(slot, is_kept=slot.is_kept or bool(kept_at))
            if len(path) == kept_at:
                kept_at = 0
            path.pop()


def _unit_slot(text: str, unit: Sequence[Token]) -> Iterator[tuple[int, int, Slot]]:
    source = _element(unit, "source")
    if not source or not source[0].is_opening:
        return
    segment = make_segment(_inline(source[1:-1]))
    target = _element(unit, "target")
    if target and target[0].is_opening:
        start, end = target[0].end, target[-1].start
        raw = text[start:end]
        yield start, end, Slot(segment, raw, _write_inline, is_bilingual=True, is_kept=bool(raw.strip()))
        return
    if target:  # <target/>
        opening = re.sub(r"\s*/>$", ">", target[0].raw)
        render = partial(_write_target, opening=opening, prefix=_prefix(opening))
        yield target[0].start, target[0].end, Slot(segment, target[0].raw, render, is_bilingual=True)
        return
    last = (_element(unit, "seg-source") or source)[-1]
    before = unit[unit.index(source[0]) - 1]
    indent = before.raw if before.is_text and not before.raw.strip() else ""
    prefix = _prefix(source[0].raw)
    render = partial(_write_target, opening=f"{indent}<{prefix}target>", prefix=prefix)
    yield last.end, last.end, Slot(segment, "", render, is_bilingual=True)


def _element(unit: Sequence[Token], name: str) -> Sequence[Token]:
    """Return the tokens of the first element with this name, outside alternative translations; () if there is none."""
    start, alternatives = -1, 0
    for i, token in enumerate(unit):
        if token.name == "alt-trans" and not token.is_empty:
            alternatives += 1 if token.is_opening else -1
        if alternatives or token.name.rpartition(":")[2] != name:
            continue
        if token.is_empty:
            return unit[i : i + 1]
        if token.is_opening and start < 0:
            start = i
        elif token.is_closing:
            return unit[start : i + 1]
    return ()


def _prefix(tag: str) -> str:
    prefix = re.match(r"<([^\s/>:]+:)", tag)
    return prefix[1] if prefix else ""


def _inline(tokens: Sequence[Token]) -> Iterator[Part]:
    code, depth = "", 0
    for token in tokens:
        if depth or (token.name in CODE_ELEMENTS and not token.is_empty):
            depth += token.is_opening - token.is_closing
            code += token.raw
            if not depth:
                yield Mark(code, "point")
                code = ""
        elif token.is_text:
            for part in split_placeholders(unescape(token.raw)):  # the text of a mark is escaped when it is written
                yield Mark(escape(part.raw), part.kind, part.name) if isinstance(part, Mark) else part
        elif token.raw.startswith("<![CDATA["):
            yield token.raw[9:-3]
        else:
            yield tag_mark(token.raw) if token.name in PAIRS else Mark(token.raw, "point")


def _write_inline(segment: Segment) -> str:
    return "".join(escape(part) if isinstance(part, str) else part.raw for part in segment.parts)


def _write_target(segment: Segment, *, opening: str, prefix: str) -> str:
    return f"{opening}{_write_inline(segment)}</{prefix}target>"
