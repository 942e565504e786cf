"""Predicates made of a pattern's words: acts, constructions over acts, templates, adjectives."""

from collections.abc import Callable
from typing import Any

from phrasebook import conjugation as ko
from phrasebook.clauses import PAST, PRESENT, Clause, Pair, english_statement
from phrasebook.conjugation import Stem, attach, connective
from phrasebook.english import gerund, head_and_rest, join_words, participle
from phrasebook.hangul import with_particle
from phrasebook.tables import read_toml
from phrasebook.words import Act, Adjective, Noun, OpenVerb, Person, Place, Predicate, Word

Builder = Callable[..., Predicate]
"""Makes a predicate of the subject and the pattern's other words."""


def do(_: Person, act: Act) -> Predicate:
    return act.predicate


def do_general(_: Person, act: Act) -> Predicate:
    return Predicate(act.head, act.general, act.before, act.stem)


def do_definite(_: Person, act: Act) -> Predicate:
    return Predicate(act.head, act.definite, act.before, act.stem)


def progressive(_: Person, act: Act) -> Predicate:
    return Predicate("be", join_words(gerund(act.head), act.rest), act.before, ko.progressive(act.stem))


def want(person: Person, act: Act) -> Predicate:
    return Predicate("want", f"to {act.base}", act.before, ko.desire(act.stem, person.speaker))


def be(_: Person, adjective: Adjective, degree: Word | None = None) -> Predicate:
    """Predicate of an adjective; a degree stands right before it: 키가 아주 크다."""
    english, korean = (degree.english, degree.korean) if degree else ("", "")
    rest, before = join_words(english, adjective.english), join_words(adjective.lead, korean)
    return Predicate("be", rest, before, adjective.stem)


def look(_: Person, adjective: Adjective, degree: Word) -> Predicate:
    rest = f"{degree.english} {adjective.english}"
    return Predicate("look", rest, degree.korean, Stem(adjective.attach("아/어 보이")))


def described_phrase(adjective: Adjective, noun: Noun) -> Noun:
    """Return a noun with its adjective: big box, 큰 상자."""
    english, korean = f"{adjective.english} {noun.english}", f"{adjective.attributive} {noun.korean}"
    return Noun(english, korean, (), "count" if noun.number == "count" else "mass")


def do_described(_: Person, act: Act, adjective: Adjective) -> Predicate:
    """Act with its object described: buy a red hat."""
    assert act.thing  # noqa: S101
    phrase = described_phrase(adjective, act.thing)
    return Predicate(act.head, phrase.some, f"{phrase:을/를}", act.stem)


def be_described(_: Person, adjective: Adjective, noun: Noun) -> Predicate:
    phrase = described_phrase(adjective, noun)
    return Predicate("be", phrase.some, "", Stem(phrase.korean, "copula"))


def hobby(_: Person, act: Act) -> Predicate:
    return Predicate(
        "be", join_words(gerund(act.head), act.general), act.before, Stem(attach(act.stem.text, "는 것"), "copula")
    )


def be_hard_to(_: Person, act: Act, value: Adjective) -> Predicate:
    """Judgement on an act: it is difficult to learn Korean."""
    rest = join_words(value.english, "to", act.head, act.general)
    return Predicate("be", rest, join_words(act.before, attach(act.stem.text, "는 것은")), value.stem)


def go_to(_: Person, act: Act, place: Place) -> Predicate:
    """Purpose: go to the market to buy apples."""
    before = join_words(act.before, attach(act.stem.text, "(으)러"), place.korean + "에")
    return Predicate("go", f"{place.to} to {act.base}", before, Stem("가"))


def hear(_: Person, act: Act, other: Word) -> Predicate:
    clause = english_statement(Clause(Person(other.english, other.korean), act.predicate, PAST))
    before = join_words(with_particle(other.korean, "이/가"), act.before, connective(act.stem, PAST, "다고"))
    return Predicate("hear", f"that {clause}", before, Stem("듣"))


def say(_: Person, adjective: Adjective) -> Predicate:
    korean = connective(adjective.stem, PRESENT, "다고")
    return Predicate("say", f"that {{they}} {{were}} {adjective.english}", korean, Stem("말하"))


def think(_: Person, adjective: Adjective, noun: Noun) -> Predicate:
    before = f"이 {noun:이/가} " + connective(adjective.stem, PRESENT, "다고")
    return Predicate("think", f"that {noun.this} {noun} {noun.is_} {adjective.english}", before, Stem("생각하"))


def know_who(_: Person, act: Act, who: Noun) -> Predicate:
    clause = Clause(Person(f"{who.some} who", ""), do_general(Person("", ""), act), PRESENT)
    before = join_words(act.before, attach(act.stem.text, "는"), f"{who:을/를}")
    return Predicate("know", english_statement(clause), before, Stem("알"))


def relative_clause(act: Act, who: Word, time: Word) -> Pair:
    """Noun with its relative clause: the hat that I bought, 내가 산 모자."""
    assert act.thing  # noqa: S101
    person = who if isinstance(who, Person) else Person(who.english, who.korean)
    clause = Clause(person, Predicate(act.head, "", "", act.stem), PAST)
    english = join_words(f"the {act.thing} that", english_statement(clause), time.english)
    return english, join_words(person.nominative, time.korean, attach(act.stem.text, "(으)ㄴ"), act.thing.korean)


def feel_about(_: Person, act: Act, attitude: Word, other: Word) -> Predicate:
    """Attitude to a thing in a relative clause: I like the song that Woojin sang."""
    english, korean = relative_clause(act, other, Word("", ""))
    return Predicate(attitude.english, english, with_particle(korean, "을/를"), Stem(attitude.korean))


def ask_object_progressive(_: Person, verb: OpenVerb) -> Predicate:
    head, rest = head_and_rest(verb.english)
    return Predicate("be", join_words(gerund(head), rest), verb.korean, ko.progressive(verb.stem))


def construction(english: str, ending: str, kind: str = "verb", denied: str = "") -> Builder:
    """Return a builder of verbs that govern another: decide to {base}, -기로 하다."""
    head, form = head_and_rest(english)

    def build(_: Person, act: Act) -> Predicate:
        rest = form.format(
            base=act.base,
            gerund=join_words(gerund(act.head), act.general),
            participle=join_words(participle(act.head), act.rest),
        )
        negation = Stem(attach(act.stem.text, denied)) if denied else None
        return Predicate(head, rest, act.before, Stem(attach(act.stem.text, ending), kind), negation)

    return build


def template(en: str, ko: str, stem: str, kind: str = "verb") -> Builder:
    """Return a builder that puts words into English and Korean text; stem = "0" is the stem of the first word."""

    def build(_: Person, *words: Any) -> Predicate:
        head, rest = head_and_rest(en.format(*words))
        final = words[0].stem if stem == "0" else Stem(stem.format(*words), kind)
        return Predicate(head, rest, join_words(*ko.format(*words).split()), final)

    return build


TABLE = read_toml("predicates.toml")
BUILDERS: dict[str, Builder] = {
    function.__name__: function
    for function in (
        *(do, do_general, do_definite, do_described, progressive, want, be, look, be_described, hobby, be_hard_to),
        *(go_to, hear, say, think, know_who, feel_about, ask_object_progressive),
    )
}
BUILDERS |= {name: construction(**row) for name, row in TABLE["constructions"].items()}
BUILDERS |= {name: template(**row) for name, row in TABLE["templates"].items()}
