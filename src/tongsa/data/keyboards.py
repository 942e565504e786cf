"""Neighboring keys of a QWERTY keyboard and of the Korean two-set keyboard, and jamo that are easily confused."""

from collections.abc import Sequence

INITIALS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
FINALS = " ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
"""A space is no final."""
FIRST_SYLLABLE, LAST_SYLLABLE = "가", "힣"
_QWERTY_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_TWO_SET_ROWS = ("ㅂㅈㄷㄱㅅㅛㅕㅑㅐㅔ", "ㅁㄴㅇㄹㅎㅗㅓㅏㅣ", "ㅋㅌㅊㅍㅠㅜㅡ")
_CONFUSED_JAMO = ["ㅐㅔ", "ㅒㅖ", "ㅙㅚㅞ", "ㅢㅣ", "ㄱㄲ", "ㄷㄸ", "ㅂㅃㅄ", "ㅅㅆ", "ㅈㅉ", "ㄴㄵㄶ", "ㄹㄺㄻㄼㅀ"]
"""Vowels that sound alike, a forgotten shift key, and clusters at the end of a syllable."""


def _neighbors(rows: Sequence[str]) -> dict[str, str]:
    """Return the adjacent keys of each key. Each row is half a key to the right of the row above it."""
    keys = {(row, column): key for row, line in enumerate(rows) for column, key in enumerate(line)}
    around = ((0, -1), (0, 1), (1, -1), (1, 0), (-1, 0), (-1, 1))
    return {
        key: "".join(keys.get((row + down, column + right), "") for down, right in around)
        for (row, column), key in keys.items()
    }


_LATIN_NEIGHBORS, _JAMO_NEIGHBORS = _neighbors(_QWERTY_ROWS), _neighbors(_TWO_SET_ROWS)
_CONFUSED = {jamo: group.replace(jamo, "") for group in _CONFUSED_JAMO for jamo in group}


def key_slips(character: str) -> list[str]:
    """Return the characters that a finger on a neighboring key would have typed, in place of a letter or a syllable."""
    if FIRST_SYLLABLE <= character <= LAST_SYLLABLE:
        return _replace_jamo(character, _JAMO_NEIGHBORS)
    slips = _LATIN_NEIGHBORS.get(character.lower(), "")
    return list(slips.upper() if character.isupper() else slips)


def jamo_slips(character: str) -> list[str]:
    """Return syllables with one jamo confused: 네 for 내, 않 → 안."""
    return _replace_jamo(character, _CONFUSED) if FIRST_SYLLABLE <= character <= LAST_SYLLABLE else []


def _replace_jamo(syllable: str, others: dict[str, str]) -> list[str]:
    """Return the syllables with one jamo replaced by another of the same position."""
    initial, rest = divmod(ord(syllable) - ord(FIRST_SYLLABLE), len(VOWELS) * len(FINALS))
    vowel, final = divmod(rest, len(FINALS))
    result = []
    for position, (alphabet, index) in enumerate(((INITIALS, initial), (VOWELS, vowel), (FINALS, final))):
        for other in others.get(alphabet[index], ""):
            if other in alphabet:
                jamo = [initial, vowel, final]
                jamo[position] = alphabet.index(other)
                code = (jamo[0] * len(VOWELS) + jamo[1]) * len(FINALS) + jamo[2]
                result.append(chr(ord(FIRST_SYLLABLE) + code))
    return result
