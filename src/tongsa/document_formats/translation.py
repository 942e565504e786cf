"""Translation of the segments of a document, by any model: the texts to translate, and how the results are used.

`translation_steps` is a generator. It yields texts, is sent their translations, and returns the new document. So the
command line, which translates at once, and the server, which waits for its queue, share this file.

1. A segment is divided into units at its breaks. Marks and white space at both ends of a unit stay where they are.
2. A unit without a letter is kept. The others are translated, each text once. The model reads placeholders and is asked
   to copy them. Marks of format are left out, and put into the translation by its word alignment. Where no word is
   aligned, the nearest aligned word is taken, and the segment is flagged.
3. If the output has not exactly the placeholders of the source, or marks cannot be put into it, the strings between the
   marks are translated separately, the marks stay in order, and the segment is flagged.
"""

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tongsa.data.normalize import normalize
from tongsa.document_formats.mark_positions import UnitText, WordLink, find_placeholders, insert_marks, read_unit
from tongsa.document_formats.segment import Mark, ParsedDocument, Part, Segment, has_letters

PLACEHOLDERS, FORMAT, PARTS, UNCHANGED, EMPTY = "placeholders", "format", "parts", "unchanged", "empty"
"""Flags of this file."""
FLAG_MEANINGS = {
    PLACEHOLDERS: "the model did not keep the placeholders, so the text around them was translated in parts",
    FORMAT: "the position of inline formatting is a guess",
    PARTS: "the text between the marks of format was translated in parts",
    UNCHANGED: "the output is the same as the source",
    EMPTY: "the model gave no output, so the source was kept",
    "truncated": "longer than the model can read, truncated",
    "loop": "the output repeats itself",
    "length": "the output has an unusual length",
    "copy": "the output has many words of the source",
    "coverage": "a part of the source may be missing",
}
"""Flag of a segment → its meaning; the last four are of the server's output checks."""


class SourceText(NamedTuple):
    """A text to translate."""

    text: str
    placeholders: tuple[str, ...] = ()
    """Texts in it that the translation must contain."""
    needs_alignment: bool = False


class TextTranslation(NamedTuple):
    text: str
    links: Sequence[WordLink] = ()
    """Word alignment, if the source text needs it and the model has it."""
    flags: tuple[str, ...] = ()


class FlaggedSegment(NamedTuple):
    location: str
    source: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class DocumentReport:
    """Number of segments of a document, by what became of them."""

    translated: int
    kept: int
    """Segments without letters, or with a translation in the document already."""
    flagged: Sequence[FlaggedSegment]
    """Translated segments to look at, with the reasons."""

    @property
    def segments(self) -> int:
        return self.translated + self.kept


class TranslatedDocument(NamedTuple):
    content: bytes
    report: DocumentReport


TranslationStep = list[SourceText] | TranslatedDocument
TranslationSteps = Generator[list[SourceText], Sequence[TextTranslation], TranslatedDocument]
"""Yields texts; is sent a translation for each of them; returns the document."""


@dataclass
class Unit:
    """Consecutive parts of a segment that are translated together."""

    parts: list[Part]
    source: UnitText
    keeps_order: bool
    translated: list[Part] | None = None
    """The parts of the translation; None until it is known."""
    flags: tuple[str, ...] = ()

    @property
    def request(self) -> SourceText:
        placeholders = tuple(dict.fromkeys(mark.raw for mark in self.source.placeholders))
        return SourceText(self.source.text, placeholders, bool(self.source.format_marks))

    def accept(self, translation: TextTranslation) -> None:
        """Use a translation, unless a mark is lost in it."""
        text = normalize(translation.text)  # on one line, without control characters
        if not text or text == normalize(self.source.text):
            self.translated, self.flags = self.parts, (*translation.flags, UNCHANGED if text else EMPTY)
            return
        self.flags = translation.flags
        with_placeholders = find_placeholders(text, self.source.placeholders)
        if with_placeholders is None:
            self.flags = (PLACEHOLDERS,)
            return
        marked = insert_marks(self.source, with_placeholders, translation.links, keeps_order=self.keeps_order)
        if marked is None:
            self.flags = (PARTS,)
            return
        self.translated = marked.parts
        self.flags += () if marked.is_exact else (FORMAT,)

    def strings(self) -> list[SourceText]:
        """Return the strings between the marks that have letters."""
        strings = [part for part in self.parts if isinstance(part, str) and has_letters(part)]
        return [SourceText(" ".join(_string_text(string).split())) for string in strings]

    def accept_strings(self, translations: Sequence[TextTranslation]) -> None:
        """Use separate translations of the strings between the marks; the marks stay in order."""
        remaining, parts = iter(translations), list[Part]()
        for part in self.parts:
            if not isinstance(part, str) or not _is_translatable(part):
                parts.append(part)
                continue
            translation = next(remaining)
            text = normalize(translation.text)
            stripped = _string_text(part)
            before, _, after = part.partition(stripped)
            parts.append(before + text + after if text else part)
            self.flags += (*translation.flags, *(() if text else (EMPTY,)))
        self.translated = parts


def _string_text(string: str) -> str:
    """Return a string between two marks without white space, and without the punctuation of the text before it."""
    return re.sub(r"^[\s.,;:!?…)\]}]+", "", string.rstrip())


def _is_translatable(part: Part) -> bool:
    return isinstance(part, str) and has_letters(part)


def translation_steps(document: ParsedDocument) -> TranslationSteps:
    """Translate a document: yield the texts to translate, receive their translations, return the new document."""
    slots = document.slots
    divided = [[] if slot.is_kept else divide_segment(slot.segment) for slot in slots]
    units = [unit for fixed_and_units in divided for unit in fixed_and_units if isinstance(unit, Unit)]
    translations = yield from _translate_once([unit.request for unit in units])
    for unit in units:
        unit.accept(translations[unit.request])
    unplaced = [unit for unit in units if unit.translated is None]
    translations = yield from _translate_once([text for unit in unplaced for text in unit.strings()])
    for unit in unplaced:
        unit.accept_strings([translations[text] for text in unit.strings()])
    segments: list[Segment | None] = []
    flagged = []
    for slot, location, parts in zip(slots, document.locations, divided, strict=True):
        is_sent = any(isinstance(part, Unit) for part in parts)
        segments.append(_join_units(slot.segment, parts) if is_sent else None)
        flags = dict.fromkeys(flag for unit in parts if isinstance(unit, Unit) for flag in unit.flags)
        if flags:
            flagged.append(FlaggedSegment(location, " ".join(slot.segment.text.split()), tuple(flags)))
    translated = sum(segment is not None for segment in segments)
    report = DocumentReport(translated, len(segments) - translated, flagged)
    return TranslatedDocument(document.write(segments), report)


def advance(steps: TranslationSteps, translations: Sequence[TextTranslation] | None = None) -> TranslationStep:
    """Send the translations of the last texts, if any; return the next texts, or the document."""
    try:
        return next(steps) if translations is None else steps.send(translations)
    except StopIteration as end:
        document: TranslatedDocument = end.value
        return document


def _translate_once(
    texts: Sequence[SourceText],
) -> Generator[list[SourceText], Sequence[TextTranslation], dict[SourceText, TextTranslation]]:
    """Translate each of the texts once."""
    distinct = list(dict.fromkeys(texts))
    results = (yield distinct) if distinct else ()
    return dict(zip(distinct, results, strict=True))


def _join_units(segment: Segment, parts: Sequence[Part | Unit]) -> Segment:
    joined = list[Part]()
    for part in parts:
        for inner in (part.translated or part.parts) if isinstance(part, Unit) else [part]:
            if isinstance(inner, str) and joined and isinstance(joined[-1], str):
                joined[-1] += inner
            elif inner != "":
                joined.append(inner)
    return Segment(tuple(joined), segment.keeps_order)


def divide_segment(segment: Segment) -> list[Part | Unit]:
    """Divide a segment at its breaks into units, and into parts that are kept."""
    divided, unit_parts = list[Part | Unit](), list[Part]()
    for part in (*segment.parts, Mark("", "break")):
        if isinstance(part, Mark) and part.kind == "break":
            divided += _trim(unit_parts, keeps_order=segment.keeps_order)
            divided.append(part)
            unit_parts = []
        else:
            unit_parts.append(part)
    return divided[:-1]


def _trim(parts: Sequence[Part], *, keeps_order: bool) -> list[Part | Unit]:
    """Return the parts of a unit: kept parts before it, the unit, kept parts after it."""
    start, end = 0, len(parts)
    partners = _partners(parts)
    while start < end:
        if _is_loose(parts[start]) or not start <= partners.get(start, start) < end:
            start += 1
        elif _is_loose(parts[end - 1]) or not start <= partners.get(end - 1, start) < end:
            end -= 1
        elif partners.get(start) == end - 1:  # the marks enclose the unit
            start, end = start + 1, end - 1
        else:
            break
    before, inner, after = list(parts[:start]), list(parts[start:end]), list(parts[end:])
    if not any(map(_is_translatable, inner)):
        return list(parts)
    if isinstance(inner[0], str):
        before.append(inner[0][: len(inner[0]) - len(inner[0].lstrip())])
        inner[0] = inner[0].lstrip()
    if isinstance(inner[-1], str):
        after.insert(0, inner[-1][len(inner[-1].rstrip()) :])
        inner[-1] = inner[-1].rstrip()
    return [*before, Unit(inner, read_unit(inner), keeps_order), *after]


def _partners(parts: Sequence[Part]) -> dict[int, int]:
    """Return the index of the partner of each opening or closing mark; -1 if the partner is in another unit."""
    indices: dict[int, list[int]] = {}
    for i, part in enumerate(parts):
        if isinstance(part, Mark) and part.pair >= 0:
            indices.setdefault(part.pair, []).append(i)
    partners = dict[int, int]()
    for pair in indices.values():
        partners |= {pair[0]: pair[-1], pair[-1]: pair[0]} if len(pair) > 1 else {pair[0]: -1}
    return partners


def _is_loose(part: Part) -> bool:
    """Return whether a part at an end of a unit is not part of its text: white space, or a point."""
    return not part.strip() if isinstance(part, str) else part.kind == "point"
