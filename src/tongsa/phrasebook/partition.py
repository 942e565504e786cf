"""Train, dev and test parts: disjoint, half of the test on combinations never trained on, and a longer test.

Whether a model composes what it learnt or recites it shows only on combinations it has not met (Lake and Baroni
2018, "Generalization without systematicity"), and on sentences longer than any it has met.
"""

import random
import zlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tongsa.phrasebook.causes import CAUSATIONS
from tongsa.phrasebook.grammar import GRAMMAR, Phrase, phrase, sample, sample_with, vocabulary
from tongsa.phrasebook.joins import JOINS
from tongsa.phrasebook.relatives import RELATIVES
from tongsa.phrasebook.slots import drawn

TRAIN_WORDS = 12
"""The longest English sentence of train, dev and test, the style mark not counted."""
LONG_WORDS = 14
"""The shortest of the long test: longer than any in train, counted with the style mark or without."""
HELD_OUT = 10
"""One combination in so many is kept out of train."""
SMALL = 100
"""A pattern with fewer sentences than this is too small to hold any out."""

ENOUGH = 40
"""A word met so often needs no help to be met again."""

COMPLEX = (*JOINS, *CAUSATIONS, *RELATIVES)
SIZES = {pattern.name: pattern.size for pattern in GRAMMAR}


class Splits(NamedTuple):
    train: list[tuple[str, str]]
    dev: list[tuple[str, str]]
    test: list[tuple[str, str]]
    test_long: list[tuple[str, str]]


def combination(phrase: Phrase) -> tuple[str, ...]:
    """The pattern with its two most telling words: past, eat, apple."""
    return (phrase.pattern, *phrase.words[:2])


def held_out(phrase: Phrase, seed: int = 1) -> bool:
    """Whether this combination is kept for dev and test; a hash decides, the same on every machine."""
    key = "|".join((str(seed), *combination(phrase)))
    return SIZES[phrase.pattern] >= SMALL and zlib.crc32(key.encode()) % HELD_OUT == 0


def length(phrase: Phrase) -> int:
    return len(phrase.english.removeprefix("<polite> ").split())


def splits(seed: int = 1, train: int = 20000, dev: int = 500, test: int = 1000, long: int = 500) -> Splits:
    """Distinct pairs, the same for the same seed; of dev and test one half are new combinations."""
    rng = random.Random(seed)
    phrases = distinct(rng, seed, train, dev + test)
    new = [phrase for phrase in phrases if held_out(phrase, seed)][: (dev + test) // 2]
    known = [phrase for phrase in phrases if not held_out(phrase, seed)]
    rng.shuffle(known)
    evaluated = new + known[train : train + dev + test - len(new)]
    rng.shuffle(evaluated)
    return Splits(pairs(known[:train]), pairs(evaluated[:dev]), pairs(evaluated[dev:]), pairs(longer(rng, long)))


def distinct(rng: random.Random, seed: int, train: int, tests: int) -> list[Phrase]:
    """Enough phrases of the common length; every second draw goes to a word that is still rare."""
    found: dict[str, Phrase] = {}
    counts = Counter(dict.fromkeys(vocabulary(), 0))
    new, known, draws, rare = 0, 0, 0, sorted(counts)
    while new < tests // 2 or known < train + tests - tests // 2:
        draws += 1
        if draws % 500 == 0:
            rare = sorted(word for word, count in counts.items() if count < ENOUGH)
        phrase = sample_with(drawn(rare, rng), rng) if rare and draws % 2 else sample(rng)
        if phrase.english in found or length(phrase) > TRAIN_WORDS:
            continue
        found[phrase.english] = phrase
        if held_out(phrase, seed):
            new += 1
        else:
            known += 1
            counts.update(phrase.words)
    return list(found.values())


def longer(rng: random.Random, wanted: int) -> list[Phrase]:
    """Phrases of two clauses, longer than any that is trained on."""
    found: dict[str, Phrase] = {}
    while len(found) < wanted:
        candidate = phrase(drawn(COMPLEX, rng), rng)
        if length(candidate) >= LONG_WORDS:
            found[candidate.english] = candidate
    return list(found.values())


def pairs(phrases: list[Phrase]) -> list[tuple[str, str]]:
    return [(phrase.english, phrase.korean) for phrase in phrases]


def write(folder: Path, seed: int = 1) -> dict[str, Path]:
    """The parts as UTF-8 files of English<TAB>Korean, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, pairs in splits(seed)._asdict().items():
        path = folder / f"{name.replace('_', '-')}.tsv"
        path.write_text("".join(f"{english}\t{korean}\n" for english, korean in pairs), encoding="utf-8")
        paths[name] = path
    return paths
