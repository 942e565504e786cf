"""Repairs of texts as they are in a file: wrong encodings, control characters, markup, loose jamo, decomposed letters.

They run until nothing changes, so a repaired text needs no repair.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from tongsa.data.cleaning.config import RepairName
from tongsa.data.inline_marks import HTML_TAG, MARKUP
from tongsa.data.mojibake import restore_text
from tongsa.data.normalize import CONTROL_CHARACTERS

MAX_REPAIRED_CHARACTERS = 10**7
"""Limit of rounds times length: deeply nested markup of a long text is left."""
_INITIALS, _VOWELS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ", "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
_FINALS = ["", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"]
_FINAL_CLUSTERS = {
    **dict(zip(("ㄱㅅ", "ㄴㅈ", "ㄴㅎ", "ㅂㅅ"), "ㄳㄵㄶㅄ", strict=True)),
    **dict(zip(("ㄹㄱ", "ㄹㅁ", "ㄹㅂ", "ㄹㅅ", "ㄹㅌ", "ㄹㅍ", "ㄹㅎ"), "ㄺㄻㄼㄽㄾㄿㅀ", strict=True)),
}
_JAMO_RUN = re.compile("[ㄱ-ㅣ]{2,}")
_FACE = re.compile(r"([ㄱ-ㅎ])[ㅡㅜㅠㅗ]\1|[ㅋㅎ][ㅡㅜㅠㅑ]")
"""Faces and laughter that could be syllables: ㅎㅡㅎ, ㅋㅡㅋ, ㅎㅜ, ㅋㅑ."""
_SYLLABLE = re.compile(
    f"([{_INITIALS}])([{_VOWELS}])((?:{'|'.join(_FINAL_CLUSTERS)}|[{''.join(_FINALS)}])(?![{_VOWELS}]))?"
)
"""Initial, vowel, and a final that is not the initial of the next syllable."""
_NESTED_AMPERSAND = re.compile(r"&(?:amp;|#38;|#x26;)+", re.IGNORECASE)
_TAG = re.compile(HTML_TAG, re.IGNORECASE)
_LINE_TAG = re.compile(r"</?(?:p|br|hr|li|ul|ol|td|th|tr|div|table|pre|h[1-6])\b", re.IGNORECASE)


def compose_jamo(text: str) -> str:
    """Compose runs of compatibility jamo that are syllables throughout: ㅎㅏㄴ → 한. ㅋㅋ, ㅠㅠ and ㅎㅡㅎ stay."""
    return _JAMO_RUN.sub(_compose_run, text)


def _compose_run(match: re.Match[str]) -> str:
    syllables, end, run = list[str](), 0, match[0]
    if _FACE.fullmatch(run):
        return run
    while end < len(run):
        syllable = _SYLLABLE.match(run, end)
        if syllable is None:
            return run
        initial, vowel, final = syllable[1], syllable[2], syllable[3] or ""
        index = _INITIALS.index(initial) * len(_VOWELS) + _VOWELS.index(vowel)
        final_index = _FINALS.index(_FINAL_CLUSTERS.get(final, final))
        syllables.append(chr(ord("가") + index * len(_FINALS) + final_index))
        end = syllable.end()
    return "".join(syllables)


def remove_markup(text: str) -> str:
    """Remove tags and resolve entities; a tag between lines or cells leaves a space."""
    if "<" not in text and "&" not in text:
        return text
    text = _TAG.sub(lambda match: " " if _LINE_TAG.match(match[0]) else "", text)
    return MARKUP.sub(_resolve_entity, _NESTED_AMPERSAND.sub("&amp;", text))


def _resolve_entity(match: re.Match[str]) -> str:
    character = html.unescape(match[0])
    return match[0] if "\ufffd" in character else character  # &#0; is no character


def _restore_encoding(text: str, language: str) -> str:
    encoding, original = restore_text(text) or ("", text)
    is_korean_elsewhere = encoding in ("EUC-KR", "CP949") and language not in ("ko", "")
    return text if not encoding or is_korean_elsewhere else original


REPAIRS: Mapping[RepairName, Callable[[str, str], str]] = {
    "mojibake": _restore_encoding,
    "control_characters": lambda text, _: text if text.isprintable() else CONTROL_CHARACTERS.sub("", text),
    "markup": lambda text, _: remove_markup(text),
    "compatibility_jamo": lambda text, _: text if text.isascii() else compose_jamo(text),
    "nfc": lambda text, _: text if text.isascii() else unicodedata.normalize("NFC", text),
}
"""Functions of a text and its language code."""


def repair_text(text: str, names: Sequence[RepairName], language: str = "") -> tuple[str, tuple[RepairName, ...]]:
    """Return the repaired text and the repairs that changed it."""
    changed: set[RepairName] = set()
    for _ in range(max(2, MAX_REPAIRED_CHARACTERS // (len(text) + 1))):
        before = text
        for name in names:
            repaired = REPAIRS[name](text, language)
            if repaired != text:
                changed.add(name)
                text = repaired
        if text == before:
            break
    return text, tuple(name for name in names if name in changed)
