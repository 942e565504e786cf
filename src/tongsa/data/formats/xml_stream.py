"""Streaming XML by expat: events of elements and texts. A document type with declarations and entities are refused.

Nothing outside the document is read: expat loads a document type only through a handler, and there is none. Memory is
bounded: elements are not kept, and a tag or comment has a maximum size.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from tongsa.data.records import MAX_RECORD_BYTES, CorpusError
from tongsa.data.source_file import SourceFile

BLOCK_BYTES = 1 << 16
MAX_DEPTH = 1_000
"""Maximum number of nested elements."""


class Event(NamedTuple):
    """Start of an element, end of an element, or text."""

    kind: str
    """"start", "end" or "text"."""
    value: str
    """The name of the element without its namespace prefix, or the text."""
    line: int
    attributes: Mapping[str, str] = MappingProxyType({})


class _EventParser:
    """Expat with handlers that collect events."""

    def __init__(self, file: SourceFile) -> None:
        self.file, self.depth, self.events = file, 0, list[Event]()
        self.expat = expat.ParserCreate("utf-8")
        self.expat.buffer_text = True
        self.expat.StartElementHandler, self.expat.EndElementHandler = self._start, self._end
        self.expat.CharacterDataHandler = self._text
        self.expat.StartDoctypeDeclHandler = self._check_doctype
        self.expat.EntityDeclHandler = self.expat.UnparsedEntityDeclHandler = self._refuse_entity
        self.expat.ExternalEntityRefHandler = self.expat.SkippedEntityHandler = self._refuse_entity

    def feed(self, block: bytes) -> list[Event]:
        """Return the events of the next bytes; no bytes are the end of the file."""
        self.events = []
        try:
            self.expat.Parse(block, not block)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise CorpusError(
                f"{self.file}:{error.lineno}: not well-formed XML ({reason}). Export the file again."
            ) from None
        return self.events

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.refuse(f"more than {MAX_DEPTH:,} nested elements. Export the file again.")
        self.events.append(Event("start", _local(name), self.expat.CurrentLineNumber, attributes))

    def _end(self, name: str) -> None:
        self.depth -= 1
        self.events.append(Event("end", _local(name), self.expat.CurrentLineNumber))

    def _text(self, text: str) -> None:
        self.events.append(Event("text", text, self.expat.CurrentLineNumber))

    def _check_doctype(self, *declaration: Any) -> None:
        *_, has_declarations = declaration
        if has_declarations:
            self.refuse(
                "a document type (DOCTYPE) with declarations, which may make a text grow without limit. "
                "Remove what is in its brackets."
            )

    def _refuse_entity(self, *_: Any) -> NoReturn:
        self.refuse("an entity, which may read other files. Replace it by its text.")

    def refuse(self, reason: str) -> NoReturn:
        raise CorpusError(f"{self.file}:{self.expat.CurrentLineNumber}: {reason}")


def xml_events(file: SourceFile) -> Iterator[Event]:
    """Yield the events of a file. Raise CorpusError with file and line for XML that is damaged or not safe."""
    parser, size = _EventParser(file), 0
    with file.open_utf8() as stream:
        while True:
            block = stream.read(BLOCK_BYTES)
            yield from parser.feed(block)
            if not block:
                return
            size += len(block)
            if size - max(0, parser.expat.CurrentByteIndex) > MAX_RECORD_BYTES:
                parser.refuse(f"a tag or a comment of more than {MAX_RECORD_BYTES:,} bytes. Export the file again.")


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def check_root(file: SourceFile, event: Event, name: str, format_name: str) -> None:
    """Raise CorpusError unless the first element of a file has this name."""
    if event.value != name:
        raise CorpusError(f"{file}:{event.line}: <{event.value}> instead of <{name}>. Give a file in {format_name}.")
