"""Names of settings in Korean, and their object particle: 을 after a closed last syllable, 를 after an open one."""

import re

SETTINGS = {
    "1 head": "헤드 1개",
    "4 heads": "헤드 4개",
    "16 heads": "헤드 16개",
    "dropout 0.0": "드롭아웃 0.0",
    "dropout 0.1": "드롭아웃 0.1",
    "dropout 0.3": "드롭아웃 0.3",
    "layer": "층 정규화",
    "batch": "배치 정규화",
    "rms": "RMS 정규화",
    "none": "정규화 없음",
    "layer, one sentence": "층 정규화",
    "batch, one sentence": "배치 정규화",
    "tied, √d": "√d를 곱한 공유 임베딩",
    "tied, no √d": "√d를 곱하지 않은 공유 임베딩",
    "separate, √d": "√d를 곱한 분리 임베딩",
}
"""Settings that the results compare; kinds of models and formulas stay as they are."""
CLOSED_DIGITS = frozenset("013678")
"""Digits whose names end in a consonant: 영, 일, 삼, 육, 칠, 팔; after a zero also 십, 백, 천, 만."""
CLOSED_LETTERS = frozenset("lmnr")
"""Letters whose names end in a consonant: 엘, 엠, 엔, 알."""
HANGUL_START, FINAL_CONSONANTS = 0xAC00, 28
SHORT_ENDING = re.compile(r"(?<![aeiou])[aeiou](?:[ptb]|c?k)$")
"""End of an English word whose last consonant closes the syllable in Korean: dot (닷), pick (픽)."""


def with_object_particle(words: str) -> str:
    """Return the words with their particle: layer를, rnn을, √d를, 4 heads를, dropout 0.0을, 층을."""
    match = re.search(r"([가-힣]|\d|[A-Za-z]+)[^가-힣\dA-Za-z]*$", words)
    return words + ("을" if match and ends_closed(match[1]) else "를")


def ends_closed(word: str) -> bool:
    """Return whether a Hangul syllable, a digit or a word in Latin letters ends in a consonant when read in Korean."""
    if word.isdigit():
        return word in CLOSED_DIGITS
    if "가" <= word <= "힣":
        return (ord(word) - HANGUL_START) % FINAL_CONSONANTS > 0
    if word.isupper() or not re.search("[aeiouy]", word):  # read letter by letter
        return word[-1].lower() in CLOSED_LETTERS
    is_nasal_or_l = re.search(r"(?:[lmn]|ng)e?$", word) is not None
    return is_nasal_or_l or SHORT_ENDING.search(word) is not None
