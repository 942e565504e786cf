"""gettext PO: an empty msgstr gets the translation of its msgid. Comments, flags, contexts and translations are kept.

msgstr[0] is the translation of msgid and the others are translations of msgid_plural. A language with one form has only
msgstr[0], which must fit any number: it is the translation of msgid_plural.
"""

import re
from collections.abc import Mapping
from functools import partial

from tongsa.data.formats.gettext import ESCAPES, unescape
from tongsa.document_formats.plain_text import raw_text, split_lines
from tongsa.document_formats.segment import MarkedText, ParsedDocument, Segment, Slot, make_segment
from tongsa.document_formats.text_encoding import decode_text

_STRING = r'"(?:[^"\\\r\n]|\\[^\r\n])*+"'
_FIELD = re.compile(
    rf"^[ \t]*(?P<name>msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)[ \t]*(?P<value>{_STRING}(?:\s*{_STRING})*+)",
    re.MULTILINE,
)


def parse_po(content: bytes, name: str) -> ParsedDocument:
    decoded = decode_text(content, name)
    text, parts, end = decoded.text, list[str | Slot](), 0
    forms = _count_forms(text)
    render = partial(_write_string, newline="\r\n" if "\r\n" in text else "\n")
    sources: dict[str, str] = {}
    for field in _FIELD.finditer(text):
        if not field["name"].startswith("msgstr"):
            if field["name"] != "msgid_plural":
                sources = {} if field["name"] == "msgctxt" or "msgid" in sources else sources
            sources[field["name"]] = unquote(field["value"])
            continue
        if not (source := _source_text(field["name"], sources, forms.get(field.start(), 0))):
            continue  # the header
        has_target = bool(unquote(field["value"]))
        segment = make_segment(split_lines(source))
        slot = Slot(segment, field["value"], render, is_bilingual=True, is_kept=has_target)
        parts += [text[end : field.start("value")], slot]
        end = field.end("value")
    parts.append(text[end:])
    return ParsedDocument([MarkedText(parts)], lambda texts: decoded.encode(texts[0]))


def _count_forms(text: str) -> dict[int, int]:
    """Return for each msgstr, by its position, the number of plural forms of its entry."""
    counts, entry = dict[int, int](), list[int]()
    for field in _FIELD.finditer(text):
        if not field["name"].startswith("msgstr"):
            entry = []
            continue
        entry.append(field.start())
        counts |= dict.fromkeys(entry, len(entry))
    return counts


def _source_text(name: str, sources: Mapping[str, str], forms: int) -> str:
    plural = sources.get("msgid_plural", "")
    return plural if plural and (name != "msgstr[0]" or forms == 1) else sources.get("msgid", "")


def unquote(value: str) -> str:
    """Return the text of one or several quoted strings."""
    strings = re.findall(_STRING, value)
    return "".join(unescape(string[1:-1]) for string in strings)


def _write_string(segment: Segment, *, newline: str) -> str:
    """Write a quoted string; a text of several lines has one string for each of them, after an empty one."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", raw_text(segment))
    quoted = [f'"{_escape(line)}"' for line in lines]
    return quoted[0] if len(quoted) == 1 else newline.join(['""', *quoted])


def _escape(text: str) -> str:
    for character, name in (("\\", "\\"), ('"', '"'), *((character, name) for name, character in ESCAPES.items())):
        text = text.replace(character, f"\\{name}")
    return text
