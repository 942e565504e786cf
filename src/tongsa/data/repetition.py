"""Repetition loops in a text: a phrase or a run of letters that repeats, a word three times in a row."""

import re
import unicodedata
from collections.abc import Sequence

REPEATED_PHRASE_LENGTHS = range(1, 5)
"""Lengths of a repeated phrase, in words."""
MIN_REPETITIONS = 4
"""Consecutive repetitions of one word that make a loop; a phrase of several words needs one less."""
MIN_TRIPLED_WORD_LETTERS = 3
"""A word of at least this many letters is a loop if it occurs three times in a row, unless the source repeats, too."""

_LETTER_LOOP = re.compile(r"([^\W\d_]{2,8}?)\1{5}")
"""Two to eight letters, six times without a space."""
_TRIPLED_LETTERS = re.compile(r"([^\W\d_]{1,8}?)\1\1")
"""One to eight letters three times, as in 하하하 and 똑똑똑."""


def is_looping(source: str, output: str) -> bool:
    """Return whether an output repeats itself although its source does not."""
    tripled = has_tripled_word(output, MIN_TRIPLED_WORD_LETTERS) and not (
        has_tripled_word(source) or _TRIPLED_LETTERS.search(source)
    )
    return tripled or (has_loop(output) and not has_loop(source))


def has_loop(text: str) -> bool:
    """Return whether a phrase repeats, or a run of letters in text without spaces."""
    words = text.casefold().split()
    return (
        _has_repeated_phrase(words) or _has_repeated_phrase(strip_punctuation(words)) or bool(_LETTER_LOOP.search(text))
    )


def _has_repeated_phrase(words: Sequence[str]) -> bool:
    for length in REPEATED_PHRASE_LENGTHS:
        repetitions = MIN_REPETITIONS if length == 1 else MIN_REPETITIONS - 1
        matches = 0  # consecutive words equal to the word one phrase before
        for i in range(length, len(words)):
            matches = matches + 1 if words[i] == words[i - length] else 0
            if matches >= length * (repetitions - 1):
                return True
    return False


def has_tripled_word(text: str, min_letters: int = 0) -> bool:
    """Return whether a word of at least `min_letters` letters occurs three times in a row."""
    words = strip_punctuation(text.casefold().split())
    triples = zip(words, words[1:], words[2:], strict=False)
    return any(
        first == second == third and sum(map(str.isalpha, first)) >= min_letters for first, second, third in triples
    )


def strip_punctuation(words: Sequence[str]) -> list[str]:
    """Return the words without surrounding punctuation; leave out words that are only punctuation."""
    stripped = (word.strip("".join(sign for sign in word if unicodedata.category(sign)[0] in "PS")) for word in words)
    return [word for word in stripped if word]
