"""All patterns, and one draw from them."""

import random
from itertools import accumulate
from typing import NamedTuple

from tongsa.phrasebook.actions import ACTIONS
from tongsa.phrasebook.joins import JOINS
from tongsa.phrasebook.qualities import ESSENCES
from tongsa.phrasebook.questions import QUESTIONS
from tongsa.phrasebook.scenes import SCENES
from tongsa.phrasebook.slots import Pattern
from tongsa.phrasebook.wishes import WISHES

GRAMMAR: tuple[Pattern, ...] = (*ACTIONS, *WISHES, *QUESTIONS, *ESSENCES, *SCENES, *JOINS)
CUMULATED = list(accumulate(pattern.weight for pattern in GRAMMAR))


class Phrase(NamedTuple):
    english: str
    """With "<polite> " before it where the Korean is polite."""
    korean: str
    pattern: str
    words: tuple[str, ...]
    """The English lemmas it holds, the most telling first."""


def phrase(pattern: Pattern, rng: random.Random) -> Phrase:
    fillings = [slot.draw(rng) for slot in pattern.slots]
    english, korean = pattern.say(*fillings)
    return Phrase(english, korean, pattern.name, pattern.words(fillings))


def sample(rng: random.Random) -> Phrase:
    return phrase(rng.choices(GRAMMAR, cum_weights=CUMULATED)[0], rng)


def size() -> int:
    """The number of distinct pairs: patterns do not overlap, and each choice in a slot shows in the English."""
    return sum(pattern.size for pattern in GRAMMAR)


def vocabulary() -> frozenset[str]:
    """Every English lemma that a phrase can hold."""
    return frozenset(
        word
        for pattern in GRAMMAR
        for word in (*pattern.fixed, *(word for slot in pattern.slots for word in slot.vocabulary))
    )
