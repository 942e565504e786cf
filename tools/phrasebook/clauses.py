"""One clause in both languages: a subject, a predicate, a tense and adverbials.

English text may hold fields that the subject fills in: {their} face, {they} {are} tired, {a teacher|teachers}.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from phrasebook import conjugation as ko
from phrasebook import english as en
from phrasebook.conjugation import Stem, Style
from phrasebook.english import Tense, fill_possessive, join_words
from phrasebook.hangul import with_particle
from phrasebook.words import Adverbial, Person, Predicate

Pair = tuple[str, str]
PRESENT, PAST, FUTURE = Tense.PRESENT, Tense.PAST, Tense.FUTURE
ENGLISH_ORDER = ("manner", "place", "company", "time", "clause", "opening")
KOREAN_ORDER = ("frequency", "time", "clause", "company", "place")
SINGULAR_OR_PLURAL = re.compile(r"\{([^{}|]*)\|([^{}|]*)\}")


class Clause(NamedTuple):
    person: Person
    predicate: Predicate
    tense: Tense
    adverbials: Sequence[Adverbial] = ()

    def english_adverbial(self, role: str) -> str:
        return join_words(*[item.english for item in self.adverbials if item.role == role])

    def korean_adverbial(self, role: str) -> str:
        return join_words(*[item.korean for item in self.adverbials if item.role == role])

    @property
    def topic(self) -> str:
        return with_particle(self.person.korean, "은/는") if self.person.korean else ""


def fill_person(text: str, person: Person) -> str:
    """Replace the fields that depend on the subject."""
    if "{" not in text:
        return text
    if "{they}" in text:
        text = text.replace("{they}", person.pronoun)
        text = text.replace("{are}", en.be(person.agreement, PRESENT)).replace("{were}", en.be(person.agreement, PAST))
    text = SINGULAR_OR_PLURAL.sub(r"\2" if person.agreement == "plural" else r"\1", text)
    return fill_possessive(text, person.possessive)


def english_rest(clause: Clause) -> str:
    adverbials = (clause.english_adverbial(role) for role in ENGLISH_ORDER)
    return fill_person(join_words(clause.predicate.rest, *adverbials), clause.person)


def english_statement(clause: Clause, *, negated: bool = False) -> str:
    person, predicate, tense, _ = clause
    verb = (en.negative if negated else en.finite)(predicate.head, person.agreement, tense)
    frequency = clause.english_adverbial("frequency")
    verbs = (verb, frequency) if predicate.head == "be" else (frequency, verb)
    return join_words(person.english, *verbs, english_rest(clause))


def english_question(clause: Clause, *, negated: bool = False) -> str:
    person, predicate, tense, adverbials = clause
    carrier, verb = en.auxiliary(predicate.head, person.agreement, tense)
    wh = join_words(*(item.wh for item in adverbials))
    return join_words(wh, carrier, person.english, "not" if negated else "", verb, english_rest(clause)) + "?"


def korean_predicate(clause: Clause, form: str) -> str:
    """Predicate with its verb in the given form, and all that stands before it."""
    manner = clause.korean_adverbial("manner")
    # 잘하다, to be good at, is one word
    joined = manner == "잘" and clause.predicate.stem.text == "하"
    verb = manner + form if joined else join_words(manner, form)
    return join_words(*(clause.korean_adverbial(role) for role in KOREAN_ORDER), clause.predicate.before, verb)


def korean_sentence(clause: Clause, form: str) -> str:
    return join_words(clause.korean_adverbial("opening"), clause.topic, korean_predicate(clause, form))


def denied_stem(predicate: Predicate) -> Stem:
    return predicate.denied or ko.negative(predicate.stem)


def state(style: Style, clause: Clause) -> Pair:
    form = ko.statement(clause.predicate.stem, clause.tense, style)
    return english_statement(clause), korean_sentence(clause, form)


def deny(style: Style, clause: Clause) -> Pair:
    form = ko.statement(denied_stem(clause.predicate), clause.tense, style)
    return english_statement(clause, negated=True), korean_sentence(clause, form)


def ask(style: Style, clause: Clause) -> Pair:
    return english_question(clause), korean_sentence(clause, ko.question(clause.predicate.stem, clause.tense, style))


def ask_not(style: Style, clause: Clause) -> Pair:
    form = ko.question(denied_stem(clause.predicate), clause.tense, style)
    return english_question(clause, negated=True), korean_sentence(clause, form)


def ask_who(style: Style, clause: Clause) -> Pair:
    """Ask for the subject: no inversion in English, the nominative in Korean."""
    form = ko.question(clause.predicate.stem, clause.tense, style)
    return english_statement(clause) + "?", join_words(clause.person.nominative, korean_predicate(clause, form))


FORMS = {"state": state, "deny": deny, "ask": ask, "ask_not": ask_not, "ask_who": ask_who}
