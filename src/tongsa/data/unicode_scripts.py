"""The script of a character: Latin, Hangul, Cyrillic and others."""

import unicodedata
from collections import Counter
from functools import lru_cache

_SCRIPT_GROUPS = {"CJK": "HAN/KANA", "HIRAGANA": "HAN/KANA", "KATAKANA": "HAN/KANA", "KATAKANA-HIRAGANA": "HAN/KANA"}
"""Scripts that count as one, because Japanese mixes them."""
_NON_SCRIPT_NAMES = frozenset(
    {"MODIFIER", "MATHEMATICAL", "MICRO", "OHM", "KELVIN", "ANGSTROM", "FEMININE", "MASCULINE"}
)


@lru_cache(maxsize=1 << 16)
def character_script(character: str) -> str:
    """Return LATIN, HANGUL, CYRILLIC, …: the first word of the Unicode name; "" for other characters than letters."""
    if not character.isalpha():
        return ""
    words = unicodedata.name(character, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ").split()
    return "" if not words or words[0] in _NON_SCRIPT_NAMES else _SCRIPT_GROUPS.get(words[0], words[0])


def script_counts(text: str) -> Counter[str]:
    """Return the number of letters of each script in a text."""
    counts = Counter(map(character_script, text))
    del counts[""]
    return counts
