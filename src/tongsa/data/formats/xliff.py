"""XLIFF 1.2 and 2.x: source and target of each unit or segment, without inline codes."""

from collections.abc import Iterator

from tongsa.data.formats.xml_stream import Event, check_root, xml_events
from tongsa.data.records import MAX_RECORD_BYTES, ReadOptions, Record, dropped_record, too_long_record
from tongsa.data.source_file import SourceFile

UNITS = ("trans-unit", "segment")
"""Parents of source and target in XLIFF 1.2 and 2.x."""
CODE_ELEMENTS = frozenset({"ph", "bpt", "ept", "it"})
"""Inline elements whose content is code, in XLIFF 1.2; in 2.x they are empty."""
UNTRANSLATED_STATES = ("new", "needs-translation", "initial")
"""States of a target or a segment that is a copy of the source or a first draft."""


class _XliffUnit:
    """A unit while it is read: the texts of source and target."""

    def __init__(self, event: Event) -> None:
        self.line, self.size, self.state = event.line, 0, event.attributes.get("state", "")
        self.parts: dict[str, list[str]] = {}
        self.side = ""
        """The side whose text is being read."""
        self.code_depth = 0

    def start(self, event: Event) -> None:
        if self.side:
            self.code_depth += bool(self.code_depth or event.value in CODE_ELEMENTS)
        elif event.value in ("source", "target") and event.value not in self.parts:
            self.side, self.code_depth = event.value, 0
            self.parts[self.side] = []
            if self.side == "target":
                self.state = event.attributes.get("state", self.state)

    def end(self, name: str) -> None:
        if name == self.side and not self.code_depth:
            self.side = ""
        self.code_depth -= bool(self.code_depth)

    def add(self, text: str) -> None:
        if self.side and not self.code_depth and self.size <= MAX_RECORD_BYTES:
            self.size += len(text)
            self.parts[self.side].append(text)

    def record(self) -> Record:
        source, target = ("".join(self.parts.get(side, [])) for side in ("source", "target"))
        if self.size > MAX_RECORD_BYTES:
            return too_long_record(self.line)
        if not target.strip() or self.state in UNTRANSLATED_STATES:
            return dropped_record(self.line, "untranslated", f"state {self.state}" if self.state else "")
        return Record(self.line, source, target)


def read_xliff_pairs(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    for record in _records(file):
        yield record._replace(source=record.target, target=record.source) if options.is_reversed else record


def read_xliff_texts(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    """Yield the targets."""
    return (record._replace(source="") for record in read_xliff_pairs(file, options))


def _records(file: SourceFile) -> Iterator[Record]:
    unit: _XliffUnit | None = None
    alternatives, has_root = 0, False  # <alt-trans> has a source and a target of its own
    for event in xml_events(file):
        if not has_root and event.kind == "start":
            check_root(file, event, "xliff", "XLIFF")
            has_root = True
        if event.value == "alt-trans" and event.kind != "text":
            alternatives += 1 if event.kind == "start" else -1
        if alternatives:
            continue
        if event.kind == "start" and event.value in UNITS:
            unit = _XliffUnit(event)
        elif unit is None:
            continue
        elif event.kind == "text":
            unit.add(event.value)
        elif event.kind == "start":
            unit.start(event)
        elif event.value in UNITS:
            yield unit.record()
            unit = None
        else:
            unit.end(event.value)
