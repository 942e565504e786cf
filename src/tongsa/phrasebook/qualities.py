"""Patterns of being: how things and persons are, what they are, and how they compare."""

from tongsa.phrasebook.adjectives import (
    DISTANCES,
    FITTING,
    PREDICATIVE,
    QUALITIES,
    TOWNS,
    Adjective,
)
from tongsa.phrasebook.clauses import (
    FUTURE,
    PAST,
    PRESENT,
    Pair,
    Predicate,
    asks,
    denies,
    described,
    identified,
    states,
    thing,
)
from tongsa.phrasebook.conjugation import Stem, connective
from tongsa.phrasebook.english import article
from tongsa.phrasebook.fillings import (
    ASKED,
    DEGREE,
    HIGH_DEGREE,
    POLITE,
    STYLES,
    SUBJECTS,
    word,
)
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import BUILDINGS, PLACES, Noun, Place, nouns, places
from tongsa.phrasebook.persons import Subject
from tongsa.phrasebook.slots import Chapter, Crossed, Joint, Slot, Word, Worded
from tongsa.phrasebook.verbs import ACTS

ESSENCES = Chapter()
pattern = ESSENCES.pattern

NAMED_KINDS = nouns("*language, *subject")
DESCRIBED = Slot(
    Crossed([quality], [noun for noun in held if noun not in NAMED_KINDS]) for quality, held in PREDICATIVE.items()
)
DETERMINERS = Slot([[word("the", "")], [word("this", "이"), word("that", "그")]])


@pattern("quality", DESCRIBED, DETERMINERS, STYLES, weight=3)
def quality(joint: Joint, determiner: Word, style: Word) -> Pair:
    adjective, noun = joint.parts
    return states(thing(noun, determiner.english, style is POLITE), described(adjective), PRESENT)


@pattern("quality past", DESCRIBED, STYLES, weight=1.5)
def quality_past(joint: Joint, style: Word) -> Pair:
    adjective, noun = joint.parts
    return states(thing(noun, "the", style is POLITE), described(adjective), PAST)


@pattern("quality negative", DESCRIBED, DETERMINERS, STYLES, weight=2)
def quality_negative(joint: Joint, determiner: Word, style: Word) -> Pair:
    adjective, noun = joint.parts
    return denies(thing(noun, determiner.english, style is POLITE), described(adjective), PRESENT)


@pattern("quality question", DESCRIBED, DETERMINERS, STYLES, weight=2)
def quality_question(joint: Joint, determiner: Word, style: Word) -> Pair:
    adjective, noun = joint.parts
    return asks(thing(noun, determiner.english, style is POLITE), described(adjective), PRESENT)


WELCOME = (
    "delicious", "pretty", "nice", "good", "beautiful", "comfortable", "interesting", "fresh", "special", "useful",
    "cute", "clean", "famous", "important", "soft", "happy", "glad", "safe", "quiet", "spacious", "warm", "bright",
)  # fmt: skip
"""Of what is welcome one hardly has too much, or only a little."""


def by_degree(slot: Slot[Joint]) -> Slot[Joint]:
    """An adjective and what it describes, with a degree that suits it."""
    return Slot(
        Crossed(*group.lists, degrees(group.lists[0][0])) for group in slot.groups if isinstance(group, Crossed)
    )


def degrees(adjective: Worded) -> list[Word]:
    return list(HIGH_DEGREE if adjective.words[0] in WELCOME else DEGREE)


@pattern("quality degree", by_degree(DESCRIBED), STYLES, weight=2)
def quality_degree(joint: Joint, style: Word) -> Pair:
    adjective, noun, degree = joint.parts
    return states(thing(noun, "this", style is POLITE), described(adjective, degree.pair), PRESENT)


ATTRIBUTED = Slot(
    Crossed([quality], [noun for noun in held if noun not in NAMED_KINDS]) for quality, held in QUALITIES.items()
)


def noun_phrase(adjective: Adjective, noun: Noun) -> Pair:
    """A noun with its adjective, as new: a big box, 큰 상자."""
    english = f"{adjective.english} {noun.english}"
    return (article(english) if noun.number == "count" else english), f"{adjective.before} {noun.korean}"


PEOPLE, SPACES = nouns("*person"), nouns("*room, *building")


@pattern("this is", ATTRIBUTED, STYLES, fixed="this be")
def this_is(joint: Joint, style: Word) -> Pair:
    english, korean = noun_phrase(*joint.parts)
    plural = joint.parts[1].number == "plural"
    this = "이 사람" if joint.parts[1] in PEOPLE else "이곳" if joint.parts[1] in SPACES else "이것"
    subject = Subject("these" if plural else "this", this, "plural" if plural else "third", polite=style is POLITE)
    return states(subject, identified(english, korean), PRESENT)


TAKERS = ("buy", "see", "want", "wear", "draw", "eat", "drink", "borrow", "read", "choose", "watch", "make")
UNSOUGHT = ("dirty", "boring", "strange", "slow", "bitter", "salty", "sour", "narrow", "dangerous")
HELD = Slot(
    [
        Joint((act, adjective))
        for act in acts
        if act.thing and verb.naming == "some"
        for adjective in FITTING.get(act.thing.english, ())
        if adjective.english not in UNSOUGHT
    ]
    for verb, acts in ACTS.items()
    if verb.english in TAKERS
)


def holding(joint: Joint) -> Predicate:
    """An act with its object described: buy a red hat."""
    act, adjective = joint.parts
    english, korean = noun_phrase(adjective, act.thing)
    return Predicate(act.head, english, marked(korean, "을/를"), act.stem)


@pattern("described object", HELD, SUBJECTS, weight=2)
def described_object(joint: Joint, subject: Subject) -> Pair:
    return states(subject, holding(joint), PAST)


SOUGHT = Slot(group for group in HELD.groups if group[0].parts[0].head != "want")


@pattern("described object future", SOUGHT, SUBJECTS)
def described_object_future(joint: Joint, subject: Subject) -> Pair:
    return states(subject, holding(joint), FUTURE)


@pattern("described object negative", HELD, SUBJECTS)
def described_object_negative(joint: Joint, subject: Subject) -> Pair:
    return denies(subject, holding(joint), PAST)


@pattern("described object question", HELD, ASKED)
def described_object_question(joint: Joint, subject: Subject) -> Pair:
    return asks(subject, holding(joint), PAST)


ABSTRACT = Slot(
    Crossed([quality], [noun for noun in held if noun in NAMED_KINDS])
    for quality, held in PREDICATIVE.items()
    if any(noun in NAMED_KINDS for noun in held)
)


@pattern("study quality", ABSTRACT, HIGH_DEGREE, STYLES)
def study_quality(joint: Joint, degree: Word, style: Word) -> Pair:
    adjective, noun = joint.parts
    return states(thing(noun, "", style is POLITE), described(adjective, degree.pair), PRESENT)


@pattern("study question", ABSTRACT, STYLES, weight=0.4)
def study_question(joint: Joint, style: Word) -> Pair:
    adjective, noun = joint.parts
    return asks(thing(noun, "", style is POLITE), described(adjective), PRESENT)


OPINIONS = Slot(
    group
    for group in DESCRIBED.groups
    if group[0].parts[0].english not in ("red", "blue", "yellow", "white", "black", "hot", "cold", "big")
)


@pattern("opinion", OPINIONS, SUBJECTS, fixed="think that", weight=1.5)
def opinion(joint: Joint, subject: Subject) -> Pair:
    adjective, noun = joint.parts
    clause = f"that this {noun.english} is" if noun.number != "plural" else f"that these {noun.english} are"
    before = f"{marked('이 ' + noun.korean, '이/가')} {connective(adjective.stem, PRESENT, '다고')}"
    return states(subject, Predicate("think", f"{clause} {adjective.english}", before, Stem("생각하")), PRESENT)


TOWN = Slot(
    Crossed([adjective], places(names))
    for adjective, names in zip(
        TOWNS,
        (
            "park, library, café, village, museum",
            "market, restaurant, café, Seoul, playground",
            "Seoul, Busan, park, market, library, museum, airport, department store",
            "village, park, café, library, museum",
            "restaurant, beach, park, café, swimming pool, Seoul",
            "restaurant, museum, beach, market, Busan, bakery, theater",
            "Busan, park, beach, village, garden, sea, river",
            "village, Seoul, Busan, Korea, Japan, park, playground, swimming pool",
        ),
        strict=True,
    )
)


def site(place: Place, style: Word) -> Subject:
    return Subject(place.english, place.korean, polite=style is POLITE)


@pattern("place quality", TOWN, STYLES, weight=0.7)
def place_quality(joint: Joint, style: Word) -> Pair:
    adjective, place = joint.parts
    return states(site(place, style), described(adjective), PRESENT)


@pattern("place degree", by_degree(TOWN), STYLES)
def place_degree(joint: Joint, style: Word) -> Pair:
    adjective, place, degree = joint.parts
    return states(site(place, style), described(adjective, degree.pair), PRESENT)


@pattern("place question", TOWN, STYLES, weight=0.6)
def place_question(joint: Joint, style: Word) -> Pair:
    adjective, place = joint.parts
    return asks(site(place, style), described(adjective), PRESENT)


AWAY = Slot(Crossed([adjective], [PLACES[name] for name in BUILDINGS]) for adjective in DISTANCES)


@pattern("distance", AWAY, STYLES, fixed="here")
def distance(joint: Joint, style: Word) -> Pair:
    adjective, place = joint.parts
    rest = "far from here" if adjective.english == "far" else "close to here"
    return states(site(place, style), Predicate("be", rest, "여기에서", adjective.stem), PRESENT)
