"""Choices of subordinate clauses: causes, conditions, acts before and after."""

from collections.abc import Iterable

from phrasebook.act_choices import verb_groups
from phrasebook.conjugation import attach
from phrasebook.english import gerund, join_words
from phrasebook.lexicon import (
    LIST,
    LISTS,
    QUALITIES,
    WORDS,
    adjectives,
    content_words,
    nouns,
    persons,
    select_acts,
)
from phrasebook.noun_choices import QUALITY
from phrasebook.slots import Group
from phrasebook.words import Adverbial


def causes(kind: str, link: str, ending: str) -> Iterable[Group]:
    """Yield acts with the state that leads to them, as a clause: rest because {they} {are} tired."""
    for name, selection in LISTS["causes"][kind].items():
        (adjective,) = [item for group in ("state", "feeling") for item in adjectives(group, name)]
        clause = Adverbial(f"{link} {name}", adjective.attach(ending), (name,), "clause")
        for group in select_acts(selection):
            yield group, [clause]


def hindrances(be: str) -> Iterable[Group]:
    names = adjectives("state", "busy, tired, sick")
    yield ([Adverbial(f"because {{they}} {be} {a}", a.attach("아/어서"), a.words, "clause") for a in names],)


def flaws() -> Iterable[Group]:
    """Yield wares with the reason not to buy them: because it was too big."""
    wares = nouns(QUALITY["wares"])
    for quality in adjectives("quality", ", ".join(QUALITY["flaws"])):
        pairs = []
        for noun in QUALITIES[quality]:
            if noun in wares:
                korean = f"{noun:이/가} 너무 {quality.attach('아/어서')}"
                english = f"because {noun.they} too {quality}"
                pairs.append((noun, Adverbial(english, korean, ("too", *quality.words), "clause")))
        yield (pairs,)


def likings() -> Iterable[Group]:
    for name, names in LISTS["liked"].items():
        (quality,) = adjectives("quality", name)
        pairs = []
        for noun in nouns(names):
            korean = f"{noun:이/가} {quality.attach('아/어서')}"
            they = "it is" if noun.number == "mass" else "they are"
            pairs.append((noun, Adverbial(f"because {they} {name}", korean, quality.words, "clause")))
        yield (pairs,)


def sequels(name: str, link: str, ending: str) -> Iterable[Group]:
    """Yield acts as a clause: before brushing {their} teeth, 이를 닦기 전에."""
    for group in verb_groups(name):
        yield (
            [
                Adverbial(
                    join_words(link, gerund(act.head), act.rest),
                    join_words(act.before, attach(act.stem.text, ending)),
                    (link, *act.words),
                    "clause",
                )
                for act in group
            ],
        )


def conditions() -> Iterable[Group]:
    yield (
        [
            Adverbial(join_words(english, day), join_words(when, korean), content_words(english + " " + day), "opening")
            for english, korean in WORDS["conditions"].items()
            for day, when in WORDS["condition_days"].items()
        ],
    )


def arrivals() -> Iterable[Group]:
    yield (
        [
            Adverbial(
                f"when {other} {event}", f"{other.nominative} {event:ko}", (*event.words, *other.words), "opening"
            )
            for other in persons("rival_names")
            for event in LIST["destinations_of_return"]
        ],
    )
