"""HTML: the text of a block is a segment, with its inline tags as marks; so are alt, title, placeholder and aria-label.

Scripts, styles, pre, code, svg, comments and elements with translate="no" are kept.
"""

import html
import re
from collections.abc import Callable, Iterator
from functools import partial

from tongsa.document_formats.placeholders import split_placeholders, tag_mark, tag_name
from tongsa.document_formats.segment import Mark, MarkedText, ParsedDocument, Part, Segment, Slot, make_segment
from tongsa.document_formats.text_encoding import decode_text

RAW_BLOCKS = frozenset(
    ("script", "style", "pre", "svg", "math", "textarea", "template", "iframe", "object", "canvas", "audio", "video")
)
"""Elements that are kept, and end a segment."""
RAW_INLINE = frozenset(("code", "kbd", "samp", "var", "tt"))
"""Elements that are kept inside a segment."""
_INLINE_NAMES = (
    "a abbr acronym b bdi bdo big cite del dfn em font i ins label mark q s small span strike strong sub sup time u"
)
INLINE = frozenset(_INLINE_NAMES.split())
"""Elements around text inside a segment."""
POINTS = frozenset(("img", "wbr", "input"))
"""Elements without content inside a segment."""
TRANSLATED_ATTRIBUTES = ("alt", "title", "placeholder", "aria-label")

_MARKUP = re.compile(r"""<!--.*?(?:-->|$(?!\n))|</?[a-zA-Z](?:[^<>"']|"[^"]*+"|'[^']*+')*+>|<[!?][^<>]*+>""", re.DOTALL)
_ATTRIBUTE = re.compile(rf"""\s(?:{"|".join(TRANSLATED_ATTRIBUTES)})\s*=\s*(?P<quote>["'])""", re.IGNORECASE)
_NOT_TRANSLATED = re.compile(r"""\stranslate\s*=\s*["']?no\b|\sclass\s*=\s*["'][^"']*\bnotranslate\b""", re.IGNORECASE)


def parse_html(content: bytes, name: str) -> ParsedDocument:
    decoded = decode_text(content, name)
    return ParsedDocument([MarkedText(split_html(decoded.text))], lambda texts: decoded.encode(texts[0]))


def split_html(text: str) -> list[str | Slot]:
    """Return fixed text and slots of a page or a fragment."""
    parts, inline, raw = list[str | Slot](), list[Part](), ""

    def end_segment() -> None:
        nonlocal raw
        if raw:
            segment = make_segment(inline)
            parts.append(Slot(segment, raw, _write_inline) if segment.has_letters else raw)
        inline.clear()
        raw = ""

    for token, is_markup in _tokens(text):
        name = tag_name(token) if is_markup else ""
        if not is_markup:
            inline.extend(_text_parts(token))
        elif name in RAW_INLINE or (token.startswith("<!--") and raw):
            inline.append(Mark(token, "placeholder" if name else "point"))
        elif name == "br":
            inline.append(Mark(token, "break"))
        elif name in INLINE or name in POINTS:
            inline.extend(_tag_parts(token, Mark(token, "point", name) if name in POINTS else tag_mark(token)))
        else:
            end_segment()
            parts.extend(_attribute_slots(token))
            continue
        raw += token
    end_segment()
    return parts


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Yield texts and markup; an element that is kept is one token."""
    end = 0
    while match := _MARKUP.search(text, end):
        if match.start() > end:
            yield text[end : match.start()], False
        end = _kept_element_end(text, match)
        yield text[match.start() : end], True
    if end < len(text):
        yield text[end:], False


def _kept_element_end(text: str, tag: re.Match[str]) -> int:
    """Return the end of a tag, or of the element that it opens if this is not translated."""
    name = tag_name(tag[0])
    is_opening = not tag[0].startswith(("</", "<!", "<?")) and not tag[0].endswith("/>")
    is_kept = name in RAW_BLOCKS | RAW_INLINE or _NOT_TRANSLATED.search(tag[0])
    if not is_opening or not is_kept or name in POINTS | {"br", "meta", "link", "hr", "html", "body"}:
        return tag.end()
    depth, nested = 1, re.compile(rf"<(/?){re.escape(name)}\b[^<>]*+>", re.IGNORECASE | re.ASCII)
    for inner in nested.finditer(text, tag.end()):
        depth += -1 if inner[1] else name not in ("script", "style", "textarea")
        if not depth:
            return inner.end()
    return len(text)


def _text_parts(text: str) -> Iterator[Part]:
    for part in split_placeholders(html.unescape(text)):
        yield Mark(html.escape(part.raw, quote=False), part.kind, part.name) if isinstance(part, Mark) else part


def _attribute_values(tag: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the values of attributes to translate."""
    if tag.startswith(("</", "<!", "<?")) or tag_name(tag) in RAW_BLOCKS | RAW_INLINE or _NOT_TRANSLATED.search(tag):
        return
    for attribute in _ATTRIBUTE.finditer(tag):
        end = tag.find(attribute["quote"], attribute.end())
        if any(map(str.isalpha, tag[attribute.end() : end])):
            yield attribute.end(), end


def _tag_parts(tag: str, mark: Mark) -> Iterator[Part]:
    """Yield an inline tag; one with an attribute to translate is a break, then the text, then a break."""
    end = 0
    for start, stop in _attribute_values(tag):
        yield Mark(tag[end:start], "break")
        yield from _text_parts(tag[start:stop])
        end = stop
    yield Mark(tag[end:], "break") if end else mark


def _attribute_slots(tag: str) -> Iterator[str | Slot]:
    end = 0
    for start, stop in _attribute_values(tag):
        yield tag[end:start]
        raw = tag[start:stop]
        yield Slot(make_segment(_text_parts(raw)), raw, partial(_write, escape=html.escape))
        end = stop
    yield tag[end:]


def _write(segment: Segment, *, escape: Callable[[str], str]) -> str:
    return "".join(escape(part) if isinstance(part, str) else part.raw for part in segment.parts)


def _write_inline(segment: Segment) -> str:
    written, in_attribute = list[str](), False
    for part in segment.parts:
        written.append(html.escape(part, quote=in_attribute) if isinstance(part, str) else part.raw)
        if isinstance(part, Mark) and part.kind == "break":
            in_attribute = part.raw.endswith(('"', "'")) and not part.raw.endswith(">")
    return "".join(written)
