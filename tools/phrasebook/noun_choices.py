"""Choices of nouns: things with qualities, comparisons, numbers, contents of places."""

from collections.abc import Iterable
from itertools import combinations, permutations

from phrasebook.conjugation import Stem
from phrasebook.english import join_words, plural
from phrasebook.lexicon import (
    ADJECTIVES,
    ATTRIBUTES,
    DESCRIBES,
    LIST,
    LISTS,
    NUMBERS,
    QUALITIES,
    adjectives,
    lemma,
    nouns,
    places,
)
from phrasebook.slots import Group
from phrasebook.words import Adjective, Adverbial, Noun, OpenVerb, Person, Place, Word

QUALITY = LISTS["qualities"]
NAMED_KINDS = nouns(QUALITY["named_kinds"])


def thing(noun: Noun, determiner: str = "the") -> Person:
    """Return a noun as subject: the apple, this apple, these shoes."""
    plurals = {"this": "these", "that": "those"} if noun.number == "plural" else {}
    korean = {"this": "이 ", "that": "그 "}.get(determiner, "") + noun.korean
    english = join_words(plurals.get(determiner, determiner), noun.english)
    words = (*noun.words, *([determiner] if determiner in ("this", "that") else []))
    return Person(english, korean, words, noun.agreement, "its")


def site(place: Place) -> Person:
    return Person(place.english, place.korean, place.words, possessive="its")


def with_number(noun: Noun, number: Word, korean: str) -> Noun:
    """Return a counted noun: three apples."""
    single = number.english == "one"
    english = f"{number.english} {noun.english if single else noun.any}"
    return Noun(english, korean, (*noun.words, *number.words), "mass" if single else "plural")


def count_nouns(noun: Noun, most: int) -> list[Noun]:
    """Return a noun with each number: three apples, 사과 세 개."""
    return [with_number(noun, n, f"{noun.korean} {n.korean} {noun.counter}") for n in NUMBERS[:most]]


def degrees(adjective: Adjective) -> list[Word]:
    return LIST["high_degrees"] if adjective.english in QUALITY["welcome"] else LIST["degrees"]


def things_by_quality(determiners: str) -> Iterable[tuple[Adjective, list[Person]]]:
    """Yield each quality with the things it may describe; a determiner given twice is drawn twice as often."""
    for quality, items in QUALITIES.items():
        subjects = []
        for item in items:
            if item not in NAMED_KINDS:
                by_determiner = {determiner: thing(item, determiner) for determiner in determiners.split()}
                subjects += [by_determiner[determiner] for determiner in determiners.split()]
        yield quality, subjects


def kinds() -> Iterable[tuple[Adjective, list[Person]]]:
    """Yield each quality with the nouns without article that it may describe: AI is awesome."""
    for quality, items in QUALITIES.items():
        if subjects := [thing(item, "") for item in items if item in NAMED_KINDS]:
            yield quality, subjects


def towns() -> Iterable[tuple[Adjective, list[Person]]]:
    for adjective in ADJECTIVES["town"]:
        yield adjective, [site(place) for place in places(DESCRIBES[adjective])]


def with_degree(pairs: Iterable[tuple[Adjective, list[Person]]]) -> list[Group]:
    return [([adjective], degrees(adjective), subjects) for adjective, subjects in pairs]


def without_degree(pairs: Iterable[tuple[Adjective, list[Person]]]) -> list[Group]:
    return [([adjective], subjects) for adjective, subjects in pairs]


def phrases_with_this() -> Iterable[Group]:
    """Yield a quality, a noun and the subject that points to it: this, 이것."""
    things, plurals = Person("this", "이것", ("this",)), Person("these", "이것", ("this",), "plural")
    people, rooms = Person("this", "이 사람", ("this",)), Person("this", "이곳", ("this",))
    pointers = dict.fromkeys(nouns("*person"), people) | dict.fromkeys(nouns("*room, *building"), rooms)
    for quality, items in ATTRIBUTES.items():
        named = [noun for noun in items if noun not in NAMED_KINDS]
        yield ([(quality, n, pointers.get(n, plurals if n.number == "plural" else things)) for n in named],)


def comparisons() -> Iterable[Group]:
    """Yield an adjective, the lesser thing and the greater one as subject."""
    for kind in ("ranked", "equal"):
        for name, names in LISTS["compared"][kind]:
            (quality,) = adjectives("quality", name)
            items = nouns(names)
            ordered = combinations if kind == "ranked" else permutations
            subjects = [thing(item, "" if item.number == "mass" else "the") for item in items]
            yield ([(quality, items[j], subjects[i]) for i, j in ordered(range(len(items)), 2)],)


def preferences() -> Iterable[Group]:
    for names in LISTS["compared"]["preferred"]:
        items = nouns(names)
        yield ([(first, second) for first in items for second in items if first is not second],)


def object_counts() -> Iterable[Group]:
    for english, korean, most, names in LISTS["counted"]["rows"]:
        verb = [Word(english, korean, (english,))]
        for noun in nouns(names):
            if noun.number == "count":
                yield verb, count_nouns(noun, most)


def how_many() -> Iterable[Group]:
    """Yield an open verb and its question: how many apples, 사과를 몇 개."""
    for english, stem, _, names in LISTS["counted"]["rows"]:
        pairs = []
        for noun in nouns(names):
            if noun.number == "count":
                question = Adverbial("", "", ("how", "many"), wh=f"how many {noun.any}")
                korean = f"{noun:을/를} 몇 {noun.counter}"
                pairs.append((OpenVerb(english, korean, (english, noun.english), Stem(stem)), question))
        yield (pairs,)


def drink_measures(most: int) -> list[Group]:
    """Return drinks by the cup: two cups of coffee, 커피 두 잔."""
    groups: list[Group] = []
    for cup, korean, names in LISTS["counted"]["drinks"]:
        items = []
        for noun in nouns(names):
            for number in NUMBERS[:most]:
                cups = cup if number.english == "one" else plural(cup)
                text = f"{number.english} {cups} of {noun.english}", f"{noun.korean} {number.korean} {korean}"
                items.append(Word(*text, (noun.english, cup, number.english)))
        groups.append((items,))
    return groups


def possessed_numbers() -> Iterable[Group]:
    for most, names in LISTS["counted"]["kept"]:
        for noun in nouns(names):
            yield ([with_number(noun, n, f"{noun:이/가} {n.korean} {noun.counter}") for n in NUMBERS[:most]],)


def journeys() -> Iterable[Group]:
    for start, end, least, most in LISTS["journeys"]["rows"]:
        hours = [
            Word(f"{n} {'hour' if n.english == 'one' else 'hours'}", f"{n:ko} 시간", ("hour", *n.words))
            for n in NUMBERS[least - 1 : most]
        ]
        yield places(start), places(end), hours


def contents(number: bool) -> Iterable[Group]:
    """Yield things, counted or not, with the spot where they are."""
    for english, (korean, word, names, most) in LISTS["contents"].items():
        spot = [Word(english, korean, (word,))]
        if number:
            countable = [noun for noun in nouns(names) if noun.counter and noun.number == "count"]
            yield [counted for noun in countable for counted in count_nouns(noun, most)], spot
        else:
            yield nouns(names), spot


def landmarks() -> Iterable[Group]:
    buildings = places("*building")
    yield ([(second, site(first)) for first in buildings for second in buildings if first is not second],)


def mixed_qualities() -> Iterable[Group]:
    """Yield a merit and a fault of the same thing: this bag is pretty but heavy."""
    faults = adjectives("quality", ", ".join(QUALITY["faults"]))
    for merit in adjectives("quality", ", ".join(QUALITY["merits"])):
        items = [noun for noun in QUALITIES[merit] if noun not in NAMED_KINDS]
        yield (
            [
                (merit, fault, thing(noun, "this"))
                for fault in faults
                if (merit.english, fault.english) != ("light", "heavy")
                for noun in QUALITIES[fault]
                if noun in items
            ],
        )


def ties() -> Iterable[Group]:
    for names, kin in LISTS["ties"]["rows"]:
        yield nouns(names), [Word(english, korean, lemma(english)) for english, korean in kin.items()]


def distances() -> Iterable[Group]:
    for name, adjective in zip(("far from here", "close to here"), ADJECTIVES["distance"], strict=True):
        yield [Adjective(name, "", adjective.words, adjective.stem)], [site(place) for place in places("*building")]


def hours() -> Iterable[Group]:
    """Yield hours with a half of the day, or none."""
    yield NUMBERS[:12], [Word("", "")]
    yield NUMBERS[4:11], [Word("in the morning", "오전", ("morning",))]
    yield NUMBERS[:6], [Word("in the afternoon", "오후", ("afternoon",))]
