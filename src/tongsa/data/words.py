"""Words of a text for comparison with other texts: runs of letters of one script, without case, and their stems."""

import unicodedata
from collections.abc import Iterator

from tongsa.data.unicode_scripts import UNSPACED_SCRIPTS, character_script

PREFIX_STEM_LANGUAGES = frozenset({"az", "et", "eu", "fi", "hu", "ka", "kk", "ky", "mn", "tr", "uz"})
"""Agglutinative languages with letters: the stem is taken to be the first letters of a word."""
PREFIX_STEM_LETTERS = 5
"""Length of such a stem (Can et al. 2008, section 4.2, for Turkish)."""
HANGUL_SUFFIX_SYLLABLES = frozenset(
    "은는이가을를에의로와과도만요께서랑까지부터처럼보다마저조차한테게나든들인일임입"
    "다고며니면어아여야네죠데라란려러자던할해했하히되된될됐었았였겠습합기십시셨셔세오군구으있없"
)
"""Syllables of Korean particles and verb endings."""
_FINAL_CONSONANTS_OF_ENDINGS = frozenset("ㄴㄹㅁㅂㅆ")
_FINAL_CONSONANTS = ["", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"]
_VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
_CONTRACTED_VOWELS = {"ㅕ": "ㅣ", "ㅘ": "ㅗ", "ㅝ": "ㅜ"}
"""Vowel of a stem and an ending, as in 드려 (드리어) → the vowel of the stem."""


def split_words(text: str) -> Iterator[str]:
    """Yield the words. Digits and signs separate them.

    A single letter of an alphabet is no word, nor is a Korean particle after something else, as in GitHub에서.
    """
    word, word_script, before = "", "", " "
    for i, character in enumerate([*text, " "]):
        if word and unicodedata.category(character)[0] == "M":  # combining marks belong to the letter before
            word += character
            continue
        script = character_script(character)
        if word and (script != word_script or script in UNSPACED_SCRIPTS):
            if not _is_skipped(word, word_script, before):
                yield word
            word = ""
        if script:
            before = before if word else text[i - 1 : i] or " "
            word, word_script = word + character, script


def _is_skipped(word: str, script: str, before: str) -> bool:
    if script == "HANGUL":
        return not before.isspace() and HANGUL_SUFFIX_SYLLABLES.issuperset(word)
    return len(word) == 1 and script not in UNSPACED_SCRIPTS


def word_shape(word: str) -> str:
    """Return the script of a word and the kind of its letters: lower case, capitalized, or other capitals."""
    case = "lower" if word == word.lower() else "title" if word[1:] == word[1:].lower() else "capitals"
    return f"{character_script(word[0])} {case}"


def word_stem(word: str, language: str = "") -> str:
    """Return the stem of a word in an agglutinative language; of another, the word itself. Case is removed.

    A stem is for comparison with the stems of other words only: it is shorter than in a dictionary.
    """
    word = word.casefold()
    if "가" <= word[0] <= "힣":
        return _hangul_stem(word)
    return word[:PREFIX_STEM_LETTERS] if language in PREFIX_STEM_LANGUAGES else word


def _hangul_stem(word: str) -> str:
    """Remove particles and endings, and from the last syllable what an ending may have added to it."""
    end = len(word)
    while end > 1 and word[end - 1] in HANGUL_SUFFIX_SYLLABLES:
        end -= 1
    last = word[end - 1]
    if not "가" <= last <= "힣":
        return word[:end]
    initial, rest = divmod(ord(last) - ord("가"), len(_VOWELS) * len(_FINAL_CONSONANTS))
    vowel, final = divmod(rest, len(_FINAL_CONSONANTS))
    if not final or _FINAL_CONSONANTS[final] in _FINAL_CONSONANTS_OF_ENDINGS:
        final = 0
        vowel = _VOWELS.index(_CONTRACTED_VOWELS.get(_VOWELS[vowel], _VOWELS[vowel]))
    code = (initial * len(_VOWELS) + vowel) * len(_FINAL_CONSONANTS) + final
    return word[: end - 1] + chr(ord("가") + code)
