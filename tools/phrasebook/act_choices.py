"""Choices of acts: verbs with objects, places, times, manners; verbs whose object is asked for."""

from collections.abc import Iterable, Sequence
from typing import Any

from phrasebook.conjugation import Stem
from phrasebook.english import Tense, join_words
from phrasebook.hangul import with_particle
from phrasebook.lexicon import (
    ACTS,
    LISTS,
    MANNER,
    PLACES,
    QUALITIES,
    QUALITIES_OF,
    VERBS,
    nouns,
    places,
    select_acts,
    times,
)
from phrasebook.noun_choices import NAMED_KINDS
from phrasebook.slots import Group
from phrasebook.tables import split_names
from phrasebook.words import Act, Adverbial, OpenVerb, Verb, Word

NOWHERE = Adverbial("", "", role="place")
LOCATIONS = {place: Adverbial(place.at, place.korean + "에서", place.words, "place") for place in PLACES.values()}


def verb_groups(name: str) -> list[list[Act]]:
    """Return the acts of a selection in [acts], by verb."""
    selection = LISTS["acts"][name]
    if isinstance(selection, str):
        return select_acts(selection)
    excluded = split_names(selection.get("but", ""))
    return [
        acts
        for verb, acts in ACTS.items()
        if acts and verb.lacks(selection["without"]) and verb.english not in excluded
        if verb.where or not selection.get("where")
    ]


def manners(acts: list[Act]) -> Iterable[Group]:
    """Yield acts with a manner; a single thing is not done a lot."""
    verb = acts[0].verb
    single = [act for act in acts if act.thing and act.thing.number == "count" and verb.article == "some"]
    rest = [act for act in acts if act not in single]
    yield rest, [MANNER[how] for how in verb.how]
    yield single, [MANNER[how] for how in verb.how if how != "a lot"]


def acts(expression: str) -> Iterable[Group]:
    """Yield groups of acts: a selection, then @place, @place?, @manner or the tense of times."""
    name, *options = expression.split(" @")
    for group in verb_groups(name):
        verb = group[0].verb
        if options == ["manner"]:
            yield from manners(group)
            continue
        lists: list[Sequence[Any]] = [group]
        for option in options:
            if option.startswith("place"):
                lists.append([*([NOWHERE] if option == "place?" else []), *(LOCATIONS[place] for place in verb.where)])
            else:
                lists.append(times(Tense[option.upper()], verb.flags))
        yield tuple(lists)


def described_objects(heads: str, excluded: Sequence[str]) -> Iterable[Group]:
    """Yield acts with an adjective that suits their object."""
    for group in select_acts(heads):
        yield (
            [
                (act, quality)
                for act in group
                if act.thing and act.verb.article == "some"
                for quality in QUALITIES_OF.get(act.thing.english, ())
                if quality.english not in excluded and act.thing not in NAMED_KINDS
            ],
        )


def relative_objects(name: str) -> Iterable[Group]:
    for group in verb_groups(name):
        pairs = [
            (act, quality)
            for act in group
            if act.thing
            for quality in QUALITIES_OF.get(act.thing.english, ())
            if quality in QUALITIES and quality.english != "good"
        ]
        yield (pairs,)


def gifts() -> Iterable[Group]:
    for english, (korean, names) in LISTS["gifts"].items():
        yield [Word(english, korean, (english,))], nouns(names)


def rides() -> Iterable[Group]:
    for goals, vehicles in LISTS["rides"].values():
        way = [Adverbial(f"by {noun}", f"{noun:으로/로}", noun.words, "place") for noun in nouns(vehicles)]
        yield places(goals), way


def open_verbs(person: bool, flags: str = "") -> Iterable[Group]:
    """Yield verbs that ask for a person or for a thing, one for each English verb."""
    articles = ("person", "name") if person else ("some", "the", "any", "possessive")
    excluded = ("earn", "save", "spend", "play", "wear", "sit on", "lie on", "feed", "catch", "see", "play with")
    by_name = {verb.english: verb for verb in reversed(VERBS) if verb.article in articles and verb.lacks(flags)}
    for name, verb in by_name.items():
        if name not in excluded and (person or name not in ("wait for", "hug")):
            yield ([open_verb(verb, "누구" if person else "무엇")],)


def open_verb(verb: Verb, question: str) -> OpenVerb:
    before, _, stem = verb.stem.rpartition(" ")
    korean = join_words(with_particle(question, verb.particle), before)
    return OpenVerb(verb.english, korean, verb.words, Stem(stem))


def what_kinds(excluded: str = "") -> Iterable[Group]:
    """Yield verbs with the kind of object that is asked for: what fruit, 무슨 과일."""
    by_name = {verb.english: verb for verb in reversed(VERBS)}
    for english, (korean, heads) in LISTS["kinds"].items():
        question = Adverbial("", "", ("what", english), wh=f"what {english}")
        names = [name for name in split_names(heads) if name not in split_names(excluded)]
        yield [open_verb(by_name[name], f"무슨 {korean}") for name in names], [question]


def contrasts(*names: str) -> Iterable[Group]:
    """Yield one verb with two different objects."""
    for name in names:
        for group in verb_groups(name):
            yield ([(first, second) for first in group for second in group if first is not second],)


def trips() -> Iterable[Group]:
    for group in verb_groups("trips"):
        yield group, [place for place in group[0].verb.where if place.words[0] not in ("home", "room")]
