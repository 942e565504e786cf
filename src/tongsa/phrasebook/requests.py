"""Patterns of permission, command, request and suggestion."""

from tongsa.phrasebook.clauses import (
    PRESENT,
    Pair,
    Predicate,
    said,
    states,
)
from tongsa.phrasebook.conjugation import Stem, ability, attach, command, question
from tongsa.phrasebook.english import spaced
from tongsa.phrasebook.fillings import (
    DEFINITE,
    FORBIDDEN,
    HEARER,
    POLITE,
    STYLES,
    of,
)
from tongsa.phrasebook.persons import Subject
from tongsa.phrasebook.slots import Chapter, Word
from tongsa.phrasebook.verbs import Act

REQUESTS = Chapter()
pattern = REQUESTS.pattern


@pattern("permission question", DEFINITE, STYLES, fixed="may I")
def may_i(act: Act, style: Word) -> Pair:
    allowed = Stem(attach(act.stem.text, "아/어도 되"))
    korean = question(allowed, PRESENT, style is POLITE)
    return said(style is POLITE, f"may I {act.english('my')}?", spaced(act.before, korean))


@pattern("permission", DEFINITE, HEARER, fixed="may you")
def may(act: Act, subject: Subject) -> Pair:
    allowed = Predicate("may", "", act.before, Stem(attach(act.stem.text, "아/어도 되")))
    _, korean = states(subject, allowed, PRESENT)
    return said(subject.polite, f"you may {act.english('your')}", korean)


@pattern("command", DEFINITE, STYLES, weight=2)
def order(act: Act, style: Word) -> Pair:
    polite = style is POLITE
    return said(polite, act.english("your"), spaced(act.before, command(act.stem, polite)))


@pattern("prohibiting command", FORBIDDEN, STYLES, weight=1.5)
def do_not(act: Act, style: Word) -> Pair:
    polite = style is POLITE
    ending = "지 마세요" if polite else "지 마라"
    return said(polite, f"do not {act.english('your')}", spaced(act.before, attach(act.stem.text, ending)))


FAVOURS = of(
    "open, close, turn on, turn off, clean, bring, wait for, help, fix, explain, translate, make, read, "
    "sing, teach, carry, invite, call, recommend, choose, draw, cut, cook, bake, push, pull, hide, throw, "
    "catch, wake up, prepare, buy, order"
)


@pattern("request", FAVOURS, STYLES, fixed="please", weight=1.5)
def please(act: Act, style: Word) -> Pair:
    polite = style is POLITE
    korean = favour(act, "주세요" if polite else "줘")
    return said(polite, f"please {act.english('your')}", spaced(act.before, korean))


@pattern("request question", FAVOURS, STYLES, fixed="can you")
def could_you(act: Act, style: Word) -> Pair:
    polite = style is POLITE
    korean = question(ability(Stem(favour(act, "주"))), PRESENT, polite)
    return said(polite, f"could you {act.english('your')}?", spaced(act.before, korean))


def favour(act: Act, giving: str) -> str:
    """-아/어 주다, apart; 도와주다 alone is one word."""
    return attach(act.stem.text, "아/어" if act.head == "help" else "아/어 ") + giving


JOINT = of(
    "eat, drink, watch, study, learn, swim, exercise, take, take a walk, take a photo, shop, walk, cook, "
    "go, travel, sing, dance, clean, practice, prepare, prepare for, draw, bake, visit, rest, meet, help, "
    "invite, wait for, listen to, play, play with, run, ride, open, close, buy, order, make, read, plant, "
    "sit on, save, translate, memorize, start, hide, fix, do {own} homework"
)


@pattern("suggestion", JOINT, STYLES, fixed="let", weight=1.5)
def lets(act: Act, style: Word) -> Pair:
    polite = style is POLITE
    korean = attach(act.stem.text, "아/어요" if polite else "자")
    return said(polite, f"let's {act.english('our')}", spaced(act.before, korean))


@pattern("suggestion together", JOINT, STYLES, fixed="let together")
def lets_together(act: Act, style: Word) -> Pair:
    polite = style is POLITE
    korean = attach(act.stem.text, "아/어요" if polite else "자")
    return said(polite, f"let's {act.english('our')} together", spaced("같이", act.before, korean))


@pattern("negative suggestion", JOINT, STYLES, fixed="let")
def lets_not(act: Act, style: Word) -> Pair:
    polite = style is POLITE
    korean = attach(act.stem.text, "지 말아요" if polite else "지 말자")
    return said(polite, f"let's not {act.english('our')}", spaced(act.before, korean))


@pattern("offer", JOINT, STYLES, fixed="shall we")
def shall_we(act: Act, style: Word) -> Pair:
    polite = style is POLITE
    korean = attach(act.stem.text, "(으)ㄹ까요?" if polite else "(으)ㄹ까?")
    return said(polite, f"shall we {act.english('our')}?", spaced(act.before, korean))
