"""Patterns of two clauses: but, and, because, when, if, before, after, while, to, that, who."""

from tongsa.phrasebook.adjectives import FITTING, PREDICATIVE, STATES, Adjective, adjectives
from tongsa.phrasebook.clauses import (
    FUTURE,
    HERE,
    PAST,
    PRESENT,
    Pair,
    Predicate,
    Setting,
    described,
    doing,
    english_statement,
    korean_predicate,
    progressing,
    said,
    states,
    thing,
)
from tongsa.phrasebook.conjugation import Stem, ability, attach, command, connective, modifier, negative, past, statement
from tongsa.phrasebook.english import Tense, gerund, spaced
from tongsa.phrasebook.fillings import (
    ANY,
    DAILY_VERBS,
    HABITUAL,
    LOCATED,
    ONGOING,
    OTHER,
    POLITE,
    SELVES,
    STYLES,
    SUBJECTS,
    at,
    doable,
    free,
    of,
    timed,
    word,
)
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import OTHER_NAMES, TIMES, Noun, Place, Subject, nouns, places, politely, times
from tongsa.phrasebook.slots import Chapter, Crossed, Joint, Slot, Word
from tongsa.phrasebook.verbs import ACTS, Act, Verb

JOINS = Chapter()
pattern = JOINS.pattern


def optional(words: list[Word]) -> list[Word]:
    """Or nothing, as likely as all of them together would be in three draws."""
    return [Word("", ""), *words]


def contrasts(tense: Tense) -> Slot[Joint]:
    """One verb with two different objects, and perhaps a time."""
    groups = []
    for verb, acts in ACTS.items():
        if len(acts) > 2 and free(verb, "n") and (tense is not PRESENT or free(verb, "e")):
            pairs = [Joint((one, other)) for one in acts for other in acts if one is not other]
            groups.append(pairs)
    return Slot(groups)


def but(joint: Joint, subject: Subject, other: Subject, tense: Tense, time: Word) -> Pair:
    one, two = joint.parts
    second = politely(other) if subject.polite else other
    setting = Setting(time=time.pair)
    english = english_statement(subject, doing(one), tense, setting) + " but " + english_statement(second, doing(two), tense)
    first = korean_predicate(doing(one), connective(one.stem, tense, "지만"), setting)
    last = korean_predicate(doing(two), statement(two.stem, tense, subject.polite))
    return said(subject.polite, english, spaced(subject.topic, first, second.topic, last))


NONE = Slot([[Word("", "")]])
PAST_DAYS = Slot([[Word("", "")], [timed(time) for time in TIMES if time.tenses == (PAST,) and not time.scale]])


@pattern("but", contrasts(PRESENT), SUBJECTS, OTHER, weight=1.5)
def but_present(joint: Joint, subject: Subject, other: Subject) -> Pair:
    return but(joint, subject, other, PRESENT, Word("", ""))


@pattern("but past", contrasts(PAST), SUBJECTS, OTHER, PAST_DAYS, weight=2)
def but_past(joint: Joint, subject: Subject, other: Subject, time: Word) -> Pair:
    return but(joint, subject, other, PAST, time)
