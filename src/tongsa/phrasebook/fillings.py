"""The slots that many patterns share: styles, subjects, acts by what they allow, times and adverbs."""

from collections.abc import Callable, Iterable, Sequence

from tongsa.phrasebook.adjectives import DEGREES
from tongsa.phrasebook.clauses import NOTHING
from tongsa.phrasebook.english import Tense
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import (
    KIN,
    NAMES,
    NOWHERE,
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
    nouns,
    politely,
    times,
)
from tongsa.phrasebook.slots import Crossed, Joint, Slot, Word
from tongsa.phrasebook.verbs import ACTS, ADVERBS, FREQUENCIES, Act, Verb

PLAIN, POLITE = Word("plain", ""), Word("polite", "")
STYLES = Slot([[PLAIN], [POLITE]])


def styled(*groups: Sequence[Subject]) -> Slot[Subject]:
    """Each group in plain and in polite style."""
    return Slot([*groups, *([politely(subject) for subject in group] for group in groups)])


THIRD = (PRONOUNS, NAMES, KIN, STRANGERS)
SUBJECTS = styled([I], [I, WE], *THIRD)
WITH_YOU = Slot([*SUBJECTS.groups, [YOU]])
ASKED = styled([YOU], [YOU], PRONOUNS, NAMES, KIN[:3], STRANGERS)
ONE = styled([I], [I, *PRONOUNS[:2]], NAMES, KIN, STRANGERS)
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


ANY = doable(lambda verb: bool(verb))
ACTIVE = doable(lambda verb: free(verb, "s"))
TOLD = doable(lambda verb: free(verb, "e"))
ONGOING = doable(lambda verb: free(verb, "s", "p", "e"))
WILLED = doable(lambda verb: free(verb, "s", "n"))
WISHED = doable(lambda verb: free(verb, "s", "n", "u"))
HABITUAL = doable(lambda verb: free(verb, "s", "n", "e", "p"))


def of(*heads: str) -> Slot[Act]:
    """The acts of these verbs."""
    unknown = set(heads) - {verb.english for verb in ACTS}
    if unknown:
        raise ValueError(f"no such verbs: {unknown}")
    return doable(lambda verb: verb.english in heads)


def located(verbs: Iterable[Verb]) -> Slot[Joint]:
    """Acts with a place where one does them."""
    return Slot(Crossed(ACTS[verb], verb.where) for verb in verbs)


def visits(slot: Slot[Act]) -> Slot[Joint]:
    """Acts with a place where one does them, or none."""
    return Slot(Crossed(acts, (NOWHERE, *acts[0].verb.where)) for acts in slot.groups)


def mannered(verbs: Iterable[Verb]) -> Slot[Joint]:
    return Slot(Crossed(ACTS[verb], [ADVERB[how] for how in verb.how]) for verb in verbs)


def word(english: str, korean: str) -> Word:
    return Word(english, korean, (english,))


ADVERB = {english: word(english, korean) for english, korean in ADVERBS.items()}
FREQUENCY = Slot([[word(*item) for item in FREQUENCIES.items()]])
DEGREE = Slot([[word(*item) for item in DEGREES.items()]])
DAILY_VERBS = tuple(verb for verb in ACTS if free(verb, "s", "e", "p", "n"))
LOCATED = located(verb for verb in ACTS if free(verb, "e"))
MANNERED = mannered(verb for verb in ACTS if free(verb, "e"))
"""Acts with a place, and with a manner."""


def timed(time: Time) -> Word:
    return Word(time.english, time.korean, time.words)


def when(slot: Iterable[Verb], tense: Tense) -> Slot[Joint]:
    """Acts with a time that suits them."""
    return Slot(Crossed(ACTS[verb], [timed(time) for time in times(tense, verb.flags)]) for verb in slot)


def where_and_when(slot: Iterable[Verb], tense: Tense) -> Slot[Joint]:
    """Acts with a place and a time."""
    return Slot(
        Crossed(ACTS[verb], verb.where, [timed(time) for time in times(tense, verb.flags)])
        for verb in slot
        if verb.where
    )


def at(place: Place) -> tuple[str, str]:
    """Where something is done; nowhere says nothing."""
    return (place.at, place.korean + "에서") if place.korean else NOTHING


def with_(other: Subject) -> tuple[str, str]:
    return f"with {other.english}", marked(other.korean, "와/과") + " 함께"


DEFINITE = doable(lambda verb: free(verb, "s", "n") and not verb.english.startswith(("marry", "build", "fight", "smoke")))
TASTES = of(
    "watch", "read", "listen to", "swim", "exercise", "take a walk", "take a photo", "shop", "walk", "cook", "travel", "sing", "dance", "draw",
    "bake", "study", "learn", "play", "collect", "fish", "run", "ride", "teach", "plant", "sleep",
)  # fmt: skip
SKILLS = of("play", "swim", "drive", "ride", "cook", "bake", "fix", "draw", "make", "sing", "dance", "use")
COUNTED = (
    (
        "buy",
        "사",
        "*fruit, *vegetable, *snack, *garment, *headwear, *reading, *stationery, *furniture, *appliance, *wheels, *paper",
    ),
    ("buy", "사", "bag, umbrella, cup, mirror, spoon, plate, towel, box, basket, pillow, blanket, *flower, *plaything"),
    ("eat", "먹", "*fruit, *snack, egg, tomato, potato"),
    ("see", "보", "*animal, *beast"),
    ("raise", "키우", "*animal"),
    ("read", "읽", "book, novel, magazine, comic book"),
    ("borrow", "빌리", "book, novel, magazine, comic book, pencil, umbrella"),
    ("sell", "팔", "*fruit, *vegetable, *wheels, *flower, *furniture"),
    ("draw", "그리", "*animal, *flower, tree"),
    ("plant", "심", "tree, rose, flower"),
    ("meet", "만나", "*person, man, woman"),
    ("invite", "초대하", "friend, child, student, singer, actor, writer"),
    ("receive", "받", "card, letter, flower, rose, photo, book"),
)
"""What is counted: a verb with the things of which one may have a number."""
NUMBERED = Slot(
    Crossed([word(english, korean)], [noun for noun in nouns(names) if noun.counter and noun.number == "count"])
    for english, korean, names in COUNTED
)
