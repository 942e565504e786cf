"""Office documents: DOCX (Word) and ODT (OpenDocument text). The text of a paragraph is a segment.

Everything but the text stays as it is: the XML around it, styles, pictures, relations. A text in another format than
the rest of its paragraph (bold, a link, …) is a pair of marks. The translation of a paragraph is written into the text
nodes that it had; a text node that is not needed is left empty.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from tongsa.document_formats.archive import check_text_entry, read_archive, write_archive
from tongsa.document_formats.limits import DocumentFormatError
from tongsa.document_formats.placeholders import split_placeholders
from tongsa.document_formats.segment import Mark, MarkedText, ParsedDocument, Part, Segment, Slot, make_segment
from tongsa.document_formats.xml_tokens import Token, escape, read_xml, tokenize, unescape

WORD_NAMESPACES = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
_WORD_ENTRY = re.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes|comments)\.xml")
_ODT_ENTRY = re.compile(r"content\.xml|styles\.xml")


@dataclass
class TextNode:
    """A text between two tags."""

    start: int
    end: int
    text: str
    format: str
    """Tags that format it; nodes of equal format need no mark between them."""


@dataclass
class _Paragraph:
    nodes: list[TextNode] = field(default_factory=list)
    inline: list[Token] = field(default_factory=list)
    """Open inline elements."""
    run_format: str = ""

    def take_nodes(self) -> Iterator[list[TextNode]]:
        """Yield the nodes so far, which are translated together."""
        if self.nodes:
            yield self.nodes
        self.nodes = []


NodeReader = Callable[[str], Iterator[list[TextNode]]]
"""Groups of text nodes that are translated together, in an XML document."""


def parse_docx(content: bytes, name: str) -> ParsedDocument:
    return _parse(content, name, _WORD_ENTRY, "word/document.xml", _word_nodes)


def parse_odt(content: bytes, name: str) -> ParsedDocument:
    return _parse(content, name, _ODT_ENTRY, "content.xml", _odt_nodes)


def _parse(
    content: bytes, name: str, text_entry: re.Pattern[str], main_entry: str, read_nodes: NodeReader
) -> ParsedDocument:
    entries = read_archive(content, name)
    if main_entry not in {entry.info.filename for entry in entries}:
        raise DocumentFormatError(f"{name}: no {main_entry} in the archive. Save the document again in this format.")
    texts, decoders = list[MarkedText](), list[Callable[[str], bytes]]()
    for entry in entries:
        entry_name = entry.info.filename
        if text_entry.fullmatch(entry_name):
            check_text_entry(entry, name)
            decoded = read_xml(entry.content, f"{name}: {entry_name}")
            texts.append(MarkedText(_slots(decoded.text, read_nodes(decoded.text)), entry_name))
            decoders.append(decoded.encode)

    def assemble(written: Sequence[str]) -> bytes:
        contents = (encode(text) for encode, text in zip(decoders, written, strict=True))
        return write_archive(entries, dict(zip((text.name for text in texts), contents, strict=True)))

    return ParsedDocument(texts, assemble)


def _slots(xml: str, groups: Iterator[list[TextNode]]) -> list[str | Slot]:
    parts, end = list[str | Slot](), 0
    for nodes in sorted(groups, key=lambda nodes: nodes[0].start):
        segment = make_segment(_node_parts(nodes), keeps_order=True)
        start, stop = xml.rindex("<", 0, nodes[0].start), nodes[-1].end
        if not segment.has_letters:
            continue
        parts += [xml[end:start], Slot(segment, xml[start:stop], partial(_write_nodes, xml=xml, nodes=nodes))]
        end = stop
    parts.append(xml[end:])
    return parts


def _main_format(nodes: Sequence[TextNode]) -> str:
    """Return the format of most of the letters."""
    lengths = Counter[str]()
    for node in nodes:
        lengths[node.format] += sum(map(str.isalnum, node.text))
    return lengths.most_common(1)[0][0]


def _runs(nodes: Sequence[TextNode]) -> list[list[TextNode]]:
    """Return the nodes in groups of consecutive ones of equal format."""
    runs = list[list[TextNode]]()
    for node in nodes:
        if runs and runs[-1][0].format == node.format:
            runs[-1].append(node)
        else:
            runs.append([node])
    return runs


def _node_parts(nodes: Sequence[TextNode]) -> Iterator[Part]:
    main = _main_format(nodes)
    for number, run in enumerate(_runs(nodes)):
        text = "".join(node.text for node in run)
        is_marked = run[0].format != main and bool(text.strip())
        if is_marked:
            yield Mark("", "open", str(number))
        for part in split_placeholders(text):
            yield part if isinstance(part, str) else Mark(part.raw, "placeholder")
        if is_marked:
            yield Mark("", "close", str(number))


def _write_nodes(segment: Segment, *, xml: str, nodes: Sequence[TextNode]) -> str:
    """Write a translation into the text nodes of its paragraph."""
    written, end = list[str](), xml.rindex("<", 0, nodes[0].start)
    for node, text in zip(nodes, _distribute(segment, nodes), strict=True):
        between = xml[end : node.start]
        if text != text.strip() and re.search(r"<\w+:t>$", between):  # Word would remove the space
            between = f'{between[:-1]} xml:space="preserve">'
        written += [between, escape(text)]
        end = node.end
    return "".join(written)


def _distribute(segment: Segment, nodes: Sequence[TextNode]) -> list[str]:
    """Return the text of each node: a marked text in the first node of its run, the rest in the runs around it."""
    runs, main = _runs(nodes), _main_format(nodes)
    texts = [""] * len(runs)
    current = next((i for i, run in enumerate(runs) if run[0].format == main), 0)
    is_first = True
    for part in segment.parts:
        if isinstance(part, Mark) and part.kind == "open":
            current, is_first = int(part.name), False
        elif isinstance(part, Mark) and part.kind == "close":
            following = range(current + 1, len(runs))
            current = next((i for i in following if runs[i][0].format == main), current)
        else:
            if is_first and part != "":
                current = 0 if runs[0][0].format == main else current
            texts[current] += part if isinstance(part, str) else part.raw
    return [text for run, text in zip(runs, texts, strict=True) for text in (text, *[""] * (len(run) - 1))]


def _word_nodes(xml: str) -> Iterator[list[TextNode]]:
    prefix = next(
        (match[1] for uri in WORD_NAMESPACES if (match := re.search(rf'xmlns:(\w+)="{re.escape(uri)}"', xml))), "w"
    )
    open_paragraphs, in_text, in_properties = list[_Paragraph](), False, False
    for token in tokenize(xml):
        name = token.name.removeprefix(f"{prefix}:") if token.name.startswith(f"{prefix}:") else ""
        if name == "p" and token.is_opening:
            if open_paragraphs:  # in a text box
                yield from open_paragraphs[-1].take_nodes()
            open_paragraphs.append(_Paragraph())
        elif name == "p" and token.is_closing and open_paragraphs:
            yield from open_paragraphs.pop().take_nodes()
        elif not open_paragraphs:
            continue
        elif name == "r" and token.is_opening:
            open_paragraphs[-1].run_format = ""
        elif name == "rpr" and not token.is_empty:
            in_properties = token.is_opening
        elif in_properties:
            open_paragraphs[-1].run_format += _format_tag(token, name)
        elif name == "hyperlink":
            open_paragraphs[-1].inline = [token] if token.is_opening else []
        elif name == "t":
            in_text = token.is_opening
        elif token.is_text and in_text:
            paragraph = open_paragraphs[-1]
            link = "".join(tag.raw for tag in paragraph.inline)
            paragraph.nodes.append(TextNode(token.start, token.end, unescape(token.raw), link + paragraph.run_format))
        elif name in ("tab", "br", "cr", "fldchar", "footnotereference", "drawing", "pict"):
            yield from open_paragraphs[-1].take_nodes()


def _format_tag(token: Token, name: str) -> str:
    """Return a tag of a run's properties, except for those that are not visible or differ by script."""
    return "" if name in ("lang", "rfonts", "noproof", "szcs", "bcs", "ics") or not token.is_tag else token.raw


def _odt_nodes(xml: str) -> Iterator[list[TextNode]]:
    open_elements, open_paragraphs = list[str](), list[_Paragraph]()
    for token in tokenize(xml):
        is_paragraph = token.name in ("text:p", "text:h")
        is_inline = token.name in ("text:span", "text:a", "text:s", "text:soft-page-break", "text:bookmark")
        if token.is_opening:
            open_elements.append(token.name)
        if is_paragraph and token.is_opening:
            open_paragraphs.append(_Paragraph())
        elif not open_paragraphs:
            pass
        elif is_paragraph and token.is_closing:
            yield from open_paragraphs.pop().take_nodes()
        elif is_inline and token.is_opening:
            open_paragraphs[-1].inline.append(token)
        elif is_inline and token.is_closing:
            open_paragraphs[-1].inline.pop()
        elif token.is_text and open_elements[-1] in ("text:p", "text:h", "text:span", "text:a"):
            formats = "".join(tag.raw for tag in open_paragraphs[-1].inline)
            open_paragraphs[-1].nodes.append(TextNode(token.start, token.end, unescape(token.raw), formats))
        elif token.is_tag and not is_inline:
            yield from open_paragraphs[-1].take_nodes()
        if token.is_closing:
            open_elements.pop()
