"""Train, dev and test parts of the phrasebook."""

import random
from collections import Counter
from pathlib import Path

import pytest

from tongsa import phrasebook
from tongsa.phrasebook import Phrase, Splits, combination, held_out
from tongsa.phrasebook.partition import distinct


@pytest.fixture(scope="module")
def parts() -> Splits:
    return phrasebook.splits()


@pytest.fixture(scope="module")
def known() -> dict[str, Phrase]:
    """Every sentence that train, dev and test are chosen from, with its pattern and words."""
    return {phrase.english: phrase for phrase in distinct(random.Random(1), 1, 20000, 1500)}


def words(sentence: str) -> int:
    return len(sentence.removeprefix("<polite> ").split())


def test_parts_have_the_sizes_asked_for(parts: Splits) -> None:
    assert [len(part) for part in parts] == [20000, 500, 1000, 500]
    assert [len(part) for part in phrasebook.splits(2, train=300, dev=20, test=31, long=10)] == [300, 20, 31, 10]


def test_no_sentence_is_in_two_parts(parts: Splits) -> None:
    english = [pair[0] for part in parts for pair in part]
    assert len(set(english)) == len(english)


def test_half_of_the_test_are_combinations_never_trained_on(parts: Splits, known: dict[str, Phrase]) -> None:
    trained = {combination(known[english]) for english, _ in parts.train}
    new = [english for english, _ in parts.test + parts.dev if held_out(known[english])]
    assert len(new) == 750
    assert all(combination(known[english]) not in trained for english in new)
    assert not any(held_out(known[english]) for english, _ in parts.train)


def test_every_word_and_every_pattern_is_trained_on(parts: Splits, known: dict[str, Phrase]) -> None:
    seen = [known[english] for english, _ in parts.train]
    counts = Counter(word for phrase in seen for word in phrase.words)
    assert {phrase.pattern for phrase in seen} == set(phrasebook.PATTERNS)
    assert min(counts[word] for word in phrasebook.vocabulary()) >= 20


def test_the_long_test_is_longer_than_all_of_train(parts: Splits) -> None:
    longest = max(len(english.split()) for english, _ in parts.train)
    assert all(words(english) > longest for english, _ in parts.test_long)
    trained = {word for english, _ in parts.train for word in english.split()}
    assert {word for english, _ in parts.test_long for word in english.split()} <= trained


def test_most_sentences_are_short(parts: Splits) -> None:
    lengths = [words(english) for english, _ in parts.train]
    assert sum(3 <= length <= 12 for length in lengths) > 0.95 * len(lengths)


def test_the_seed_decides_the_parts() -> None:
    first, second, third = (phrasebook.splits(seed, train=500, dev=50, test=50, long=50) for seed in (3, 3, 4))
    assert first == second != third


def test_parts_are_written_as_pairs(parts: Splits, tmp_path: Path) -> None:
    paths = phrasebook.write(tmp_path)
    assert {path.name for path in paths.values()} == {"train.tsv", "dev.tsv", "test.tsv", "test-long.tsv"}
    lines = paths["test"].read_text(encoding="utf-8").splitlines()
    assert [tuple(line.split("\t")) for line in lines] == parts.test
