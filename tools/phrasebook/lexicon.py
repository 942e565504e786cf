"""The words of both languages, read from the tables in data/."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from phrasebook import english as en
from phrasebook.conjugation import Stem
from phrasebook.english import Tense, join_words
from phrasebook.hangul import with_particle
from phrasebook.tables import read_rows, read_toml, split_names
from phrasebook.words import NO_STEM, Act, Adjective, Adverbial, Noun, Person, Place, Time, Verb, Word

WORDS = read_toml("words.toml")


def lemma(english: str) -> tuple[str, ...]:
    """Content word of an English noun phrase."""
    for article in ("the ", "my ", "you and "):
        english = english.removeprefix(article)
    return (english,)


NOUNS: dict[str, Noun] = {}
NOUN_CLASSES: dict[str, list[Noun]] = {}
for _row in read_rows("nouns.tsv"):
    _noun = Noun(_row["english"], _row["korean"], (_row["english"],), _row["number"], _row["counter"])
    NOUNS[_noun.english] = _noun
    NOUN_CLASSES.setdefault(_row["class"], []).append(_noun)


def nouns(names: str) -> list[Noun]:
    """Return the nouns of a list of *classes and words; -word leaves one out."""
    chosen: dict[str, Noun] = {}
    for name in split_names(names):
        if name.startswith("-"):
            chosen.pop(name[1:])
        elif name.startswith("*"):
            chosen |= {noun.english: noun for noun in NOUN_CLASSES[name[1:]]}
        else:
            chosen[name] = NOUNS[name]
    return list(chosen.values())


PLACES = {
    row["key"]: Place(row["english"], row["korean"], lemma(row["english"] or "home"), row["preposition"])
    for row in read_rows("places.tsv")
}
BUILDINGS = [row["key"] for row in read_rows("places.tsv") if row["kind"] == "building"]


def places(names: str) -> list[Place]:
    """Return the places of a list of keys; *building is all buildings."""
    keys = [key for name in split_names(names) for key in (BUILDINGS if name == "*building" else [name])]
    return [PLACES[key] for key in keys]


PERSONS: dict[str, list[Person]] = {}
for _row in read_rows("persons.tsv"):
    _words = lemma(_row["english"])
    _agreement, _possessive, _speaker = _row["agreement"], _row["possessive"], bool(_row["speaker"])
    PERSONS.setdefault(_row["group"], []).append(
        Person(_row["english"], _row["korean"], _words, _agreement, _possessive, _speaker)
    )


def persons(groups: str) -> list[Person]:
    return [person for group in split_names(groups) for person in PERSONS[group]]


def adjective(english: str, korean: str) -> Adjective:
    """Return an adjective given in dictionary form; those in 있다 conjugate as existence does."""
    lead, _, stem = korean.removesuffix("다").rpartition(" ")
    return Adjective(english, korean, (english,), Stem(stem, "existence" if stem.endswith("있") else "adjective"), lead)


ADJECTIVES: dict[str, list[Adjective]] = {}
DESCRIBES: dict[Adjective, str] = {}
"""Names of the nouns or places that an adjective may describe."""
for _row in read_rows("adjectives.tsv"):
    _adjective = adjective(_row["english"], _row["korean"])
    if _row["group"] == "attributive":
        _adjective = replace(_adjective, stem=NO_STEM)
    ADJECTIVES.setdefault(_row["group"], []).append(_adjective)
    DESCRIBES[_adjective] = _row["describes"]
QUALITIES = {quality: nouns(DESCRIBES[quality]) for quality in ADJECTIVES["quality"]}
ATTRIBUTES = QUALITIES | {quality: nouns(DESCRIBES[quality]) for quality in ADJECTIVES["attributive"]}
QUALITIES_OF: dict[str, list[Adjective]] = {}
for _adjective, _described in ATTRIBUTES.items():
    for _noun in _described:
        QUALITIES_OF.setdefault(_noun.english, []).append(_adjective)


def adjectives(group: str, names: str = "") -> list[Adjective]:
    """Return the adjectives of a group, or those of these names in it."""
    return [item for item in ADJECTIVES[group] if not names or item.english in split_names(names)]


def content_words(english: str) -> tuple[str, ...]:
    """Lemmas of an adverbial."""
    return tuple(word for word in english.split() if word not in ("in", "the", "at", "on", "is", "it", "does", "not"))


TIMES = [
    Time(
        Adverbial(row["english"], row["korean"], content_words(row["english"])),
        tuple(Tense[name.upper()] for name in row["tenses"].split()),
        row["scale"],
        bool(row["part_of_day"]),
    )
    for row in read_rows("times.tsv")
]


def times(tense: Tense, flags: str) -> list[Adverbial]:
    """Return the times of a tense that a verb with these flags may have."""

    def suits(time: Time) -> bool:
        name = time.adverbial.english
        if "l" in flags:
            return name in WORDS["long_spans"]
        if "d" in flags:
            return time.part_of_day or name in ("yesterday", "today", "tomorrow", "every day")
        return not time.scale or time.scale in flags

    return [time.adverbial for time in TIMES if tense in time.tenses and suits(time)]


def noun_phrase(noun: Noun, article: str) -> str:
    """English object: an apple (some), apples (any), my apple (possessive), the apple."""
    match article:
        case "some":
            return noun.some
        case "any":
            return noun.any
        case "possessive":
            return "{their} " + noun.english
    return "the " + noun.english


def object_phrases(verb: Verb) -> Iterable[tuple[str, Word]]:
    """Yield each object of a verb with its English phrase."""
    match verb.article:
        case "":
            yield "", Word("", "")
        case "person":
            yield from ((person.english, person) for person in persons("other_names, acquaintances"))
        case "name":
            yield from ((person.english, person) for person in persons("other_names"))
        case "to":
            yield from ((place.to, place) for place in places(verb.objects))
        case "in":
            yield from ((place.at, place) for place in places(verb.objects))
        case "place":
            yield from ((place.english, place) for place in places(verb.objects))
        case _:
            yield from ((noun_phrase(noun, verb.article), noun) for noun in nouns(verb.objects))


def acts_of(verb: Verb) -> Iterable[Act]:
    head, rest = en.head_and_rest(verb.english)
    before, _, stem = verb.stem.rpartition(" ")
    for phrase, word in object_phrases(verb):
        yield Act(
            verb,
            head,
            join_words(rest, phrase),
            join_words(with_particle(word.korean, verb.particle) if word.korean else "", before),
            Stem(stem),
            (head, *word.words, *verb.words[1:]),
            word if isinstance(word, Noun) else None,
        )


VERBS = [
    Verb(
        row["english"],
        row["stem"],
        row["article"],
        row["objects"],
        row["particle"] or "을/를",
        row["flags"],
        tuple(places(row["where"])),
        tuple(split_names(row["how"])),
    )
    for row in read_rows("verbs.tsv")
]
ACTS: dict[Verb, list[Act]] = {}
_known: set[str] = set()
for _verb in VERBS:
    # the first verb that makes an English phrase keeps it: one phrase has one translation
    ACTS[_verb] = [act for act in acts_of(_verb) if act.base not in _known]
    _known |= {act.base for act in ACTS[_verb]}


def select_acts(selection: str) -> list[list[Act]]:
    """Return acts by verb: "eat (*fruit; -lemon), go (-Seoul), sleep"; words in parentheses restrict the objects."""
    groups = []
    for entry in split_names(selection):
        name, _, objects = entry.rstrip(")").partition(" (")
        verbs = [verb for verb in VERBS if verb.english == name]
        if not verbs:
            raise ValueError(f"{selection!r}: no verb {name!r} in verbs.tsv")
        groups += [[act for act in ACTS[verb] if allows(objects, act)] for verb in verbs]
    return [group for group in groups if group]


def allows(objects: str, act: Act) -> bool:
    """Return True if the act's object is in the list, or the list only excludes and the object is not in it."""
    names = [name.strip() for name in objects.split(";") if name.strip()]
    word = act.words[1] if len(act.words) > 1 else ""
    if any(name.startswith("-") for name in names):
        return "-" + word not in names
    expanded = [noun.english for name in names if name.startswith("*") for noun in NOUN_CLASSES[name[1:]]]
    return not names or word in names or word in expanded


def as_words(items: Sequence[Word]) -> list[Word]:
    """Return persons as objects, which are no subjects of the sentence."""
    return [Word(item.english, item.korean, item.words) for item in items]


LISTS = read_toml("lists.toml")
LIST = {
    name: [Word(english, korean, (english,)) for english, korean in table.items()]
    for name, table in WORDS["lists"].items()
}
NUMBERS = LIST["numbers"]
ADVERBIALS = {
    name: [
        Adverbial(english, korean, content_words(english), table["role"])
        for english, korean in table.items()
        if english != "role"
    ]
    for name, table in WORDS["adverbials"].items()
}
MANNER = {item.english: item for item in ADVERBIALS["manner"]}
