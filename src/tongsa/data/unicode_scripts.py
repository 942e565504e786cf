"""Unicode scripts of characters and texts: LATIN, HANGUL, CYRILLIC, … (from the character names)."""

import unicodedata
from collections import Counter
from functools import lru_cache

_SCRIPT_GROUPS = {"CJK": "HAN/KANA", "HIRAGANA": "HAN/KANA", "KATAKANA": "HAN/KANA", "KATAKANA-HIRAGANA": "HAN/KANA"}
"""Japanese uses all of these together, so they count as one script."""
UNSPACED_SCRIPTS = frozenset({"HAN/KANA", "THAI", "LAO", "MYANMAR", "KHMER"})
"""Scripts without spaces between words: each letter counts as a word."""
_NON_SCRIPT_NAMES = frozenset(
    {"MODIFIER", "MATHEMATICAL", "MICRO", "OHM", "KELVIN", "ANGSTROM", "FEMININE", "MASCULINE"}
)


@lru_cache(maxsize=1 << 16)
def character_script(character: str) -> str:
    """Return the script of a letter, the first word of its Unicode name; "" for other characters."""
    if not character.isalpha():
        return ""
    words = unicodedata.name(character, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ").split()
    return "" if not words or words[0] in _NON_SCRIPT_NAMES else _SCRIPT_GROUPS.get(words[0], words[0])


def script_counts(text: str) -> Counter[str]:
    """Count the letters of a text by script."""
    counts = Counter(map(character_script, text))
    del counts[""]
    return counts
