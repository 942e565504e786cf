"""Patterns that count: ages, things with their counters, cups and bottles."""

from tongsa.phrasebook.clauses import (
    PAST,
    PRESENT,
    Pair,
    Predicate,
    identified,
    said,
    states,
    thing,
)
from tongsa.phrasebook.conjugation import Stem, statement
from tongsa.phrasebook.english import plural
from tongsa.phrasebook.fillings import (
    NUMBERED,
    NUMERALS,
    POLITE,
    STYLES,
    SUBJECTS,
    styled,
    word,
)
from tongsa.phrasebook.hangul import marked
from tongsa.phrasebook.nouns import Noun, nouns
from tongsa.phrasebook.persons import KIN, NAMES, PRONOUNS, Subject
from tongsa.phrasebook.presence import CONTENTS
from tongsa.phrasebook.slots import Chapter, Crossed, Joint, Slot, Word

AMOUNTS = Chapter()
pattern = AMOUNTS.pattern


HOUR = Slot([NUMERALS[:12]])
YOUNG = styled(
    PRONOUNS[:2], NAMES, [one for one in KIN if one.english.endswith(("brother", "sister", "son", "daughter"))]
)
AGES = Slot([NUMERALS[4:], NUMERALS[12:]])


def aged(number: Word) -> Predicate:
    years = f"{number.english} {'year' if number.english == 'one' else 'years'} old"
    return identified(years, f"{number.korean} 살")


@pattern("age", AGES, YOUNG, fixed="year old", weight=1.5)
def age(number: Word, subject: Subject) -> Pair:
    return states(subject, aged(number), PRESENT)


PETS = Slot([nouns("*animal, *beast")])


@pattern("age of animals", HOUR, PETS, STYLES, fixed="this year old", weight=0.7)
def age_animal(number: Word, noun: Noun, style: Word) -> Pair:
    return states(thing(noun, "this", style is POLITE), aged(number), PRESENT)


def numbered(number: Word, noun: Noun) -> Pair:
    """Three apples, 사과 세 개."""
    english = f"{number.english} {noun.english if number.english == 'one' else noun.any}"
    return english, f"{noun.korean} {number.korean} {noun.counter}"


@pattern("counting", NUMBERED, SUBJECTS, weight=3)
def counting(joint: Joint, subject: Subject) -> Pair:
    verb, noun, number = joint.parts
    english, korean = numbered(number, noun)
    return states(subject, Predicate(verb.english, english, marked(korean, "을/를"), Stem(verb.korean)), PAST)


CUPS = Slot([[Joint((noun, word("cup", "잔"))) for noun in nouns("coffee, tea, green tea")],
             [Joint((noun, word("glass", "잔"))) for noun in nouns("milk, juice, water, wine, beer")],
             [Joint((noun, word("bottle", "병"))) for noun in nouns("beer, wine, water, juice, milk")]])  # fmt: skip


GLASSES, TEN = Slot([NUMERALS[:5]]), Slot([NUMERALS[:10]])


def measured(joint: Joint, number: Word) -> Pair:
    noun, cup = joint.parts
    cups = cup.english if number.english == "one" else plural(cup.english)
    return f"{number.english} {cups} of {noun.english}", f"{noun.korean} {number.korean} {cup.korean}"


@pattern("drinks", CUPS, GLASSES, SUBJECTS, fixed="drink", weight=1.5)
def drinks(joint: Joint, number: Word, subject: Subject) -> Pair:
    english, korean = measured(joint, number)
    return states(subject, Predicate("drink", english, marked(korean, "을/를"), Stem("마시")), PAST)


@pattern("ordering", CUPS, TEN, STYLES, fixed="please give me")
def ordering(joint: Joint, number: Word, style: Word) -> Pair:
    english, korean = measured(joint, number)
    return said(style is POLITE, f"please give me {english}", f"{korean} {'주세요' if style is POLITE else '줘'}")


KEPT = Slot(
    [
        Crossed(nouns("car, bicycle, computer, camera, umbrella, son, daughter, child, dog, cat, puppy"), NUMERALS[:4]),
        Crossed(nouns("friend, chicken, duck, cow, pig, horse, book, dictionary, ticket, hat, doll, pencil"), NUMERALS),
    ]
)


@pattern("having many", KEPT, SUBJECTS, fixed="have", weight=1.5)
def has_many(joint: Joint, subject: Subject) -> Pair:
    noun, number = joint.parts
    english, _ = numbered(number, noun)
    before = f"{marked(noun.korean, '이/가')} {number.korean} {noun.counter}"
    return states(subject, Predicate("have", english, before, Stem("있", "existence")), PRESENT)


CROWDED = ("refrigerator", "zoo", "garden", "market", "box")
COUNTED_THERE = Slot(
    Crossed(
        [Word(english, korean + "에", (lemma,))],
        [noun for noun in nouns(names) if noun.counter and noun.number == "count"],
        NUMERALS[: 20 if lemma in CROWDED else 6],
    )
    for english, korean, lemma, names in CONTENTS
)


@pattern("there are many", COUNTED_THERE, STYLES, fixed="there be", weight=1.5)
def there_are_many(joint: Joint, style: Word) -> Pair:
    spot, noun, number = joint.parts
    english, korean = numbered(number, noun)
    verb = "is" if number.english == "one" else "are"
    final = statement(Stem("있", "existence"), PRESENT, style is POLITE)
    return said(
        style is POLITE, f"there {verb} {english} {spot.english}", f"{spot.korean} {marked(korean, '이/가')} {final}"
    )
