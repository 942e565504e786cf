"""The grammar: patterns read from patterns.toml, and draws from them."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate, product
from typing import Any, NamedTuple

from phrasebook.choices import choose
from phrasebook.clauses import FORMS, Clause, Pair
from phrasebook.conjugation import Style
from phrasebook.english import Tense, capitalize
from phrasebook.lexicon import WORDS
from phrasebook.predicates import BUILDERS
from phrasebook.rules import RULES, Rule, sentence
from phrasebook.slots import Slot, draw, flatten
from phrasebook.tables import read_toml
from phrasebook.words import Adverbial, Person

STYLE_SHARES = {Style.PLAIN: 0.4, Style.POLITE: 0.3, Style.CASUAL: 0.3}
REPLACED_WORDS = {Style.POLITE: WORDS["styles"]["polite"], Style.CASUAL: WORDS["styles"]["casual"], Style.PLAIN: {}}


class Phrase(NamedTuple):
    english: str
    """With "<polite> " or "<casual> " before it where the Korean is in that style."""
    korean: str
    pattern: str
    words: tuple[str, ...]
    """English lemmas, the most telling first."""


class Pattern(NamedTuple):
    name: str
    chapter: str
    slots: tuple[Slot, ...]
    rule: Rule
    words: tuple[str, ...]
    """Content words of every sentence of the pattern."""
    weight: float

    @property
    def size(self) -> int:
        """Number of sentences, counting all styles of every choice."""
        return math.prod(map(len, self.slots)) * len(Style)

    @property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(self.words).union(*(slot.index for slot in self.slots))

    def write(self, style: Style, words: Sequence[Any]) -> Phrase:
        english, korean = self.rule(style, *words)
        replaced = REPLACED_WORDS[style]
        korean = " ".join(filter(None, (replaced.get(word, word) for word in korean.split(" "))))
        lemmas = dict.fromkeys(lemma for word in words for lemma in word.words)
        return Phrase(
            style.value + capitalize(english), korean, self.name, tuple(dict.fromkeys((*lemmas, *self.words)))
        )

    def phrases(self) -> Iterator[Phrase]:
        """Yield every phrase of the pattern."""
        for fillings in product(*self.slots):
            words = flatten(fillings)
            yield from (self.write(style, words) for style in styles_of(words))

    def phrases_of(self, lemmas: frozenset[str]) -> Iterator[Phrase]:
        """Yield the phrases whose slots hold no other lemmas than these."""
        for fillings in product(*([item for item in slot if lemmas.issuperset(words_in(item))] for slot in self.slots)):
            words = flatten(fillings)
            yield from (self.write(style, words) for style in styles_of(words))


def words_in(filling: Sequence[Any]) -> set[str]:
    return {lemma for word in filling for lemma in word.words}


def styles_of(words: Sequence[Any]) -> list[Style]:
    """Return the styles that every person of the sentence allows."""
    return [style for style in Style if all(style in word.styles for word in words if isinstance(word, Person))]


def clause_rule(form: str, tense: Tense, predicate: str) -> Rule:
    """Return the rule of one clause: the last person is its subject, other words make the predicate."""
    write, build = FORMS[form], BUILDERS[predicate]

    def rule(style: Style, *words: Any) -> Pair:
        (person,) = [word for word in words if isinstance(word, Person)]
        adverbials = [word for word in words if isinstance(word, Adverbial)]
        others = [word for word in words if not isinstance(word, (Person, Adverbial))]
        return write(style, Clause(person, build(person, *others), tense, adverbials))

    return rule


def read_rule(rule: str, **texts: str) -> Rule:
    if rule in RULES:
        return RULES[rule]
    first, second, *third = rule.split()
    if first == "sentence":
        return sentence(second, Tense[third[0].upper()], **texts)
    return clause_rule(first, Tense[second.upper()], third[0])


def read_pattern(
    name: str, chapter: str, rule: str, slots: list[str], words: str = "", weight: float = 1, **texts: str
) -> Pattern:
    return Pattern(name, chapter, tuple(map(choose, slots)), read_rule(rule, **texts), tuple(words.split()), weight)


PATTERNS = {
    name: read_pattern(name, chapter, **row)
    for chapter, rows in read_toml("patterns.toml").items()
    for name, row in rows.items()
}
PATTERN_LIST = list(PATTERNS.values())
CUMULATED = list(accumulate(pattern.weight for pattern in PATTERN_LIST))


def draw_style(words: Sequence[Any], rng: random.Random) -> Style:
    allowed = styles_of(words)
    return rng.choices(allowed, [STYLE_SHARES[style] for style in allowed])[0]


def draw_phrase(
    pattern: Pattern, rng: random.Random, fill: Callable[[int, Slot], tuple[Any, ...]] | None = None
) -> Phrase:
    """Draw a phrase of a pattern; fill may fill a slot otherwise than by a free draw."""
    words = flatten(fill(i, slot) if fill else slot.draw(rng) for i, slot in enumerate(pattern.slots))
    return pattern.write(draw_style(words, rng), words)


def sample(rng: random.Random) -> Phrase:
    """Draw any phrase, its pattern by weight."""
    (pattern,) = rng.choices(PATTERN_LIST, cum_weights=CUMULATED)
    return draw_phrase(pattern, rng)


def sample_with(word: str, rng: random.Random) -> Phrase:
    """Draw a phrase that holds this word."""
    pattern = draw(patterns_with()[word], rng)
    holders = [i for i, slot in enumerate(pattern.slots) if word in slot.index]
    chosen = draw(holders, rng) if holders else -1
    return draw_phrase(pattern, rng, lambda i, slot: slot.draw_with(word, rng) if i == chosen else slot.draw(rng))


@cache
def patterns_with() -> dict[str, list[Pattern]]:
    """Map each word to the patterns that can hold it."""
    patterns: dict[str, list[Pattern]] = {}
    for pattern in PATTERNS.values():
        for word in sorted(pattern.vocabulary):
            patterns.setdefault(word, []).append(pattern)
    return patterns


def vocabulary() -> frozenset[str]:
    """Return every English lemma that a phrase can hold."""
    return frozenset(patterns_with())


def size() -> int:
    return sum(pattern.size for pattern in PATTERNS.values())
