"""Korean verbs and adjectives: stems, the endings they take, and the stems derived from them.

Endings are written as in a grammar book: "아/어서", "(으)면", "고", "ㄴ/는다"; a stem decides how they join.
"""

from functools import cache
from typing import NamedTuple

from tongsa.phrasebook.english import Tense
from tongsa.phrasebook.hangul import compose, decompose, fused, tail, with_tail

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


class Stem(NamedTuple):
    text: str
    """Without 다; for the copula, the noun before it."""
    kind: str = "verb"
    """verb, adjective, existence (있다 and 없다) or copula."""


def irregular(text: str) -> str:
    """The consonant (or 르) whose irregular class the stem belongs to, or nothing."""
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
    """The stem with 아 or 어, by vowel harmony and contraction: 가, 와, 마셔, 추워, 들어, 몰라, 해."""
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
    """The stem joined with an ending by the class of both."""
    if ending.startswith("아/어"):
        return fused(infinitive(text), ending[3:])
    if ending.startswith("ㄴ/는"):
        regular = tail(text) not in ("", "ㄹ")
        return text + ending[2:] if regular else with_tail(text, "ㄴ") + ending[3:]
    if ending.startswith("(으)"):
        return linked(text, ending[3:])
    if tail(text) == "ㄹ" and ending[0] in "는니네":
        return with_tail(text, "") + ending
    return text + ending


def linked(text: str, ending: str) -> str:
    """Join an ending that asks for 으 after a closed stem: 먹으면, 가면, 살면, 추우면, 들으면."""
    match irregular(text):
        case "ㅂ":
            return fused(with_tail(text, "") + "우", ending)
        case "ㄷ":
            return fused(with_tail(text, "ㄹ") + "으", ending)
        case "ㅅ":
            return fused(with_tail(text, "") + "으", ending)
        case "ㅎ":
            return fused(with_tail(text, ""), ending)
    if tail(text) == "ㄹ":
        drops = ending[0] in "ㄴㄹㅂ" or (ending[0] not in "러려" and decompose(ending[0])[0] in "ㄴㅅ")
        return fused(with_tail(text, "") if drops else text, ending)
    return fused(text + "으" if tail(text) else text, ending)


def past(stem: Stem) -> str:
    """The past stem, 았/었 fused: 갔, 먹었, 학생이었, 의사였."""
    if stem.kind == "copula":
        return stem.text + ("이었" if tail(stem.text) else "였")
    return with_tail(infinitive(stem.text), "ㅆ")


def connective(stem: Stem, tense: Tense, ending: str) -> str:
    """A clause left open by 고, 지만 or 다고, present or past."""
    if tense is Tense.PAST:
        return past(stem) + ending
    if stem.kind == "copula":
        return stem.text + ("이" if tail(stem.text) else "") + ending
    return attach(stem.text, ending)


@cache
def statement(stem: Stem, tense: Tense, polite: bool) -> str:
    """나는 간다, 갔다, 갈 것이다; 저는 가요, 갔어요, 갈 거예요."""
    match tense:
        case Tense.FUTURE:
            return attach(stem.text, "(으)ㄹ ") + ("거예요" if polite else "것이다")
        case Tense.PAST:
            return past(stem) + ("어요" if polite else "다")
    return polite_present(stem) if polite else plain_present(stem)


@cache
def question(stem: Stem, tense: Tense, polite: bool) -> str:
    """가니? 갔니? 갈 거니? and in polite style the statement with a rising tone."""
    if polite:
        return statement(stem, tense, polite) + "?"
    if tense is Tense.FUTURE:
        return attach(stem.text, "(으)ㄹ 거니?")
    return connective(stem, tense, "니?")


def plain_present(stem: Stem) -> str:
    if stem.kind == "verb":
        return attach(stem.text, "ㄴ/는다")
    return connective(stem, Tense.PRESENT, "다")


def polite_present(stem: Stem) -> str:
    if stem.kind == "copula":
        return stem.text + ("이에요" if tail(stem.text) else "예요")
    if stem.text.endswith("아니"):
        return stem.text + "에요"
    return attach(stem.text, "아/어요")


def modifier(stem: Stem) -> str:
    """What stands before a noun, present: 가는, 큰, 있는, 학생인."""
    if stem.kind == "copula":
        return stem.text + "인"
    return attach(stem.text, "(으)ㄴ" if stem.kind == "adjective" else "는")


@cache
def negative(stem: Stem) -> Stem:
    """안 먹다; 공부하지 않다; 크지 않다; 없다; 모르다; 학생이 아니다."""
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
    """-고 있다; of postures -아/어 있다, the state one is in."""
    return Stem(attach(stem.text, "아/어 있" if stem.text in POSTURES else "고 있"), "existence")


def desire(stem: Stem, speaker: bool) -> Stem:
    """-고 싶다 of oneself and the one asked, -고 싶어 하다 of others."""
    return Stem(attach(stem.text, "고 싶"), "adjective") if speaker else Stem(attach(stem.text, "고 싶어 하"))


def ability(stem: Stem) -> Stem:
    return Stem(attach(stem.text, "(으)ㄹ 수 있"), "existence")


def obligation(stem: Stem) -> Stem:
    return Stem(attach(stem.text, "아/어야 하"))


HONORED = {"먹": "드", "마시": "드", "자": "주무"}
"""Stems that politeness replaces before -(으)세요."""


def command(stem: Stem, polite: bool) -> str:
    """먹어라, 드세요; 가라, 가세요; 해라, 하세요."""
    if polite:
        return attach(HONORED[stem.text], "세요") if stem.text in HONORED else attach(stem.text, "(으)세요")
    return attach(stem.text, "아/어라")
