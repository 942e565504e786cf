"""Segments of a document: texts to translate, with the marks inside them that must survive the translation.

A parser turns a document into fixed text and slots. A slot holds one segment, and knows how to write its translation.
Everything outside the slots is written back unchanged, and so is a slot whose segment was not translated.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

MarkKind = Literal["placeholder", "open", "close", "point", "break"]


@dataclass(frozen=True)
class Mark:
    """A part of a segment that is never translated."""

    raw: str
    """The mark as it is written in the document."""
    kind: MarkKind
    """A placeholder such as {name} is read by the model and must be copied. Marks of format are not read: `open` and
    `close` enclose text, a `point` stands between two words. The text before a `break` and the text after it are
    translated separately."""
    name: str = ""
    """Name by which an opening mark finds its closing mark."""
    pair: int = -1
    """Number shared by an opening mark and its closing mark; -1 for all others."""


Part = str | Mark


@dataclass(frozen=True)
class Segment:
    """A text to translate: strings without markup, and marks."""

    parts: tuple[Part, ...]
    keeps_order: bool = False
    """The marks must stay in this order, because each of them belongs to a fixed position of the document."""

    @property
    def text(self) -> str:
        """The text without marks of format, for messages."""
        return "".join(part if isinstance(part, str) else _mark_text(part) for part in self.parts)

    @property
    def has_letters(self) -> bool:
        return any(isinstance(part, str) and has_letters(part) for part in self.parts)


def _mark_text(mark: Mark) -> str:
    return mark.raw if mark.kind == "placeholder" else " " if mark.kind == "break" else ""


def has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))


def make_segment(parts: Iterable[Part], *, keeps_order: bool = False) -> Segment:
    """Return a segment: strings are joined, and opening and closing marks of one name are paired.

    An opening or closing mark without a partner becomes a point.
    """
    joined = list[Part]()
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part != "":
            joined.append(part)
    return Segment(tuple(_pair_marks(joined)), keeps_order)


def _pair_marks(parts: Sequence[Part]) -> list[Part]:
    paired, open_marks, open_names = list(parts), list[tuple[int, Mark]](), Counter[str]()
    for i, part in enumerate(parts):
        if isinstance(part, str) or part.kind not in ("open", "close"):
            continue
        paired[i] = Mark(part.raw, "point", part.name)
        if part.kind == "open":
            open_marks.append((i, part))
            open_names[part.name] += 1
        elif open_names[part.name]:
            while open_marks:
                start, mark = open_marks.pop()
                open_names[mark.name] -= 1
                if mark.name == part.name:
                    paired[start] = Mark(mark.raw, "open", mark.name, start)
                    paired[i] = Mark(part.raw, "close", part.name, start)
                    break
    return paired


@dataclass(frozen=True)
class Slot:
    """A segment in a document."""

    segment: Segment
    raw: str
    """Text of the document that the translation replaces: the source itself, or the target of a bilingual document."""
    render: Callable[[Segment], str]
    """Write a translated segment in the syntax of the document."""
    is_bilingual: bool = False
    """The document has the source and the target; `raw` is the target."""
    is_kept: bool = False
    """The segment is not translated: the document has a target already, or forbids it."""


@dataclass(frozen=True)
class MarkedText:
    """A text file, or an entry of an archive: fixed text and slots."""

    parts: Sequence[str | Slot]
    name: str = ""
    """Name of the entry in an archive."""

    @property
    def slots(self) -> list[Slot]:
        return [part for part in self.parts if isinstance(part, Slot)]

    def locations(self) -> list[str]:
        """Return where each slot is, for messages: a line, or a segment of an archive's entry."""
        locations, line = list[str](), 1
        for part in self.parts:
            if isinstance(part, Slot):
                number = len(locations) + 1
                locations.append(f"{self.name}, segment {number:,}" if self.name else f"line {line:,}")
            line += (part.raw if isinstance(part, Slot) else part).count("\n")
        return locations

    def write(self, translations: Sequence[Segment | None]) -> str:
        """Return the text with translated segments; None keeps a slot as it is."""
        remaining, written = iter(translations), list[str]()
        for part in self.parts:
            if isinstance(part, str):
                written.append(part)
                continue
            translation = next(remaining)
            if translation is None or (translation == part.segment and not part.is_bilingual):
                written.append(part.raw)
            else:
                written.append(part.render(translation))
        return "".join(written)


@dataclass(frozen=True)
class ParsedDocument:
    """A document of any format."""

    texts: Sequence[MarkedText]
    assemble: Callable[[Sequence[str]], bytes]
    """Make the file from its written texts."""

    @property
    def slots(self) -> list[Slot]:
        return [slot for text in self.texts for slot in text.slots]

    @property
    def locations(self) -> list[str]:
        return [location for text in self.texts for location in text.locations()]

    def write(self, translations: Sequence[Segment | None]) -> bytes:
        """Return the file with a translation for each slot; None keeps a slot as it is."""
        remaining = iter(translations)
        return self.assemble([text.write([next(remaining) for _ in text.slots]) for text in self.texts])
