"""Placeholders and tags inside a text: {{name}}, {name}, %s, %(count)d, ${name}, <b>, &copy;, addresses."""

import re
from collections.abc import Iterator

from tongsa.document_formats.segment import Mark, Part

PLACEHOLDER = re.compile(
    r"""
      \{\{[^{}\n]{1,80}\}\}                                                     # {{name}}
    | [$%#]?\{(?:\w[\w.\-\[\]]*)?(?:[!:,](?:[^{}\n]|\{[^{}\n]*\}){0,200})?\}    # {name}, {0:.2f}, {n, plural, …}
    | (?<!\d)%(?:\(\w+\)|\d+\$)?[-+\#0]*(?:\d+|\*)?(?:\.\d+)?(?:hh?|ll?|[Lzjt])?[diouxXeEfFgGcrsa@](?![A-Za-z])
    | %%
    | https?://[^\s<>"'“”‘’]*[^\s<>"'“”‘’.,;:!?)\]}*_]                          # a URL without the stop after it
    | [\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+                               # an e-mail address
    | &(?:[a-zA-Z]\w{1,31}|\#\d{1,7}|\#x[0-9a-fA-F]{1,6});                      # an entity
    """,
    re.VERBOSE,
)
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
