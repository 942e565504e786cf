"""One clause in both languages: a subject, a predicate, and where, when, how and with whom."""

from typing import NamedTuple

from tongsa.phrasebook import conjugation as ko
from tongsa.phrasebook import english as en
from tongsa.phrasebook.adjectives import Adjective
from tongsa.phrasebook.conjugation import Stem
from tongsa.phrasebook.english import Tense, owned, spaced
from tongsa.phrasebook.nouns import Noun
from tongsa.phrasebook.persons import Subject
from tongsa.phrasebook.verbs import Act

Pair = tuple[str, str]
NOTHING: Pair = ("", "")
PRESENT, PAST, FUTURE = Tense.PRESENT, Tense.PAST, Tense.FUTURE


class Predicate(NamedTuple):
    head: str
    """The English verb that is made finite."""
    rest: str
    before: str
    """The Korean words before the verb."""
    stem: Stem


class Setting(NamedTuple):
    """English puts these after the verb in reverse; Korean before it, in this order."""

    frequency: Pair = NOTHING
    time: Pair = NOTHING
    company: Pair = NOTHING
    place: Pair = NOTHING
    manner: Pair = NOTHING


HERE = Setting()


def doing(act: Act) -> Predicate:
    return Predicate(act.head, act.rest, act.before, act.stem)


def progressing(act: Act) -> Predicate:
    return Predicate("be", spaced(en.gerund(act.head), act.rest), act.before, ko.progressive(act.stem))


def wanting(act: Act, subject: Subject) -> Predicate:
    return Predicate("want", f"to {act.head} {act.rest}".strip(), act.before, ko.desire(act.stem, subject.speaker))


def able(act: Act) -> Predicate:
    return Predicate("can", spaced(act.head, act.rest), act.before, ko.ability(act.stem))


def obliged(act: Act) -> Predicate:
    return Predicate("must", spaced(act.head, act.rest), act.before, ko.obligation(act.stem))


def described(adjective: Adjective, degree: Pair = NOTHING) -> Predicate:
    """Being so; a degree stands right before the adjective: 키가 아주 크다."""
    before, _, stem = adjective.stem.text.rpartition(" ")
    return Predicate(
        "be",
        spaced(degree[0], adjective.english),
        spaced(before, degree[1]),
        Stem(stem, adjective.stem.kind),
    )


def identified(english: str, korean: str) -> Predicate:
    return Predicate("be", english, "", Stem(korean, "copula"))


def english_statement(
    subject: Subject, predicate: Predicate, tense: Tense, setting: Setting = HERE, negated: bool = False
) -> str:
    verb = (en.negated if negated else en.finite)(predicate.head, subject.agreement, tense)
    often = setting.frequency[0]
    return spaced(
        subject.english,
        spaced(verb, often) if predicate.head == "be" else spaced(often, verb),
        english_rest(subject, predicate, setting),
    )


def english_question(
    subject: Subject, predicate: Predicate, tense: Tense, setting: Setting = HERE, wh: str = ""
) -> str:
    carrier, left = en.auxiliary(predicate.head, subject.agreement, tense)
    return spaced(wh, carrier, subject.english, left, english_rest(subject, predicate, setting)) + "?"


def english_rest(subject: Subject, predicate: Predicate, setting: Setting) -> str:
    rest = owned(predicate.rest, subject.own)
    return spaced(rest, setting.manner[0], setting.place[0], setting.company[0], setting.time[0])


def korean_predicate(predicate: Predicate, form: str, setting: Setting = HERE) -> str:
    """The predicate with its verb in the given form and all that stands before it."""
    frequency, time, company, place, manner = setting
    # 잘하다, to be good at, is one word
    done = manner[1] + form if manner[1] == "잘" and predicate.stem.text == "하" else spaced(manner[1], form)
    return spaced(frequency[1], time[1], company[1], place[1], predicate.before, done)


def states(subject: Subject, predicate: Predicate, tense: Tense, setting: Setting = HERE) -> Pair:
    form = ko.statement(predicate.stem, tense, subject.polite)
    english = english_statement(subject, predicate, tense, setting)
    return said(subject.polite, english, spaced(subject.topic, korean_predicate(predicate, form, setting)))


def denies(subject: Subject, predicate: Predicate, tense: Tense, setting: Setting = HERE) -> Pair:
    form = ko.statement(ko.negative(predicate.stem), tense, subject.polite)
    english = english_statement(subject, predicate, tense, setting, negated=True)
    return said(subject.polite, english, spaced(subject.topic, korean_predicate(predicate, form, setting)))


def asks(subject: Subject, predicate: Predicate, tense: Tense, setting: Setting = HERE, wh: str = "") -> Pair:
    form = ko.question(predicate.stem, tense, subject.polite)
    english = english_question(subject, predicate, tense, setting, wh)
    return said(subject.polite, english, spaced(subject.topic, korean_predicate(predicate, form, setting)))


def said(polite: bool, english: str, korean: str) -> Pair:
    """A whole sentence; politeness is a side constraint on the source (Sennrich, Haddow and Birch 2016)."""
    return ("<polite> " if polite else "") + en.capitalised(english), korean


def thing(noun: Noun, determiner: str = "the", polite: bool = False) -> Subject:
    """A noun as subject: the apple, this apple, these shoes."""
    plural = {"this": "these", "that": "those"} if noun.number == "plural" else {}
    korean = {"this": "이 ", "that": "그 "}.get(determiner, "") + noun.korean
    english = spaced(plural.get(determiner, determiner), noun.english)
    return Subject(english, korean, noun.agreement, "its", polite=polite)


PRONOUN = {"my": "I", "your": "you", "his": "he", "her": "she", "our": "we", "their": "they"}


def again(subject: Subject) -> Subject:
    """The pronoun for a subject already named."""
    return subject._replace(english=PRONOUN[subject.own])
