"""Placeholders and tags inside a text: {{name}}, {name}, %s, %(count)d, ${name}, <b>, &copy;, addresses."""

import re
from collections.abc import Iterator

from tongsa.data.inline_marks import PLACEHOLDER
from tongsa.document_formats.segment import Mark, Part

TAG = re.compile(r"</?[A-Za-z][\w:.-]*(?:\s(?:[^<>\"']|\"[^\"]*\"|'[^']*')*+)?/?>")
_TOKEN = re.compile(f"(?P<placeholder>{PLACEHOLDER.pattern})|(?P<tag>{TAG.pattern})", re.VERBOSE)


def split_placeholders(text: str) -> Iterator[Part]:
    """Yield the parts of a plain text: strings, placeholders, and tags as marks of format."""
    end = 0
    for match in _TOKEN.finditer(text):
        yield text[end : match.start()]
        yield tag_mark(match[0]) if match["tag"] else Mark(match[0], "placeholder")
        end = match.end()
    yield text[end:]


def tag_mark(tag: str) -> Mark:
    """Return a tag of HTML or XML as a mark."""
    name = tag_name(tag)
    if tag.endswith("/>"):
        return Mark(tag, "point", name)
    return Mark(tag, "close" if tag.startswith("</") else "open", name)


def tag_name(tag: str) -> str:
    name = re.match(r"</?([^\s/>]*)", tag)
    return name[1].lower() if name else ""
