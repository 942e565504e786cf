"""All patterns, and one draw from them."""

import random
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from tongsa.phrasebook.actions import ACTIONS
from tongsa.phrasebook.causes import CAUSATIONS
from tongsa.phrasebook.comparisons import COMPARISONS
from tongsa.phrasebook.joins import JOINS
from tongsa.phrasebook.numbers import AMOUNTS
from tongsa.phrasebook.presence import PRESENCE
from tongsa.phrasebook.pronouns import MEETINGS
from tongsa.phrasebook.qualities import ESSENCES
from tongsa.phrasebook.questions import QUESTIONS
from tongsa.phrasebook.relatives import RELATIVES
from tongsa.phrasebook.requests import REQUESTS
from tongsa.phrasebook.scenes import SCENES
from tongsa.phrasebook.slots import Pattern, Worded, drawn
from tongsa.phrasebook.traits import CHARACTERS
from tongsa.phrasebook.wishes import WISHES

GRAMMAR: tuple[Pattern, ...] = (
    *ACTIONS,
    *WISHES,
    *REQUESTS,
    *QUESTIONS,
    *ESSENCES,
    *CHARACTERS,
    *COMPARISONS,
    *SCENES,
    *MEETINGS,
    *AMOUNTS,
    *PRESENCE,
    *JOINS,
    *CAUSATIONS,
    *RELATIVES,
)
CUMULATED = list(accumulate(pattern.weight for pattern in GRAMMAR))


class Phrase(NamedTuple):
    english: str
    """With "<polite> " before it where the Korean is polite."""
    korean: str
    pattern: str
    words: tuple[str, ...]
    """The English lemmas it holds, the most telling first."""


def phrase(pattern: Pattern, rng: random.Random) -> Phrase:
    return realised(pattern, [slot.draw(rng) for slot in pattern.slots])


def realised(pattern: Pattern, fillings: list[Worded]) -> Phrase:
    english, korean = pattern.say(*fillings)
    return Phrase(english, korean, pattern.name, pattern.words(fillings))


def sample(rng: random.Random) -> Phrase:
    """Any phrase, its pattern drawn by weight."""
    return phrase(rng.choices(GRAMMAR, cum_weights=CUMULATED)[0], rng)


def sample_with(word: str, rng: random.Random) -> Phrase:
    """A phrase that holds this word."""
    pattern = drawn(holders()[word], rng)
    places = [place for place, slot in enumerate(pattern.slots) if word in slot.vocabulary]
    fillings = [slot.draw(rng) for slot in pattern.slots]
    if places:
        place = drawn(places, rng)
        fillings[place] = pattern.slots[place].draw_with(word, rng)
    return realised(pattern, fillings)


@cache
def holders() -> dict[str, list[Pattern]]:
    """The patterns that can hold each word."""
    found: dict[str, list[Pattern]] = {}
    for pattern in GRAMMAR:
        for word in pattern.vocabulary:
            found.setdefault(word, []).append(pattern)
    return found


def size() -> int:
    """The number of pairs: the choices of every pattern, each of which shows in the English."""
    return sum(pattern.size for pattern in GRAMMAR)


def vocabulary() -> frozenset[str]:
    """Every English lemma that a phrase can hold."""
    return frozenset(holders())
