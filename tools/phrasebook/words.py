"""Kinds of words: nouns, places, persons, adjectives, adverbials, verbs, acts (a verb with its object).

A word formats itself in a template: {0} is its English, {0:ko} its Korean, {0:을/를} its Korean with a particle.
"""

from dataclasses import dataclass

from phrasebook import english as en
from phrasebook.conjugation import Stem, Style, attach, modifier
from phrasebook.english import Tense, join_words
from phrasebook.hangul import with_particle

NO_STEM = Stem("")


@dataclass(frozen=True, eq=False)
class Word:
    english: str
    korean: str
    words: tuple[str, ...] = ()
    """English lemmas that a sentence with this word counts as holding."""

    def __format__(self, spec: str) -> str:
        if not spec:
            return self.english
        return self.korean if spec == "ko" else with_particle(self.korean, spec)


@dataclass(frozen=True, eq=False)
class Noun(Word):
    number: str = "count"
    """count, mass (no plural, no article), plural (shoes) or the (the news)."""
    counter: str = ""

    @property
    def agreement(self) -> str:
        return "plural" if self.number == "plural" else "third"

    @property
    def some(self) -> str:
        """Indefinite noun phrase: an apple, bread, shoes."""
        if self.number == "the":
            return f"the {self.english}"
        return en.article(self.english) if self.number == "count" else self.english

    @property
    def any(self) -> str:
        """Generic noun phrase: apples, bread, shoes."""
        return en.plural(self.english) if self.number == "count" else self.some

    @property
    def each(self) -> str:
        """Singular and plural for a template that the subject decides: {a teacher|teachers}."""
        return f"{{{self.some}|{self.any}}}"

    @property
    def the(self) -> str:
        return self.english if self.number == "mass" else f"the {self.english}"

    @property
    def is_(self) -> str:
        return "are" if self.number == "plural" else "is"

    @property
    def are(self) -> str:
        """Verb of the generic noun phrase: bread is, apples are."""
        return "is" if self.number == "mass" else "are"

    @property
    def this(self) -> str:
        return "these" if self.number == "plural" else "this"

    @property
    def they(self) -> str:
        return "they were" if self.number == "plural" else "it was"


@dataclass(frozen=True, eq=False)
class Place(Word):
    """A place; its English has the article: the bank, school, Seoul; nothing for home."""

    preposition: str = ""

    @property
    def to(self) -> str:
        return f"to {self.english}" if self.english else "home"

    @property
    def at(self) -> str:
        return join_words(self.preposition, self.english) if self.english else "at home"

    @property
    def a(self) -> str:
        return en.article(self.english.removeprefix("the "))


@dataclass(frozen=True, eq=False)
class Person(Word):
    """A subject, person or thing; Korean is that of the plain style."""

    agreement: str = "third"
    possessive: str = "his"
    speaker: bool = False
    """True of the speaker and the hearer, whose feelings and wishes are stated directly."""
    styles: tuple[Style, ...] = tuple(Style)

    @property
    def nominative(self) -> str:
        return {"나": "내가", "너": "네가"}.get(self.korean) or with_particle(self.korean, "이/가")

    @property
    def pronoun(self) -> str:
        return {"my": "I", "your": "you", "his": "he", "her": "she", "our": "we", "their": "they"}[self.possessive]


@dataclass(frozen=True, eq=False)
class Adjective(Word):
    stem: Stem = NO_STEM
    lead: str = ""
    """Korean words that belong to it and precede a degree: 키가 in 키가 크다."""

    @property
    def comparative(self) -> str:
        return en.comparative(self.english)

    @property
    def attributive(self) -> str:
        """Form before a noun; 새 and 오래된 have no other."""
        return modifier(self.stem) if self.stem.text else self.korean

    def attach(self, ending: str) -> str:
        return attach(self.stem.text, ending)


@dataclass(frozen=True, eq=False)
class Adverbial(Word):
    role: str = "time"
    """frequency, time, company, place, manner, clause (subordinate) or opening (before the topic)."""
    wh: str = ""
    """Question word that opens the English sentence instead."""


@dataclass(frozen=True, eq=False)
class OpenVerb(Word):
    """A verb whose object is asked for; its Korean is the question word with its particle."""

    stem: Stem = NO_STEM


@dataclass(frozen=True, eq=False)
class Time:
    adverbial: Adverbial
    tenses: tuple[Tense, ...]
    scale: str
    """Flag that a verb needs for this time: t at night, y over years."""
    part_of_day: bool


@dataclass(frozen=True, eq=False)
class Verb:
    """A row of verbs.tsv; see there for articles and flags."""

    english: str
    stem: str
    article: str
    objects: str
    particle: str
    flags: str
    where: tuple[Place, ...]
    how: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for word in self.english.split() if word not in SMALL_WORDS)

    def lacks(self, flags: str) -> bool:
        return not set(flags) & set(self.flags)


@dataclass(frozen=True, eq=False)
class Predicate:
    head: str
    """English verb that becomes finite."""
    rest: str
    before: str
    """Korean words before the verb."""
    stem: Stem
    denied: Stem | None = None
    """Korean stem of the negation where it is not the regular one."""


@dataclass(frozen=True, eq=False)
class Act:
    """A verb with its object."""

    verb: Verb
    head: str
    rest: str
    before: str
    stem: Stem
    words: tuple[str, ...]
    thing: Noun | None = None
    """Object, where it is a thing that an adjective could describe."""

    @property
    def predicate(self) -> Predicate:
        return Predicate(self.head, self.rest, self.before, self.stem)

    @property
    def base(self) -> str:
        return join_words(self.head, self.rest)

    @property
    def general(self) -> str:
        """Words after the verb when the act is meant as a kind: read books."""
        if self.thing and self.verb.article == "some":
            return join_words(en.head_and_rest(self.verb.english)[1], self.thing.any)
        return self.rest

    @property
    def definite(self) -> str:
        """Words after the verb when the object is known: read the book."""
        if self.thing and self.verb.article == "some" and self.thing.number != "mass":
            return join_words(en.head_and_rest(self.verb.english)[1], "the", self.thing.english)
        return self.rest


SMALL_WORDS = frozenset(("a", "the", "up", "on", "off", "for", "to", "with", "at", "in", "{their}", "back"))
