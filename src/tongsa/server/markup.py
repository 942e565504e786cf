"""HTML as texts to translate and marks to keep: clients of LibreTranslate send whole fragments."""

import html
import re
from collections.abc import Sequence
from typing import NamedTuple

_TAG = re.compile("<!--|</?[a-zA-Z!][^<>]*+>")
_UNTRANSLATED_ELEMENT = re.compile("<(script|style|code|pre)\\b", re.IGNORECASE)
"""What is between these and their ends is not for reading."""


class Markup(NamedTuple):
    texts: Sequence[str]
    """What stands between the marks, as it would be read."""
    tags: Sequence[str]
    """One more than texts: what stands around them."""
    is_escaped: bool = True
    """Whether & and < are written as entities."""

    def fill(self, texts: Sequence[str]) -> str:
        """The same marks around other texts."""
        parts = [self.tags[0]]
        for text, mark in zip(texts, self.tags[1:], strict=True):
            parts += [html.escape(text, quote=False) if self.is_escaped else text, mark]
        return "".join(parts)


def parse_plain(text: str) -> Markup:
    """A text without marks."""
    return Markup([text], ["", ""], is_escaped=False)


def parse_html(fragment: str) -> Markup:
    texts, marks, end, pending = list[str](), list[str](), 0, ""
    while match := _TAG.search(fragment, end):
        if between := fragment[end : match.start()]:
            marks.append(pending)
            texts.append(html.unescape(between))
            pending = ""
        end = _tag_end(fragment, match)
        pending += fragment[match.start() : end]
    if rest := fragment[end:]:
        marks.append(pending)
        texts.append(html.unescape(rest))
        pending = ""
    return Markup(texts, [*marks, pending])


def _tag_end(fragment: str, tag: re.Match[str]) -> int:
    """Where a mark ends, with what it hides; one that is never closed hides all the rest."""
    kept = _UNTRANSLATED_ELEMENT.match(tag[0])
    closing = "-->" if tag[0] == "<!--" else f"</{kept[1]}" if kept else ""
    if not closing:
        return tag.end()
    # not in fragment.lower(): İ becomes two characters there, and all places behind it are others
    found = re.compile(closing, re.IGNORECASE | re.ASCII).search(fragment, tag.end())
    if not found:
        return len(fragment)
    return max(found.end(), fragment.find(">", found.start()) + 1)
