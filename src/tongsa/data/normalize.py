"""Text normalization: Unicode NFC (UAX 15), white space, and decomposition of Hangul into jamo."""

import re
import unicodedata

SPACE_MARK = "\u2581"  # ▁
"""The character that SentencePiece uses for a space. Texts must not contain it: it would be read as a space."""

CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff]"
)  # controls that are not white space, BOM
_SURROGATE = re.compile("[\ud800-\udfff]")
_HANGUL_SYLLABLES = re.compile("[\uac00-\ud7a3]+")


def normalize(text: str) -> str:
    """Return the text in NFC on one line: single spaces, none at the ends, no control characters.

    Each run of white space (tab, line separators, no-break and ideographic space) becomes one space. A lone surrogate
    cannot be written in UTF-8 and becomes U+FFFD; ▁ becomes _ (see `SPACE_MARK`). Joiners, combining marks and emoji
    are kept. The function is idempotent.
    """
    # printable text, which is nearly all, has no control characters, surrogates and white space other than spaces
    is_printable = text.isprintable()
    if not is_printable:
        text = _SURROGATE.sub("\ufffd", CONTROL_CHARACTERS.sub("", text))
    if not text.isascii():
        # after the cleaning, which can bring a letter and its combining mark together
        text = unicodedata.normalize("NFC", text).replace(SPACE_MARK, "_")
    has_single_spaces = is_printable and "  " not in text and text[:1] != " " and text[-1:] != " "
    return text if has_single_spaces else " ".join(text.split())


def is_blank(text: str) -> bool:
    """Return whether nothing is left of a text when it is normalized."""
    return not (text and text.isprintable() and text.strip()) and not normalize(text)


def to_jamo(text: str) -> str:
    """Decompose Hangul syllables into conjoining jamo, 한 → ᄒ ᅡ ᆫ; leave other characters unchanged."""
    return _HANGUL_SYLLABLES.sub(lambda match: unicodedata.normalize("NFD", match[0]), text)


def from_jamo(text: str) -> str:
    """Compose jamo into syllables: the inverse of `to_jamo` for text in NFC."""
    return unicodedata.normalize("NFC", text)
