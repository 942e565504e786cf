"""One spelling per text: Unicode normal form C (UAX 15) and, for Korean, conjoining jamo."""

import re
import unicodedata

SPACE_MARK = "\u2581"  # ▁
"""How sentencepiece writes a space: a text that holds it could not be told from one with a space there."""

_CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff]"
)  # controls that are not white space, BOM
_SURROGATE = re.compile("[\ud800-\udfff]")
_HANGUL_SYLLABLES = re.compile("[\uac00-\ud7a3]+")


def normalize(text: str) -> str:
    """`text` in form C on one line: single spaces, none at the ends, no control characters.

    Every run of white space (tab, line separators, no-break and ideographic space) becomes one space. A lone
    surrogate, which UTF-8 cannot write, becomes U+FFFD, and ▁ becomes _ (see `SPACE_MARK`). Joiners,
    combining marks and emoji stay. Normalising twice changes nothing.
    """
    seen = _SURROGATE.sub("\ufffd", _CONTROL_CHARACTERS.sub("", text))
    composed = unicodedata.normalize("NFC", seen)  # after the removal, which can bring a mark to its letter
    return " ".join(composed.split()).replace(SPACE_MARK, "_")


def to_jamo(text: str) -> str:
    """Hangul syllables taken apart, 한 → ᄒ ᅡ ᆫ; every other character as it was."""
    return _HANGUL_SYLLABLES.sub(lambda match: unicodedata.normalize("NFD", match[0]), text)


def from_jamo(text: str) -> str:
    """The inverse of `to_jamo` on text in form C."""
    return unicodedata.normalize("NFC", text)
