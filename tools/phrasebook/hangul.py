"""Hangul syllables as lead, vowel and tail (Unicode 3.12), and the particles that depend on the tail."""

from functools import cache

LEADS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
TAILS = ("", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ")
FIRST = ord("가")

PARTICLES = {
    "은/는": ("은", "는"),
    "이/가": ("이", "가"),
    "을/를": ("을", "를"),
    "와/과": ("과", "와"),
    "아/야": ("아", "야"),
    "으로/로": ("으로", "로"),
}
"""After a closed syllable, after an open one."""
LATIN_OPEN = "I"
"""Latin letters whose Korean name ends in a vowel: AI is read 에이아이."""


def decompose(syllable: str) -> tuple[str, str, str]:
    index = ord(syllable) - FIRST
    if not 0 <= index < len(LEADS) * len(VOWELS) * len(TAILS):
        raise ValueError(f"{syllable!r} is not a Hangul syllable")
    lead, rest = divmod(index, len(VOWELS) * len(TAILS))
    vowel, tail = divmod(rest, len(TAILS))
    return LEADS[lead], VOWELS[vowel], TAILS[tail]


def compose(lead: str, vowel: str, tail: str = "") -> str:
    index = (LEADS.index(lead) * len(VOWELS) + VOWELS.index(vowel)) * len(TAILS) + TAILS.index(tail)
    return chr(FIRST + index)


def tail(word: str) -> str:
    """Return the final consonant of the last syllable, or nothing."""
    return decompose(word[-1])[2]


def with_tail(word: str, consonant: str) -> str:
    """Return the word with its last syllable closed by this consonant, or opened by none."""
    lead, vowel, _ = decompose(word[-1])
    return word[:-1] + compose(lead, vowel, consonant)


def fuse(word: str, ending: str) -> str:
    """Join an ending; a bare consonant at its head becomes the tail: 가 + ㄹ게 is 갈게."""
    if ending[:1] in TAILS[1:]:
        return with_tail(word, ending[0]) + ending[1:]
    return word + ending


def particle(word: str, pair: str) -> str:
    """Return the form of a particle that follows this word: 책 takes 을, 사과 takes 를."""
    closed, open_ = PARTICLES[pair]
    final = tail(word) if word[-1] not in LATIN_OPEN else ""
    if not final or (pair == "으로/로" and final == "ㄹ"):
        return open_
    return closed


@cache
def with_particle(word: str, mark: str) -> str:
    """Return the word with its particle; a particle of one form, such as 에게, is simply added."""
    return word + (particle(word, mark) if mark in PARTICLES else mark)
