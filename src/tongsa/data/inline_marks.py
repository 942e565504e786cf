"""Marks inside a text that are no words: tags and entities, placeholders, addresses, numbers."""

import re

HTML_NAMES = "a|b|i|u|p|br|hr|li|ul|ol|td|th|tr|em|div|img|span|font|table|strong|small|sub|sup|code|pre|h[1-6]"
HTML_TAG = rf"</?(?:{HTML_NAMES})\s*/?>|</[a-z]\w*>|<[a-z]\w*(?:\s[^<>=]*=[^<>]*|\s*/)>"
"""Tags of HTML, closing tags, and tags with attributes. Control tokens such as <polite> are no markup."""
MARKUP = re.compile(rf"{HTML_TAG}|&(?:[a-z]{{2,8}}|#\d+|#x[0-9a-f]+);", re.IGNORECASE)
"""Tags and entities."""
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
URL = re.compile(r"https?://[^\s<>\"'“”‘’]+|www\.[^\s<>\"'“”‘’]+|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
"""Addresses of pages and of e-mail."""
NUMBER = re.compile(r"\d(?:[\d.,’'\u00a0\u202f]*\d)?")
_SEPARATORS = re.compile(r"\D")


def digits(number: str) -> str:
    """Return the digits of a number: 1,000 and 1.000 and 1 000 are the same."""
    return _SEPARATORS.sub("", number)
