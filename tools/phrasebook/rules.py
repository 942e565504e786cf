"""Rules of patterns that are more than one clause with one predicate: templates, imperatives, joined clauses."""

from collections.abc import Callable
from typing import Any

from phrasebook import conjugation as ko
from phrasebook.clauses import (
    FUTURE,
    PAST,
    PRESENT,
    Clause,
    Pair,
    english_statement,
    korean_predicate,
    state,
)
from phrasebook.conjugation import Stem, Style, attach, connective
from phrasebook.english import Tense, be, fill_possessive, join_words
from phrasebook.hangul import with_particle
from phrasebook.lexicon import WORDS
from phrasebook.predicates import BUILDERS, progressive, relative_clause
from phrasebook.words import Act, Adjective, Adverbial, Noun, Person, Word

Rule = Callable[..., Pair]
"""Makes a sentence of both languages of the style and the pattern's words."""
NOBODY = Person("", "")
MOODS: dict[str, Callable[[Stem, Tense, Style], str]] = {
    "state": ko.statement,
    "ask": ko.question,
    "deny": lambda stem, tense, style: ko.statement(ko.negative(stem), tense, style),
    "command": lambda stem, _, style: ko.command(stem, style),
}


def sentence(mood: str, tense: Tense, en: str, ko: str, stem: str, kind: str = "verb") -> Rule:
    """Return the rule of a sentence with words put into English and Korean text."""

    def write(style: Style, *words: Any) -> Pair:
        form = MOODS[mood](Stem(stem.format(*words), kind), tense, style)
        english = " ".join(en.format(*words).split()) + ("?" if mood == "ask" else "")
        return english, " ".join(f"{ko.format(*words)} {form}".split())

    return write


def imperative(name: str) -> Rule:
    """Return the rule of a command, request or suggestion in [imperatives]."""
    row = WORDS["imperatives"][name]

    def write(style: Style, act: Act, clause: Adverbial | None = None) -> Pair:
        ending = style.choose(*row["endings"])
        # 도와주다 is one word
        if act.head == "help":
            ending = ending.replace("아/어 ", "아/어")
        form = ko.command(act.stem, style) if name == "order" else attach(act.stem.text, ending)
        english = fill_possessive(row["en"].format(act.base), row["possessive"])
        korean = join_words(clause.korean if clause else "", row.get("ko", ""), act.before, form)
        return join_words(english, clause.english if clause else ""), korean

    return write


def greet(style: Style, greeting: Word, person: Word | None = None) -> Pair:
    korean = WORDS["greetings"][greeting.english][style is Style.POLITE]
    if person is None:
        return greeting.english, korean
    called = f"{person:ko} 씨" if style is Style.POLITE else f"{person:아/야}"
    return f"{greeting.english}, {person}", f"{korean}, {called}"


DAY_TENSE = {"today": PRESENT, "yesterday": PAST, "tomorrow": FUTURE}


def describe_air(style: Style, adjective: Adjective, day: Word, spot: Word) -> Pair:
    tense = DAY_TENSE[day.english]
    english = join_words("it", be("third", tense), adjective.english, spot.english, day.english)
    when = f"{spot:은/는} {day:ko}" if spot.korean else f"{day:은/는}"
    return english, f"{when} {ko.statement(adjective.stem, tense, style)}"


def describe_weather(style: Style, adjective: Adjective, day: Word, spot: Word) -> Pair:
    tense = DAY_TENSE[day.english]
    english = join_words("the weather", spot.english, be("third", tense), adjective.english, day.english)
    form = ko.statement(adjective.stem, tense, style)
    return english, join_words(f"{day:은/는}", spot.korean, "날씨가", form)


def ask_weather(style: Style, adjective: Adjective, day: Word, spot: Word) -> Pair:
    tense = DAY_TENSE[day.english]
    first, _, rest = be("third", tense).partition(" ")
    english = join_words(first, "the weather", spot.english, rest, adjective.english, day.english) + "?"
    form = ko.question(adjective.stem, tense, style)
    return english, join_words(f"{day:은/는}", spot.korean, "날씨가", form)


def but(tense: Tense) -> Rule:
    """Return the rule of a contrast of two subjects: I like tea but Woojin likes coffee."""

    def write(style: Style, first: Act, second: Act, person: Person, other: Person, *times: Adverbial) -> Pair:
        start, end = Clause(person, first.predicate, tense, times), Clause(other, second.predicate, tense)
        opening = korean_predicate(start, connective(first.stem, tense, "지만"))
        _, korean = state(style, end)
        return f"{english_statement(start)} but {english_statement(end)}", f"{start.topic} {opening} {korean}"

    return write


def and_then(tense: Tense) -> Rule:
    """Return the rule of two acts in turn; the time stands last in English and first in Korean."""

    def write(
        style: Style, first: Act, here: Adverbial, second: Act, there: Adverbial, time: Adverbial, person: Person
    ) -> Pair:
        subjectless = Person("", "", (), person.agreement, person.possessive)
        start, end = (
            Clause(person, first.predicate, tense, [here]),
            Clause(subjectless, second.predicate, tense, [there]),
        )
        ending = english_statement(end._replace(adverbials=[there, time])).removeprefix("will ")
        opening = korean_predicate(start._replace(adverbials=[here, time]), attach(first.stem.text, "고"))
        _, korean = state(style, end)
        return f"{english_statement(start)} and {ending}", join_words(start.topic, opening, korean)

    return write


def though(style: Style, adjective: Adjective, act: Act, time: Adverbial, person: Person) -> Pair:
    feeling = Clause(person, BUILDERS["be"](person, adjective), PAST)
    again = Person(person.pronoun, "", (), person.agreement, person.possessive)
    english, korean = state(style, Clause(again, act.predicate, PAST, [time]))
    opening = connective(adjective.stem, PAST, "지만")
    return f"{english_statement(feeling)} but {english}", f"{feeling.topic} {opening} {korean}"


def but_quality(style: Style, merit: Adjective, fault: Adjective, subject: Person) -> Pair:
    clause = Clause(subject, BUILDERS["be"](subject, merit), PRESENT)
    korean = f"{connective(merit.stem, PRESENT, '지만')} {ko.statement(fault.stem, PRESENT, style)}"
    return f"{english_statement(clause)} but {fault}", f"{clause.topic} {korean}"


def relative_subject(tense: Tense) -> Rule:
    """Return the rule of a thing in a relative clause as subject: the hat that I bought is pretty."""

    def write(style: Style, act: Act, quality: Adjective, time: Adverbial, person: Person) -> Pair:
        assert act.thing  # noqa: S101
        english, korean = relative_clause(act, person, time)
        subject = Person(english, korean, (), act.thing.agreement)
        return state(style, Clause(subject, BUILDERS["be"](subject, quality), tense))

    return write


def ask_where_relative(style: Style, act: Act, time: Adverbial, person: Person) -> Pair:
    assert act.thing  # noqa: S101
    english, korean = relative_clause(act, person, time)
    form = ko.question(Stem("있", "existence"), PRESENT, style)
    return f"where {act.thing.is_} {english}?", f"{with_particle(korean, '은/는')} 어디에 {form}"


def relative_who(style: Style, act: Act, who: Noun, kin: Word) -> Pair:
    """Identify a person by an act: the man who is singing is my friend."""
    predicate = progressive(NOBODY, act)
    rest = fill_possessive(predicate.rest, "her" if who.english in ("woman", "girl") else "his")
    clause = korean_predicate(Clause(NOBODY, predicate, PRESENT), ko.modifier(predicate.stem))
    form = ko.statement(Stem(kin.korean, "copula"), PRESENT, style)
    return f"the {who} who is {rest} is {kin}", f"{clause} {who:은/는} {form}"


RULES: dict[str, Rule] = {
    "greet": greet,
    "describe_air": describe_air,
    "describe_weather": describe_weather,
    "ask_weather": ask_weather,
    "but present": but(PRESENT),
    "but past": but(PAST),
    "and past": and_then(PAST),
    "and future": and_then(FUTURE),
    "though": though,
    "but_quality": but_quality,
    "relative_subject present": relative_subject(PRESENT),
    "relative_subject past": relative_subject(PAST),
    "ask_where_relative": ask_where_relative,
    "relative_who": relative_who,
}
RULES |= {name: imperative(name) for name in WORDS["imperatives"]}
