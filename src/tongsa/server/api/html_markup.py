"""HTML of LibreTranslate requests: the texts between tags are translated, the tags are kept."""

import html
import re
from collections.abc import Sequence
from typing import NamedTuple

_TAG = re.compile("<!--|</?[a-zA-Z!][^<>]*+>")
_UNTRANSLATED_ELEMENT = re.compile("<(script|style|code|pre)\\b", re.IGNORECASE)


class Markup(NamedTuple):
    texts: Sequence[str]
    """Texts between the tags, without entities."""
    tags: Sequence[str]
    """Markup around the texts: one entry more than texts."""
    is_escaped: bool = True
    """Write & and < as entities."""

    def fill(self, texts: Sequence[str]) -> str:
        """Return the same markup around other texts."""
        parts = [self.tags[0]]
        for text, tag in zip(texts, self.tags[1:], strict=True):
            parts += [html.escape(text, quote=False) if self.is_escaped else text, tag]
        return "".join(parts)


def parse_html(fragment: str) -> Markup:
    """Return the texts of an HTML fragment and the markup around them; scripts, styles and code are markup."""
    texts, tags, end, pending = list[str](), list[str](), 0, ""
    while match := _TAG.search(fragment, end):
        if between := fragment[end : match.start()]:
            tags.append(pending)
            texts.append(html.unescape(between))
            pending = ""
        end = _tag_end(fragment, match)
        pending += fragment[match.start() : end]
    if rest := fragment[end:]:
        tags.append(pending)
        texts.append(html.unescape(rest))
        pending = ""
    return Markup(texts, [*tags, pending])


def _tag_end(fragment: str, tag: re.Match[str]) -> int:
    """Return the end of a tag; a comment or an untranslated element ends with its closing tag, or with the text."""
    element = _UNTRANSLATED_ELEMENT.match(tag[0])
    closing_tag = "-->" if tag[0] == "<!--" else f"</{element[1]}" if element else ""
    if not closing_tag:
        return tag.end()
    # not in fragment.lower(): İ becomes two characters there and moves all positions behind it
    closing = re.compile(closing_tag, re.IGNORECASE | re.ASCII).search(fragment, tag.end())
    if not closing:
        return len(fragment)
    return max(closing.end(), fragment.find(">", closing.start()) + 1)
