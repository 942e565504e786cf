"""Choices for the slots of patterns, by name, made of lists.toml, words.toml and the lexicon.

choose("subjects") is a list by name; choose("daily @place @past") are acts with a place and a time that suit the verb;
choose("any + daily") is both.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from phrasebook.act_choices import (
    acts,
    contrasts,
    described_objects,
    gifts,
    open_verbs,
    relative_objects,
    rides,
    trips,
    what_kinds,
)
from phrasebook.clause_choices import arrivals, causes, conditions, flaws, hindrances, likings, sequels
from phrasebook.conjugation import Style
from phrasebook.english import Tense
from phrasebook.lexicon import (
    ADJECTIVES,
    ADVERBIALS,
    LIST,
    LISTS,
    NUMBERS,
    PERSONS,
    QUALITIES,
    TIMES,
    WORDS,
    adjectives,
    as_words,
    nouns,
    persons,
    places,
)
from phrasebook.noun_choices import (
    NAMED_KINDS,
    QUALITY,
    comparisons,
    contents,
    degrees,
    distances,
    drink_measures,
    hours,
    how_many,
    journeys,
    kinds,
    landmarks,
    mixed_qualities,
    object_counts,
    phrases_with_this,
    possessed_numbers,
    preferences,
    thing,
    things_by_quality,
    ties,
    towns,
    with_degree,
    without_degree,
)
from phrasebook.slots import Group, Slot
from phrasebook.words import Adverbial, Person, Word

NONE = Adverbial("", "")


def past_days() -> list[Adverbial]:
    return [time.adverbial for time in TIMES if time.tenses == (Tense.PAST,) and not time.scale]


def times_of(tense: Tense) -> list[Adverbial]:
    return [time.adverbial for time in TIMES if tense in time.tenses and time.scale != "y"]


def hearer_in_statement() -> Person:
    """Return the hearer as subject of a statement; the polite style, which leaves it unsaid, would mean the speaker."""
    (you,) = PERSONS["you"]
    return replace(you, styles=(Style.PLAIN, Style.CASUAL))


def single(items: Iterable[Any]) -> Iterable[Group]:
    yield (list(items),)


def optional(items: Iterable[Any]) -> Iterable[Group]:
    yield ([NONE],)
    yield (list(items),)


def greeting_words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split() if word not in ("I", "am", "to", "you"))


SPECIAL: dict[str, Callable[[], Iterable[Group]]] = {
    "you_stated": lambda: single([hearer_in_statement()]),
    "company": lambda: (
        ([Adverbial(f"with {p}", f"{p:와/과} 함께", p.words, "company") for p in persons(group)],)
        for group in ("other_names", "acquaintances")
    ),
    "known_things": lambda: single(Word(f"this {n}", f"이 {n:ko}", n.words) for n in nouns(
        "song, word, story, secret, name, problem, singer, actor, plan, poem")),
    "pets_missed": lambda: single(Word(f"{{their}} {n}", n.korean, n.words) for n in nouns("puppy, dog, cat")),
    "qualities": lambda: without_degree(things_by_quality("the the this that")),
    "qualities_the": lambda: without_degree(things_by_quality("the")),
    "qualities_degree": lambda: with_degree(things_by_quality("this")),
    "opinions": lambda: (([quality], [noun for noun in QUALITIES[quality] if noun not in NAMED_KINDS])
                         for quality in QUALITIES if quality.english not in QUALITY["no_opinion"]),
    "kinds": lambda: without_degree(kinds()),
    "kinds_degree": lambda: with_degree(kinds()),
    "towns": lambda: without_degree(towns()),
    "towns_degree": lambda: with_degree(towns()),
    "phrases_with_this": phrases_with_this,
    "described_objects": lambda: described_objects(QUALITY["takers"], QUALITY["unsought"]),
    "sought_objects": lambda: described_objects(QUALITY["takers"].replace("want, ", ""), QUALITY["unsought"]),
    "acquired_described": lambda: relative_objects("acquired"),
    "consumed_described": lambda: relative_objects("consumed"),
    "values": lambda: single(adjectives("quality", ", ".join(QUALITY["values"]))),
    "states": lambda: single(ADJECTIVES["state"]),
    "inward": lambda: ((ADJECTIVES["state"],), (ADJECTIVES["feeling"],)),
    "inward_degree": lambda: (([a], degrees(a)) for a in [*ADJECTIVES["state"], *ADJECTIVES["feeling"]]),
    "reported": lambda: ((ADJECTIVES["state"],), (adjectives("feeling", "sad, lonely, bored, cold, hot"),)),
    "traits": lambda: ((ADJECTIVES["trait"],), (ADJECTIVES["trait"],), (adjectives("trait", "tall, strong"),)),
    "free_or_busy": lambda: ((adjectives("state", "free"),), (adjectives("state", "free, busy"),)),
    "weather": lambda: single(ADJECTIVES["weather"]),
    "sky": lambda: ((ADJECTIVES["sky"],), (ADJECTIVES["weather"],)),
    "weather_spots": lambda: (([Word("", "")],), ([
        Word(p.at, p.korean, p.words) for p in places("Seoul, Busan, Korea, Japan, China, America, France")],)),
    "comparisons": comparisons,
    "preferences": preferences,
    "favourites": lambda: single(noun for names in LISTS["compared"]["preferred"] for noun in nouns(names)),
    "object_counts": object_counts,
    "how_many": how_many,
    "glasses": lambda: drink_measures(5),
    "orders": lambda: drink_measures(10),
    "possessed_numbers": possessed_numbers,
    "ages": lambda: ((NUMBERS[4:],), (NUMBERS[12:],)),
    "animal_ages": lambda: single(NUMBERS[1:12]),
    "these_animals": lambda: single(thing(noun, "this") for noun in nouns("*animal, *beast")),
    "the_things": lambda: single(thing(noun) for noun in nouns(LISTS["nouns"]["small_things"][0])),
    "gifts": gifts,
    "rides": rides,
    "journeys": journeys,
    "contents": lambda: contents(False),
    "contents_counted": lambda: contents(True),
    "open_things": lambda: open_verbs(False),
    "open_things_present": lambda: open_verbs(False, "e"),
    "open_things_ongoing": lambda: open_verbs(False, "spe"),
    "open_persons": lambda: open_verbs(True, "e"),
    "what_kinds": what_kinds,
    "what_kinds_past": lambda: what_kinds("like, hate, want"),
    "landmarks": landmarks,
    "distances": distances,
    "owners": lambda: (([Word("my", "내")],), ([
        Word(f"{p}'s", f"{p:ko}의", p.words) for p in persons("names, other_names")],)),
    "because": lambda: causes("shown", "because {they} {are}", "아/어서"),
    "because_past": lambda: causes("shown", "because {they} {were}", "아/어서"),
    "because_felt": lambda: causes("felt", "because {they} {were}", "아/어서"),
    "when_shown": lambda: causes("shown", "when {they} {are}", "(으)ㄹ 때"),
    "when_felt": lambda: causes("felt", "when {they} {are}", "(으)ㄹ 때"),
    "if_shown": lambda: (group for group in (*causes("shown", "if you are", "(으)면"),
                                             *causes("felt", "if you are", "(으)면"))
                         if group[0][0].verb.english not in ("laugh", "hurry", "cry")),
    "hindrances": lambda: hindrances("{are}"),
    "hindrances_past": lambda: hindrances("{were}"),
    "hindering_states": lambda: single(adjectives("state", "busy, tired, sick")),
    "flaws": flaws,
    "likings": likings,
    "before_second": lambda: sequels("second", "before", "기 전에"),
    "after_first": lambda: sequels("first", "after", "(으)ㄴ 후에"),
    "while_accompanied": lambda: sequels("accompanied", "while", "(으)면서"),
    "conditions": conditions,
    "arrivals": arrivals,
    "contrasts": lambda: contrasts("contrasted"),
    "contrasts_past": lambda: contrasts("go_nearby", "done"),
    "trips": trips,
    "mixed_qualities": mixed_qualities,
    "ties": ties,
    "recent": lambda: optional(ADVERBIALS["recent_days"]),
    "soon": lambda: optional(ADVERBIALS["coming_days"]),
    "past_days": lambda: optional(past_days()),
    "past_times": lambda: single(times_of(Tense.PAST)),
    "future_times": lambda: single(times_of(Tense.FUTURE)),
    "at_the_hour": lambda: single(
        Adverbial(f"at {n} o'clock", f"{n:ko} 시에", (*n.words, "o'clock")) for n in NUMBERS[:12]),
    "hours": hours,
    "greetings": lambda: single(Word(text, "", greeting_words(text)) for text in WORDS["greetings"]),
}  # fmt: skip


def groups_of(name: str) -> Iterable[Group]:
    if name in SPECIAL:
        return SPECIAL[name]()
    if name in LIST:
        return single(LIST[name])
    if name in ADVERBIALS:
        return single(ADVERBIALS[name])
    if name.startswith("?"):
        row = WORDS["questions"][name[1:]]
        return single([Adverbial("", row["korean"], tuple(row["wh"].split()), row["role"], row["wh"])])
    readers: dict[str, Callable[[str], Sequence[Word]]] = {
        "persons": persons,
        "person_objects": lambda groups: as_words(persons(groups)),
        "nouns": nouns,
        "places": places,
    }
    for section, read in readers.items():
        if name in LISTS[section]:
            return [(read(names),) for names in LISTS[section][name]]
    return acts(name)


@cache
def choose(expression: str) -> Slot:
    """Return the slot of an expression."""
    return Slot(group for name in expression.split(" + ") for group in groups_of(name))
