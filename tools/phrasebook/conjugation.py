"""Korean verbs and adjectives: stems, the endings they take, and the stems derived from them.

Endings are written as in a grammar book: "아/어서", "(으)면", "고", "ㄴ/는다"; a stem decides how they join.
"""

from enum import Enum
from functools import cache
from typing import NamedTuple

from phrasebook.english import Tense
from phrasebook.hangul import compose, decompose, fuse, tail, with_tail

DIGEUT_IRREGULAR = frozenset("걷듣싣")
BIEUP_REGULAR = frozenset("입잡씹뽑접집좁업")
SIOT_IRREGULAR = frozenset("짓낫붓잇젓")
HIEUT_IRREGULAR = frozenset(("빨갛", "파랗", "노랗", "하얗", "까맣", "어떻", "그렇"))
REU_REGULAR = frozenset(("따르", "들르", "치르"))
CONTRACTION = {
    "ㅏ": "ㅏ",
    "ㅓ": "ㅓ",
    "ㅗ": "ㅘ",
    "ㅜ": "ㅝ",
    "ㅣ": "ㅕ",
    "ㅐ": "ㅐ",
    "ㅔ": "ㅔ",
    "ㅚ": "ㅙ",
    "ㅕ": "ㅕ",
}


POSTURES = frozenset(("앉", "눕", "서"))


class Style(Enum):
    """Korean speech level: 해라체, 해요체 (polite), 해체 (casual)."""

    PLAIN = ""
    POLITE = "<polite> "
    CASUAL = "<casual> "

    def choose(self, plain: str, polite: str, casual: str) -> str:
        return plain if self is Style.PLAIN else polite if self is Style.POLITE else casual


class Stem(NamedTuple):
    text: str
    """Without 다; for the copula, the noun before it."""
    kind: str = "verb"
    """verb, adjective, existence (있다 and 없다) or copula."""


def irregular(text: str) -> str:
    """Return the consonant (or 르) that names the irregular class of the stem, or nothing."""
    word, last = text.rsplit(" ", 1)[-1], text[-1]
    if last == "르" and word not in REU_REGULAR:
        return "르"
    final = tail(text)
    members = {
        "ㄷ": last in DIGEUT_IRREGULAR,
        "ㅂ": last not in BIEUP_REGULAR,
        "ㅅ": last in SIOT_IRREGULAR,
        "ㅎ": word in HIEUT_IRREGULAR,
    }
    return final if members.get(final, False) else ""


@cache
def infinitive(text: str) -> str:
    """Return the stem with 아 or 어, by vowel harmony and contraction: 가, 와, 마셔, 추워, 들어, 몰라, 해."""
    head, last = text[:-1], text[-1]
    lead, vowel, final = decompose(last)
    bare = head + compose(lead, vowel)
    harmony = "아" if vowel in "ㅏㅑㅗ" else "어"
    before = head[-1:].strip()
    match irregular(text):
        case "ㅂ":
            return bare + ("와" if last in "돕곱" else "워")
        case "ㄷ":
            return with_tail(text, "ㄹ") + harmony
        case "ㅅ":
            return bare + harmony
        case "ㅎ":
            return head + compose(lead, "ㅒ" if vowel == "ㅑ" else "ㅐ")
        case "르":
            return with_tail(head, "ㄹ") + ("라" if decompose(before)[1] in "ㅏㅗ" else "러")
    if last == "하":
        return head + "해"
    if text.endswith("아니"):
        return text + "어"
    if final:
        return text + harmony
    if vowel == "ㅡ":
        return head + compose(lead, "ㅏ" if before and decompose(before)[1] in "ㅏㅗ" else "ㅓ")
    if vowel in CONTRACTION:
        return head + compose(lead, CONTRACTION[vowel])
    return text + "어"


@cache
def attach(text: str, ending: str) -> str:
    """Join stem and ending by the class of both."""
    if ending.startswith("아/어"):
        return fuse(infinitive(text), ending[3:])
    if ending.startswith("ㄴ/는"):
        regular = tail(text) not in ("", "ㄹ")
        return text + ending[2:] if regular else with_tail(text, "ㄴ") + ending[3:]
    if ending.startswith("(으)"):
        return attach_with_eu(text, ending[3:])
    if tail(text) == "ㄹ" and ending[0] in "는니네":
        return with_tail(text, "") + ending
    return text + ending


def attach_with_eu(text: str, ending: str) -> str:
    """Join an ending that asks for 으 after a closed stem: 먹으면, 가면, 살면, 추우면, 들으면."""
    match irregular(text):
        case "ㅂ":
            return fuse(with_tail(text, "") + "우", ending)
        case "ㄷ":
            return fuse(with_tail(text, "ㄹ") + "으", ending)
        case "ㅅ":
            return fuse(with_tail(text, "") + "으", ending)
        case "ㅎ":
            return fuse(with_tail(text, ""), ending)
    if tail(text) == "ㄹ":
        drops = ending[0] in "ㄴㄹㅂ" or (ending[0] not in "러려" and decompose(ending[0])[0] in "ㄴㅅ")
        return fuse(with_tail(text, "") if drops else text, ending)
    return fuse(text + "으" if tail(text) else text, ending)


def past(stem: Stem) -> str:
    """Past stem with 았/었: 갔, 먹었, 학생이었, 의사였."""
    if stem.kind == "copula":
        return stem.text + ("이었" if tail(stem.text) else "였")
    return with_tail(infinitive(stem.text), "ㅆ")


def connective(stem: Stem, tense: Tense, ending: str) -> str:
    """Clause left open by 고, 지만 or 다고, present or past."""
    if tense is Tense.PAST:
        return past(stem) + ending
    if stem.kind == "copula":
        return stem.text + ("이" if tail(stem.text) else "") + ending
    return attach(stem.text, ending)


@cache
def statement(stem: Stem, tense: Tense, style: Style) -> str:
    """Declarative form: 간다, 갔다, 갈 것이다; 가요, 갔어요, 갈 거예요; 가, 갔어, 갈 거야."""
    if tense is Tense.FUTURE:
        return attach(stem.text, "(으)ㄹ ") + style.choose("것이다", "거예요", "거야")
    if tense is Tense.PAST:
        return past(stem) + style.choose("다", "어요", "어")
    if style is Style.PLAIN:
        return attach(stem.text, "ㄴ/는다") if stem.kind == "verb" else connective(stem, tense, "다")
    if stem.kind == "copula":
        endings = ("이에요", "이야") if tail(stem.text) else ("예요", "야")
        return stem.text + style.choose("", *endings)
    if stem.text.endswith("아니"):
        return stem.text + style.choose("", "에요", "야")
    return attach(stem.text, style.choose("", "아/어요", "아/어"))


@cache
def question(stem: Stem, tense: Tense, style: Style) -> str:
    """Interrogative form: 가니? 갔니? 갈 거니? In polite and casual style, the statement with a rising tone."""
    if style is not Style.PLAIN:
        return statement(stem, tense, style) + "?"
    if tense is Tense.FUTURE:
        return attach(stem.text, "(으)ㄹ 거니?")
    return connective(stem, tense, "니?")


def modifier(stem: Stem) -> str:
    """Present form before a noun: 가는, 큰, 있는, 학생인."""
    if stem.kind == "copula":
        return stem.text + "인"
    return attach(stem.text, "(으)ㄴ" if stem.kind == "adjective" else "는")


@cache
def negative(stem: Stem) -> Stem:
    """Negative stem: 안 먹다; 공부하지 않다; 크지 않다; 없다; 모르다; 학생이 아니다."""
    text, kind = stem
    word = text.rsplit(" ", 1)[-1]
    if kind == "copula":
        return Stem(text + ("이" if tail(text) else "가") + " 아니", "adjective")
    if text == "있" or text.endswith(" 수 있"):
        return Stem(text[:-1] + "없", "existence")
    if text == "알":
        return Stem("모르")
    if text == "기억하":
        return Stem("기억하지 못하")
    if kind != "verb":
        return Stem(text + "지 않", "adjective")
    # 안 안다, not to hug, would stammer
    if (len(word) > 1 and word.endswith("하")) or text.endswith("싶어 하") or text == "안":
        return Stem(text + "지 않")
    return Stem("안 " + text)


def progressive(stem: Stem) -> Stem:
    """Progressive stem in -고 있다; for postures -아/어 있다, the resulting state."""
    return Stem(attach(stem.text, "아/어 있" if stem.text in POSTURES else "고 있"), "existence")


def desire(stem: Stem, speaker: bool) -> Stem:
    """Stem of wishing: -고 싶다 for the speaker and the hearer, -고 싶어 하다 for others."""
    return Stem(attach(stem.text, "고 싶"), "adjective") if speaker else Stem(attach(stem.text, "고 싶어 하"))


HONORIFIC = {"먹": "드", "마시": "드", "자": "주무"}
"""Stems that politeness replaces before -(으)세요."""


def command(stem: Stem, style: Style) -> str:
    """Imperative form: 먹어라, 드세요, 먹어; 가라, 가세요, 가."""
    if style is Style.POLITE and stem.text in HONORIFIC:
        return HONORIFIC[stem.text] + "세요"
    return attach(stem.text, style.choose("아/어라", "(으)세요", "아/어"))
