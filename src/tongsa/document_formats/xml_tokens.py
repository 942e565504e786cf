"""XML as tokens that keep every byte: tags, texts and the rest. The document is checked by expat first.

A document with a document type or with entities is refused: it could read other files or grow without limit.
"""

import html
import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.parsers import expat

from tongsa.document_formats.limits import MAX_XML_DEPTH, DocumentFormatError
from tongsa.document_formats.placeholders import tag_name
from tongsa.document_formats.text_encoding import DecodedText, decode_text

_TOKEN = re.compile(
    r"""<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<[^<>"']*+(?:"[^"]*+"[^<>"']*+|'[^']*+'[^<>"']*+)*+>|[^<]++""",
    re.DOTALL,
)
_FORBIDDEN_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


class Token(NamedTuple):
    raw: str
    start: int
    end: int

    @property
    def is_tag(self) -> bool:
        return self.raw.startswith("<") and not self.raw.startswith(("<!", "<?"))

    @property
    def is_text(self) -> bool:
        return not self.raw.startswith("<")

    @property
    def is_opening(self) -> bool:
        return self.is_tag and not self.raw.startswith("</") and not self.raw.endswith("/>")

    @property
    def is_closing(self) -> bool:
        return self.raw.startswith("</")

    @property
    def is_empty(self) -> bool:
        """A tag such as <br/>."""
        return self.is_tag and self.raw.endswith("/>")

    @property
    def name(self) -> str:
        return tag_name(self.raw) if self.is_tag else ""


def read_xml(content: bytes, name: str) -> DecodedText:
    """Check and decode an XML document in UTF-8 or UTF-16."""
    decoded = decode_text(content, name)
    _check(content, name)
    return decoded


def tokenize(text: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(text):
        yield Token(match[0], *match.span())


def unescape(text: str) -> str:
    return html.unescape(text)


def escape(text: str) -> str:
    return html.escape(_FORBIDDEN_CHARACTERS.sub("", text), quote=False)


def _check(content: bytes, name: str) -> None:
    """Raise DocumentFormatError unless this is well-formed XML without a document type, entities and deep nesting."""
    parser = expat.ParserCreate()
    depth = 0

    def refuse(*_: object) -> None:
        raise DocumentFormatError(
            f"{name}: the XML has a document type (DOCTYPE) or entities, which may read other files. "
            "Remove the declaration."
        )

    def enter(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_XML_DEPTH:
            raise DocumentFormatError(
                f"{name}: the XML has more than {MAX_XML_DEPTH} nested elements. Save the document again."
            )

    def leave(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler = enter, leave
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise DocumentFormatError(
            f"{name}:{error.lineno}: not well-formed XML ({reason}). Save the document again."
        ) from None
