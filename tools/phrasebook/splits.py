"""Train, dev and test splits: disjoint, half of the test on combinations not in train, and a test of longer sentences.

Whether a model composes or recites shows only on combinations that it has not seen (Lake and Baroni 2018,
"Generalization without systematicity"), and on sentences longer than any in train.
"""

import random
import zlib
from collections import Counter
from functools import cache
from typing import NamedTuple

from phrasebook.conjugation import Style
from phrasebook.grammar import PATTERNS, Phrase, draw_phrase, sample, sample_with, vocabulary
from phrasebook.slots import draw
from phrasebook.tables import read_rows

MAX_TRAIN_WORDS = 12
"""Longest English sentence of train, dev and test, without the style tag."""
MIN_LONG_WORDS = 14
"""Shortest sentence of the long test: longer than any in train, with the style tag or without."""
HELD_OUT_RATE = 10
"""One combination in ten is kept out of train."""
MIN_PATTERN_SIZE = 150
"""Smaller patterns keep all their combinations in train."""
RARE_BELOW = 40
"""Words with fewer sentences in train are drawn on purpose."""
LONG_CHAPTER = "two clauses"
SIZES = {name: pattern.size for name, pattern in PATTERNS.items()}


class Splits(NamedTuple):
    train: list[tuple[str, str]]
    dev: list[tuple[str, str]]
    test: list[tuple[str, str]]
    test_long: list[tuple[str, str]]


@cache
def source_phrases() -> list[Phrase]:
    """Return the sentences of sources.tsv in every style; all of them are in train."""
    phrases = []
    for row in read_rows("sources.tsv"):
        candidates = PATTERNS[row["pattern"]].phrases_of(frozenset(row["words"].split()))
        required = {style.value + row["english"] for style in Style}
        chosen = [phrase for phrase in candidates if phrase.english in required]
        if len(chosen) != len(required):
            raise ValueError(f"sources.tsv: {row['english']!r} is no sentence of {row['pattern']!r} in every style")
        phrases += chosen
    return phrases


def combination(phrase: Phrase) -> tuple[str, ...]:
    """Return the pattern with its two most telling words: past, eat, apple."""
    return (phrase.pattern, *phrase.words[:2])


@cache
def source_combinations() -> frozenset[tuple[str, ...]]:
    return frozenset(map(combination, source_phrases()))


def is_held_out(phrase: Phrase, seed: int = 1) -> bool:
    """Return True if this combination is for dev and test only; a hash decides, the same on every machine."""
    if SIZES[phrase.pattern] < MIN_PATTERN_SIZE or combination(phrase) in source_combinations():
        return False
    key = "|".join((str(seed), *combination(phrase)))
    return zlib.crc32(key.encode()) % HELD_OUT_RATE == 0


def count_words(english: str) -> int:
    """Return the length of an English sentence without its style tag."""
    return sum(not word.startswith("<") for word in english.split())


def split_pairs(seed: int = 1, train: int = 20000, dev: int = 500, test: int = 1000, long: int = 500) -> Splits:
    """Return distinct pairs, the same for the same seed; half of dev and test are combinations not in train."""
    rng = random.Random(seed)
    phrases = draw_distinct(rng, seed, train, dev + test)
    sources = {phrase.english for phrase in source_phrases()}
    unseen = [phrase for phrase in phrases if is_held_out(phrase, seed)][: (dev + test) // 2]
    seen = [phrase for phrase in phrases if not is_held_out(phrase, seed) and phrase.english not in sources]
    rng.shuffle(seen)
    trained = source_phrases() + seen[: train - len(sources)]
    rng.shuffle(trained)
    evaluated = unseen + seen[train - len(sources) :][: dev + test - len(unseen)]
    rng.shuffle(evaluated)
    long_phrases = draw_long(rng, long)
    return Splits(*map(pairs, (trained, evaluated[:dev], evaluated[dev:], long_phrases)))


def draw_distinct(rng: random.Random, seed: int, train: int, tests: int) -> list[Phrase]:
    """Draw enough phrases of the common length; every second draw is for a word that is still rare."""
    phrases = {phrase.english: phrase for phrase in source_phrases()}
    counts = Counter(dict.fromkeys(vocabulary(), 0))
    unseen, seen, draws, rare = 0, len(phrases), 0, sorted(counts)
    while unseen < tests // 2 or seen < train + tests - tests // 2:
        draws += 1
        if draws % 500 == 0:
            rare = sorted(word for word, count in counts.items() if count < RARE_BELOW)
        phrase = sample_with(draw(rare, rng), rng) if rare and draws % 2 else sample(rng)
        if phrase.english in phrases or count_words(phrase.english) > MAX_TRAIN_WORDS:
            continue
        phrases[phrase.english] = phrase
        if is_held_out(phrase, seed):
            unseen += 1
        else:
            seen += 1
            counts.update(phrase.words)
    return list(phrases.values())


def draw_long(rng: random.Random, count: int) -> list[Phrase]:
    """Draw phrases of two clauses that are longer than any in train."""
    patterns = [pattern for pattern in PATTERNS.values() if pattern.chapter == LONG_CHAPTER]
    phrases: dict[str, Phrase] = {}
    while len(phrases) < count:
        phrase = draw_phrase(draw(patterns, rng), rng)
        if count_words(phrase.english) >= MIN_LONG_WORDS:
            phrases[phrase.english] = phrase
    return list(phrases.values())


def pairs(phrases: list[Phrase]) -> list[tuple[str, str]]:
    return [(phrase.english, phrase.korean) for phrase in phrases]


def as_tsv(splits: Splits) -> str:
    """Return lines of split, English and Korean."""
    return "".join(
        f"{name.replace('_', '-')}\t{english}\t{korean}\n"
        for name, pairs in splits._asdict().items()
        for english, korean in pairs
    )
