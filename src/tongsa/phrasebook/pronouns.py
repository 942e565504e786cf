"""Patterns of one person and another, the other a pronoun: "I love you", "Mom helped us", "Do you know me?"."""

from tongsa.phrasebook.clauses import PAST, PRESENT, Pair, Predicate, asks, denies, states
from tongsa.phrasebook.conjugation import Stem
from tongsa.phrasebook.english import head_and_rest, spaced
from tongsa.phrasebook.fillings import HEARER, SELVES, styled
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.persons import KIN, NAMES, Subject
from tongsa.phrasebook.slots import Chapter, Slot, Word

MEETINGS = Chapter()
pattern = MEETINGS.pattern

ME, YOU, US = Word("me", "나", ("me",)), Word("you", "너", ("you",)), Word("us", "우리", ("us",))
OTHERS = [Word("him", "그", ("him",)), Word("her", "그녀", ("her",)), Word("them", "그들", ("them",))]
POLITELY = {"나": "저", "너": "당신"}

LASTING = Slot(
    [[Word(*pair, (pair[0],)) for pair in (("love", "사랑하"), ("like", "좋아하"), ("trust", "믿"), ("know", "알"))]]
)
DONE = Slot(
    [
        [
            Word("love", "사랑하", ("love",)),
            Word("help", "돕", ("help",)),
            Word("meet", "만나", ("meet",)),
            Word("invite", "초대하", ("invite",)),
            Word("wait for", "기다리", ("wait",)),
        ]
    ]
)
BY_SELVES, BY_HEARER = Slot([[YOU], OTHERS]), Slot([[ME], [US], OTHERS])
BY_THIRD, THIRD = Slot([[ME], [YOU], [US], OTHERS]), styled(NAMES, KIN)


def to(verb: Word, whom: Word, *, polite: bool) -> Predicate:
    head, rest = head_and_rest(verb.english)
    korean = POLITELY.get(whom.korean, whom.korean) if polite else whom.korean
    return Predicate(head, spaced(rest, whom.english), marked(korean, "을/를"), Stem(verb.korean))


@pattern("self and pronoun", LASTING, BY_SELVES, SELVES, weight=0.8)
def selves(verb: Word, whom: Word, subject: Subject) -> Pair:
    return states(subject, to(verb, whom, polite=subject.polite), PRESENT)


@pattern("self and pronoun past", DONE, BY_SELVES, SELVES, weight=0.8)
def selves_past(verb: Word, whom: Word, subject: Subject) -> Pair:
    return states(subject, to(verb, whom, polite=subject.polite), PAST)


@pattern("self and pronoun negative", LASTING, BY_SELVES, SELVES, weight=0.4)
def selves_negative(verb: Word, whom: Word, subject: Subject) -> Pair:
    return denies(subject, to(verb, whom, polite=subject.polite), PRESENT)


@pattern("hearer and pronoun", LASTING, BY_HEARER, HEARER, weight=0.4)
def hearer(verb: Word, whom: Word, subject: Subject) -> Pair:
    return asks(subject, to(verb, whom, polite=subject.polite), PRESENT)


@pattern("third and pronoun", LASTING, BY_THIRD, THIRD, weight=0.8)
def third(verb: Word, whom: Word, subject: Subject) -> Pair:
    return states(subject, to(verb, whom, polite=subject.polite), PRESENT)


@pattern("third and pronoun past", DONE, BY_THIRD, THIRD, weight=0.8)
def third_past(verb: Word, whom: Word, subject: Subject) -> Pair:
    return states(subject, to(verb, whom, polite=subject.polite), PAST)
