"""The slots that many patterns share: styles, subjects, acts by what they allow, times and adverbs."""

from collections.abc import Callable, Iterable
from itertools import groupby

from tongsa.phrasebook.adjectives import DEGREES
from tongsa.phrasebook.english import Tense
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import (
    KIN,
    NAMES,
    OTHER_NAMES,
    OTHERS,
    PRONOUNS,
    STRANGERS,
    WE,
    YOU,
    I,
    Place,
    Subject,
    Time,
    politely,
    times,
)
from tongsa.phrasebook.slots import Joint, Slot, Word
from tongsa.phrasebook.verbs import ACTS, ADVERBS, FREQUENCIES, Act, Verb

PLAIN, POLITE = Word("plain", ""), Word("polite", "")
STYLES = Slot([[PLAIN], [POLITE]])


def styled(*groups: Iterable[Subject]) -> Slot[Subject]:
    """Each group in plain and in polite style."""
    kept = [tuple(group) for group in groups]
    return Slot([*kept, *([politely(subject) for subject in group] for group in kept)])


THIRD = (PRONOUNS, NAMES, KIN, STRANGERS)
SUBJECTS = styled([I], [I, WE], *THIRD)
WITH_YOU = Slot([*SUBJECTS.groups, [YOU]])
ASKED = styled([YOU], [YOU], *THIRD)
SELVES = styled([I], [I, WE])
HEARER = styled([YOU])
PERSONS = styled(*THIRD)
NAMED = styled(NAMES)
OTHER = Slot([OTHER_NAMES])
COMPANY = Slot([OTHER_NAMES, OTHERS])


def doable(suits: Callable[[Verb], bool]) -> Slot[Act]:
    return Slot(acts for verb, acts in ACTS.items() if suits(verb))


def free(verb: Verb, *flags: str) -> bool:
    return not any(flag in verb.flags for flag in flags)


ANY = doable(lambda verb: True)
TOLD = doable(lambda verb: free(verb, "e"))
ONGOING = doable(lambda verb: free(verb, "s", "p", "e"))
WILLED = doable(lambda verb: free(verb, "s", "n"))
HABITUAL = doable(lambda verb: free(verb, "s", "n", "e", "p"))


def of(*heads: str) -> Slot[Act]:
    """The acts of these verbs."""
    return doable(lambda verb: verb.english.split()[0] in heads)


def located(verbs: Iterable[Verb]) -> Slot[Joint]:
    """Acts with a place where one does them."""
    return Slot([Joint((act, place)) for act in ACTS[verb] for place in verb.where] for verb in verbs)


def mannered(verbs: Iterable[Verb]) -> Slot[Joint]:
    return Slot([Joint((act, ADVERB[how])) for act in ACTS[verb] for how in verb.how] for verb in verbs)


def optional(slot: Slot[Word]) -> Slot[Word]:
    return Slot([[Word("", "")], *slot.groups])


def word(english: str, korean: str) -> Word:
    return Word(english, korean, (english,))


ADVERB = {english: word(english, korean) for english, korean in ADVERBS.items()}
FREQUENCY = Slot([[word(*item) for item in FREQUENCIES.items()]])
DEGREE = Slot([[word(*item) for item in DEGREES.items()]])
LOCATED = located(verb for verb in ACTS if free(verb, "e"))
MANNERED = mannered(verb for verb in ACTS if free(verb, "e"))
"""Acts with a place, and with a manner."""


def timed(time: Time) -> Word:
    return Word(time.english, time.korean, time.words)


def whens(tense: Tense) -> Slot[Word]:
    """Times by their first word, so that the seven weekdays weigh as one group."""
    groups = groupby(map(timed, times(tense)), key=lambda time: time.english.split()[0])
    return Slot([list(group) for _, group in groups])


def at(place: Place) -> tuple[str, str]:
    """Where something is done."""
    return place.at, place.korean + "에서"


def with_(other: Subject) -> tuple[str, str]:
    return f"with {other.english}", marked(other.korean, "와/과") + " 함께"
