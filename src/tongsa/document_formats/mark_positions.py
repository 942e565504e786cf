"""Positions of marks in a translation: placeholders are found in it, marks of format follow the word alignment.

An opening and a closing mark enclose the target words that are aligned with the source words between them. A point
stays with the word that it is attached to: after the word before it, or before the next word if it follows a space.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from tongsa.data.sentence_splitter import Span
from tongsa.document_formats.segment import Mark, Part

MAX_MARKS = 1_000
"""Marks of one kind in a unit, for which positions are searched; with more, the strings between them are translated."""
_SPACE = re.compile(r"\s+")
_TRAILING_PUNCTUATION = re.compile(r"[\s.,;:!?…。，、！？]+$")


class WordLink(NamedTuple):
    """A source word and a target word that are aligned, as spans of characters."""

    source: Span
    target: Span


class MarkedTranslation(NamedTuple):
    parts: list[Part]
    is_exact: bool
    """The words at all marks are aligned; otherwise the position of a mark is a guess."""


class UnitText(NamedTuple):
    """The text of a unit as the model reads it: on one line, with placeholders, without marks of format."""

    text: str
    format_marks: Sequence[tuple[int, Mark]]
    """Marks of format with their positions in the text."""
    placeholders: Sequence[Mark]


def read_unit(parts: Sequence[Part]) -> UnitText:
    """Return the text of a unit, with its marks."""
    text, format_marks, placeholders = "", list[tuple[int, Mark]](), list[Mark]()
    pairs = Counter(part.pair for part in parts if isinstance(part, Mark))
    for part in parts:
        if isinstance(part, Mark) and part.kind != "placeholder":
            is_divided = part.kind in ("open", "close") and pairs[part.pair] < 2  # the partner is in another unit
            format_marks.append((len(text), replace(part, kind="point") if is_divided else part))
            continue
        if isinstance(part, Mark):
            placeholders.append(part)
        joined = _SPACE.sub(" ", part) if isinstance(part, str) else part.raw
        text += joined.lstrip() if text.endswith(" ") and isinstance(part, str) else joined
    return UnitText(text, format_marks, placeholders)


def find_placeholders(text: str, placeholders: Sequence[Mark]) -> list[Part] | None:
    """Split a translation at its placeholders. Return None unless it has exactly those of the source."""
    by_raw = {mark.raw: mark for mark in placeholders}
    if not by_raw:
        return [text]
    if len(by_raw) > MAX_MARKS:
        return None
    pattern = "|".join(map(re.escape, sorted(by_raw, key=len, reverse=True)))
    parts: list[Part] = [by_raw.get(part, part) for part in re.split(f"({pattern})", text)]
    counts = Counter(part.raw for part in parts if isinstance(part, Mark))
    return parts if counts == Counter(mark.raw for mark in placeholders) else None


def insert_marks(
    unit: UnitText, target: Sequence[Part], links: Sequence[WordLink], *, keeps_order: bool
) -> MarkedTranslation | None:
    """Insert the marks of format into a translation.

    Return None if no words are aligned, or if the marks would not be nested (or in order, if required).
    """
    if not unit.format_marks:
        return MarkedTranslation(list(target), is_exact=True)
    if len(unit.format_marks) > MAX_MARKS or not links:
        return None
    target_text = "".join(part if isinstance(part, str) else part.raw for part in target)
    protected, is_exact = _placeholder_spans(target), True
    closing = {mark.pair: (position, mark) for position, mark in unit.format_marks if mark.kind == "close"}
    events = list[tuple[tuple[int, ...], int, Mark]]()
    for index, (position, mark) in enumerate(unit.format_marks):
        if mark.kind == "point":
            is_before_word = unit.text[:position].endswith(" ")
            offset = _point_position(position, links, is_before_word=is_before_word)
            offset = _outside(offset, protected, "start" if is_before_word else "end")
            events.append(((offset, 1, index), offset, mark))
        elif mark.kind == "open":
            source_end, close = closing[mark.pair]
            enclosed = Span(position, source_end)
            is_exact = is_exact and any(_distance(enclosed, link.source) == 0 for link in links)
            span = _enclosed_span(unit.text, target_text, enclosed, links)
            start, end = _outside(span.start, protected, "start"), _outside(span.end, protected, "end")
            events += [((start, 2, -end, index), start, mark), ((end, 0, -start, -index), end, close)]
    events.sort(key=lambda event: event[0])
    marks = [mark for _, _, mark in events]
    if keeps_order and marks != [mark for _, mark in unit.format_marks]:
        return None
    if not _is_nested(marks):
        return None
    return MarkedTranslation(_insert(target, [(offset, mark) for _, offset, mark in events]), is_exact)


def _distance(span: Span, word: Span) -> int:
    """Return the number of characters between a span and a word; 0 if they overlap."""
    return max(0, span.start - word.end + 1, word.start - span.end + 1)


def _enclosed_span(source: str, target: str, span: Span, links: Sequence[WordLink]) -> Span:
    """Return the target span of the words that are aligned with those of a source span, or with the nearest word."""
    nearest = min(_distance(span, link.source) for link in links)
    targets = [link.target for link in links if _distance(span, link.source) == nearest]
    start, end = min(word.start for word in targets), max(word.end for word in targets)
    if not _TRAILING_PUNCTUATION.search(source[slice(*span)]):  # the stop after an emphasized word is not emphasized
        punctuation = _TRAILING_PUNCTUATION.search(target[start:end])
        end -= len(punctuation[0]) if punctuation and punctuation.start() else 0
    return Span(start, end)


def _point_position(position: int, links: Sequence[WordLink], *, is_before_word: bool) -> int:
    """Return the position of a point: before or after the translation of the word that it belongs to."""
    before = [link for link in links if link.source.start < position]
    after = [link for link in links if link.source.start >= position]
    if after and (is_before_word or not before):
        first = min(link.source for link in after)
        return min(link.target.start for link in after if link.source == first)
    last = max(link.source for link in before)
    return max(link.target.end for link in before if link.source == last)


def _placeholder_spans(parts: Sequence[Part]) -> list[Span]:
    spans, end = list[Span](), 0
    for part in parts:
        start, end = end, end + len(part if isinstance(part, str) else part.raw)
        if isinstance(part, Mark):
            spans.append(Span(start, end))
    return spans


def _outside(offset: int, protected: Sequence[Span], side: str) -> int:
    """Move a position out of a placeholder, to its start or its end."""
    for span in protected:
        if span.start < offset < span.end:
            return span.start if side == "start" else span.end
    return offset


def _is_nested(marks: Sequence[Mark]) -> bool:
    open_pairs = list[int]()
    for mark in marks:
        if mark.kind == "open":
            open_pairs.append(mark.pair)
        elif mark.kind == "close" and (not open_pairs or open_pairs.pop() != mark.pair):
            return False
    return not open_pairs


def _insert(target: Sequence[Part], marks: Sequence[tuple[int, Mark]]) -> list[Part]:
    """Insert marks at positions in the text of `target`, in order."""
    remaining, start = list(marks), 0

    def parts() -> Iterator[Part]:
        nonlocal start
        for part in target:
            length = len(part if isinstance(part, str) else part.raw)
            done = 0
            while (
                remaining and remaining[0][0] < start + length and (isinstance(part, str) or remaining[0][0] == start)
            ):
                offset, mark = remaining.pop(0)
                if isinstance(part, str):
                    yield part[done : offset - start]
                    done = offset - start
                yield mark
            yield part[done:] if isinstance(part, str) else part
            start += length

    return list(chain(parts(), (mark for _, mark in remaining)))
