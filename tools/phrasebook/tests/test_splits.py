"""Train, dev and test splits, and the file that tongsa ships."""

import gzip
import random
from collections import Counter

import pytest

import phrasebook
from phrasebook import PATTERNS, Phrase
from phrasebook.__main__ import SHIPPED, compress
from phrasebook.splits import (
    Splits,
    as_tsv,
    combination,
    count_words,
    draw_distinct,
    is_held_out,
    source_phrases,
    split_pairs,
)


@pytest.fixture(scope="module")
def splits() -> Splits:
    return split_pairs()


@pytest.fixture(scope="module")
def phrases() -> dict[str, Phrase]:
    """All sentences that train, dev and test are chosen from, with their pattern and words."""
    return {phrase.english: phrase for phrase in draw_distinct(random.Random(1), 1, 20000, 1500)}


def test_splits_have_the_sizes_asked_for(splits: Splits) -> None:
    assert [len(split) for split in splits] == [20000, 500, 1000, 500]
    assert [len(split) for split in split_pairs(2, train=300, dev=20, test=31, long=10)] == [300, 20, 31, 10]


def test_no_sentence_is_in_two_splits(splits: Splits) -> None:
    english = [pair[0] for split in splits for pair in split]
    assert len(set(english)) == len(english)


def test_half_of_the_test_are_combinations_not_in_train(splits: Splits, phrases: dict[str, Phrase]) -> None:
    trained = {combination(phrases[english]) for english, _ in splits.train}
    unseen = [english for english, _ in splits.test + splits.dev if is_held_out(phrases[english])]
    assert len(unseen) == 750
    assert all(combination(phrases[english]) not in trained for english in unseen)
    assert not any(is_held_out(phrases[english]) for english, _ in splits.train)


def test_every_word_and_every_pattern_is_in_train(splits: Splits, phrases: dict[str, Phrase]) -> None:
    trained = [phrases[english] for english, _ in splits.train]
    counts = Counter(word for phrase in trained for word in phrase.words)
    assert {phrase.pattern for phrase in trained} == set(PATTERNS)
    assert min(counts[word] for word in phrasebook.vocabulary()) >= 20


def test_the_sentences_of_the_sources_are_in_train_in_every_style(splits: Splits) -> None:
    sources = {(phrase.english, phrase.korean) for phrase in source_phrases()}
    assert len(sources) == 27
    assert sources <= set(splits.train)


def test_styles_have_similar_shares(splits: Splits) -> None:
    tags = Counter(english.split()[0] for english, _ in splits.train)
    assert 0.27 < tags["<polite>"] / 20000 < 0.33
    assert 0.27 < tags["<casual>"] / 20000 < 0.33


def test_the_long_test_is_longer_than_all_of_train(splits: Splits) -> None:
    max_words = max(len(english.split()) for english, _ in splits.train)
    assert all(count_words(english) > max_words for english, _ in splits.test_long)
    trained = {word for english, _ in splits.train for word in english.split()}
    assert {word for english, _ in splits.test_long for word in english.split()} <= trained


def test_most_sentences_are_short(splits: Splits) -> None:
    lengths = [count_words(english) for english, _ in splits.train]
    assert sum(3 <= length <= 12 for length in lengths) > 0.95 * len(lengths)


def test_the_seed_decides_the_splits() -> None:
    first, second, third = (split_pairs(seed, train=500, dev=50, test=50, long=50) for seed in (3, 3, 4))
    assert first == second != third


def test_regenerating_gives_the_shipped_bytes(splits: Splits) -> None:
    """The pairs, not their compression: zlib may pack the same text otherwise on another machine."""
    assert gzip.decompress(SHIPPED.read_bytes()) == as_tsv(splits).encode("utf-8"), "run `make demo-data`"


def test_the_shipped_file_has_no_time_in_it() -> None:
    assert SHIPPED.read_bytes()[3:8] == bytes(5)
    assert compress("a") == compress("a")
