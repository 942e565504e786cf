"""Train, dev and test parts: disjoint, half of the test on combinations never trained on, and a longer test.

Whether a model composes what it learnt or recites it shows only on combinations it has not met (Lake and Baroni
2018, "Generalization without systematicity"), and on sentences longer than any it has met.
"""

import random
import zlib
from pathlib import Path
from typing import NamedTuple

from tongsa.phrasebook.grammar import GRAMMAR, Phrase, sample

TRAIN_WORDS = 12
"""The longest English sentence of train, dev and test, the style mark not counted."""
LONG_WORDS = 14
"""The shortest of the long test: longer than any in train, counted with the style mark or without."""
HELD_OUT = 10
"""One combination in so many is kept out of train."""
SMALL = 100
"""A pattern with fewer sentences than this is too small to hold any out."""

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
    """Distinct pairs, the same for the same seed: of dev and test one half new combinations, one half new sentences."""
    rng = random.Random(seed)
    new_wanted, known_wanted = (dev + test) // 2, train + (dev + test + 1) // 2
    new: list[tuple[str, str]] = []
    known: list[tuple[str, str]] = []
    longer: list[tuple[str, str]] = []
    seen: set[str] = set()
    draws = 0
    while len(new) < new_wanted or len(known) < known_wanted or len(longer) < long:
        phrase = sample(rng)
        draws += 1
        assert draws < 40 * (known_wanted + long), "the grammar is too small for these sizes"
        if phrase.english in seen:
            continue
        seen.add(phrase.english)
        words = length(phrase)
        part = longer if words >= LONG_WORDS else new if held_out(phrase, seed) else known
        if words != TRAIN_WORDS + 1:
            part.append((phrase.english, phrase.korean))
    evaluated = new[:new_wanted] + known[train:known_wanted]
    rng.shuffle(evaluated)
    return Splits(known[:train], evaluated[:dev], evaluated[dev:], longer[:long])


def write(folder: Path, seed: int = 1) -> dict[str, Path]:
    """The parts as UTF-8 files of English<TAB>Korean, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, pairs in splits(seed)._asdict().items():
        path = folder / f"{name.replace('_', '-')}.tsv"
        path.write_text("".join(f"{english}\t{korean}\n" for english, korean in pairs), encoding="utf-8")
        paths[name] = path
    return paths
