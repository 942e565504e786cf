"""The slots that many patterns share: styles, subjects, acts by what they allow, times and adverbs."""

from collections.abc import Callable, Iterable, Sequence

from tongsa.phrasebook.adjectives import DEGREES
from tongsa.phrasebook.clauses import NOTHING
from tongsa.phrasebook.english import Tense
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import NOWHERE, NUMBERS, Place, Time, nouns, times
from tongsa.phrasebook.persons import (
    KIN,
    ME,
    NAMES,
    OTHER_NAMES,
    OTHERS,
    PRONOUNS,
    RIVAL_NAMES,
    STRANGERS,
    WE,
    YOU,
    Subject,
    politely,
)
from tongsa.phrasebook.slots import Crossed, Joint, Slot, Word
from tongsa.phrasebook.verbs import ACTS, ADVERBS, FREQUENCIES, Act, Verb

PLAIN, POLITE = Word("plain", ""), Word("polite", "")
STYLES = Slot([[PLAIN], [POLITE]])


def styled(*groups: Sequence[Subject]) -> Slot[Subject]:
    """Each group in plain and in polite style."""
    return Slot([*groups, *([politely(subject) for subject in group] for group in groups)])


THIRD = (PRONOUNS, NAMES, KIN, STRANGERS)
SUBJECTS = styled([ME], [ME, WE], *THIRD)
ADULTS = styled([ME], [ME, WE], PRONOUNS, NAMES, KIN, STRANGERS[2:])
WITH_YOU = Slot([*SUBJECTS.groups, [YOU]])
ASKED = styled([YOU], [YOU], PRONOUNS, NAMES, KIN[:3], STRANGERS)
ONE = styled([ME], [ME, *PRONOUNS[:2]], NAMES, KIN, STRANGERS)
SELVES = styled([ME], [ME, WE])
HEARER = styled([YOU])
PERSONS = styled(*THIRD)
OTHER = Slot([RIVAL_NAMES])
COMPANY = Slot([OTHER_NAMES, OTHERS])


def doable(suits: Callable[[Verb], bool]) -> Slot[Act]:
    return Slot(acts for verb, acts in ACTS.items() if suits(verb))


def free(verb: Verb, *flags: str) -> bool:
    return not any(flag in verb.flags for flag in flags)


ANY = doable(lambda verb: bool(verb))
ACTIVE = doable(lambda verb: free(verb, "s", "n"))
TOLD = doable(lambda verb: free(verb, "e"))
PLAINLY_TOLD = doable(lambda verb: free(verb, "e", "a"))
ONGOING = doable(lambda verb: free(verb, "s", "p", "e"))
WILLED = doable(lambda verb: free(verb, "s", "n"))
CAPABLE = doable(lambda verb: free(verb, "s", "n") and verb.english not in ("look for", "marry"))
WISHED = doable(lambda verb: free(verb, "s", "n", "u"))
HABITUAL = doable(lambda verb: free(verb, "s", "n", "e", "p", "u"))


def of(names: str) -> Slot[Act]:
    """The acts of these verbs, commas between."""
    wanted = set(names.split(", "))
    unknown = wanted - {verb.english for verb in ACTS}
    if unknown:
        raise ValueError(f"no such verbs: {unknown}")
    return doable(lambda verb: verb.english in wanted)


def located(verbs: Iterable[Verb]) -> Slot[Joint]:
    """Acts with a place where one does them."""
    return Slot(Crossed(ACTS[verb], verb.where) for verb in verbs)


def visits(slot: Slot[Act]) -> Slot[Joint]:
    """Acts with a place where one does them, or none."""
    return Slot(Crossed(acts, (NOWHERE, *acts[0].verb.where)) for acts in slot.groups)


def mannered(verbs: Iterable[Verb]) -> Slot[Joint]:
    """Acts with a manner; one thing is not done a lot."""
    groups = []
    for verb in verbs:
        once = [act for act in ACTS[verb] if act.thing and act.thing.number == "count" and verb.naming == "some"]
        often = [act for act in ACTS[verb] if act not in once]
        groups.append(Crossed(often, [ADVERB[how] for how in verb.how]))
        groups.append(Crossed(once, [ADVERB[how] for how in verb.how if how != "a lot"]))
    return Slot(groups)


def word(english: str, korean: str) -> Word:
    return Word(english, korean, (english,))


ADVERB = {english: word(english, korean) for english, korean in ADVERBS.items()}
FREQUENCY = Slot([[word(*item) for item in FREQUENCIES.items()]])
DEGREE = Slot([[word(*item) for item in DEGREES.items()]])
HIGH_DEGREE = Slot([[word(*item) for item in DEGREES.items() if item[0] in ("very", "really", "quite")]])
DAILY_VERBS = tuple(verb for verb in ACTS if free(verb, "s", "e", "p", "n", "u"))
UNAMBIGUOUS_VERBS = tuple(verb for verb in DAILY_VERBS if free(verb, "a"))
LOCATED = located(verb for verb in ACTS if free(verb, "e"))
MANNERED = mannered(verb for verb in ACTS if free(verb, "e"))
"""Acts with a place, and with a manner."""
PRESENTLY_LOCATED = located(verb for verb in ACTS if free(verb, "e", "a"))
PRESENTLY_MANNERED = mannered(verb for verb in ACTS if free(verb, "e", "a"))


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


DEFINITE = doable(
    lambda verb: (
        free(verb, "s", "n")
        and not verb.english.startswith(("marry", "build", "fight", "smoke", "spend", "earn", "live"))
    )
)
FORBIDDEN = of(
    "eat, drink, buy, open, close, turn on, turn off, smoke, run, sleep, cry, laugh, fight with, watch, "
    "throw, push, pull, sit on, lie on, go, come, wear, use, hide, cut, catch, wait for, call, meet, "
    "invite, wake up, sing, dance, talk with, play, ride, drive, sell, feed, draw, take a photo, bring, "
    "forget, lose, hug, smoke, believe, spend, change, leave, take off"
)
TASTES = Slot(
    group
    for group in of(
    "watch, read, listen to, swim, exercise, take a walk, take a photo, shop, walk, cook, travel, sing, "
    "dance, draw, bake, study, learn, play, collect, fish, run, ride, teach, plant, sleep"
).groups
    if group[0].verb.naming != "to"
)  # fmt: skip
HANDY = nouns("*appliance, knife, dictionary")
SKILLS = Slot(
    [act for act in group if act.head != "use" or act.thing in HANDY]
    for group in of("play, swim, drive, ride, cook, bake, fix, draw, make, sing, dance, use").groups
)
COUNTED = """
buy 사 20: *fruit, *vegetable, *snack, *stationery, *flower, ticket, card, stamp
buy 사 5: *garment, *reading, *furniture, *plaything, hat, camera, phone, computer
buy 사 5: bag, umbrella, mirror, towel, blanket
buy 사 9: cup, spoon, plate, box, basket, pillow, photo, map
eat 먹 6: *fruit, -lemon, -watermelon, *snack, egg, tomato, potato
see 보 12: *animal, *beast
raise 키우 15: *animal
read 읽 12: book, novel, magazine, comic book
borrow 빌리 5: book, novel, magazine, comic book, pencil, umbrella
sell 팔 20: *fruit, *vegetable, *flower, umbrella, hat, bicycle, car
draw 그리 6: *animal, *beast, flower, rose, tree
plant 심 20: tree, rose, flower
meet 만나 20: friend, child, student, doctor, nurse, singer, actor, guest, man, woman, boy, girl
invite 초대하 20: friend, child, student, guest
receive 받 12: card, letter, flower, rose, photo, book
"""
"""A verb, the largest number, and the things of which one may do it to so many."""
NUMERALS = [word(*item) for item in NUMBERS.items()]


def counted(table: str, numbers: bool) -> Slot[Joint]:
    groups = []
    for line in table.strip().splitlines():
        title, _, names = line.partition(": ")
        english, korean, most = title.split()
        things = [noun for noun in nouns(names) if noun.number == "count"]
        verb = [word(english, korean)]
        groups.append(Crossed(verb, things, NUMERALS[: int(most)]) if numbers else Crossed(verb, things))
    return Slot(groups)


NUMBERED, UNNUMBERED = counted(COUNTED, True), counted(COUNTED, False)
