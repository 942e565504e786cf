"""The grammar as a whole: a function from English to Korean, large, and the same for the same seed."""

import random
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from itertools import product

import pytest

from tongsa import phrasebook
from tongsa.phrasebook import Phrase
from tongsa.phrasebook.grammar import GRAMMAR, realised, sample_with


@pytest.fixture(scope="module")
def phrases() -> list[Phrase]:
    """Most drawn freely, some drawn for each word in turn."""
    rng, words = random.Random(7), sorted(phrasebook.vocabulary())
    free = [phrasebook.sample(rng) for _ in range(190_000)]
    return free + [sample_with(words[index % len(words)], rng) for index in range(20_000)]


def every(pattern: str) -> Iterator[Phrase]:
    """Every phrase of one pattern."""
    (found,) = [one for one in GRAMMAR if one.name == pattern]
    return (realised(found, list(fillings)) for fillings in product(*found.slots))


def test_the_same_english_never_has_two_translations(phrases: list[Phrase]) -> None:
    korean = defaultdict(set)
    for phrase in phrases:
        korean[phrase.english].add(phrase.korean)
    assert {english: found for english, found in korean.items() if len(found) > 1} == {}


def test_patterns_do_not_overlap(phrases: list[Phrase]) -> None:
    origin: dict[str, tuple[str, tuple[str, ...]]] = {}
    for phrase in phrases:
        assert origin.setdefault(phrase.english, (phrase.pattern, phrase.words)) == (phrase.pattern, phrase.words)


@pytest.mark.parametrize(
    ("pattern", "english", "korean"),
    [
        ("present", "I go home", "나는 집에 간다"),
        ("present", "<polite> I go home", "저는 집에 가요"),
        ("self and pronoun", "I love you", "나는 너를 사랑한다"),
        ("question", "<polite> Do you buy an umbrella?", "우산을 사요?"),
        ("there is", "There is a cat in the room", "방에 고양이가 있다"),
        ("comparison", "The train is faster than the bus", "기차는 버스보다 더 빠르다"),
        ("landmark", "<polite> The bank is next to the hospital", "은행은 병원 옆에 있어요"),
        ("greeting by name", "<polite> Hello, Minsu", "안녕하세요, 민수 씨"),
        ("having many", "I have four friends", "나는 친구가 네 명 있다"),
        ("ordering", "<polite> Please give me one cup of coffee", "커피 한 잔 주세요"),
    ],
)
def test_the_language_holds_these(pattern: str, english: str, korean: str) -> None:
    assert korean in [phrase.korean for phrase in every(pattern) if phrase.english == english]


def test_it_is_large() -> None:
    assert len(set(phrasebook.PATTERNS)) == len(phrasebook.PATTERNS) >= 80
    names = {word for word in phrasebook.vocabulary() if word[0].isupper()}
    assert len(phrasebook.vocabulary() - names) >= 450
    assert phrasebook.size() > 1_000_000


def test_no_choice_is_lost_in_small_patterns() -> None:
    for pattern in GRAMMAR:
        if pattern.size < 3000:
            pairs = {pattern.say(*fillings) for fillings in product(*pattern.slots)}
            assert len(pairs) == pattern.size, pattern.name


def test_more_than_a_million_pairs_are_distinct() -> None:
    """Two clauses joined by "and": every first goes with every second, and the English shows which."""
    (pattern,) = [one for one in GRAMMAR if one.name == "and past"]
    firsts, seconds, times, subjects = map(list, pattern.slots)

    def halves(subject: object, one: object, two: object, time: object) -> tuple[str, str]:
        first, _, second = pattern.say(one, two, time, subject)[0].partition(" and ")
        return first, second

    subject, one, two, time = subjects[0], firsts[0], seconds[0], times[0]
    left = {halves(who, other, two, time)[0]: (who, other) for who in subjects[:5] for other in firsts}
    right = {halves(subject, one, other, when)[1]: (other, when) for other in seconds for when in times}
    assert not any(" and " in half for half in (*left, *right))
    assert len(left) * len(right) > 1_000_000
    rng = random.Random(1)
    for _ in range(2000):
        first, second = rng.choice(list(left)), rng.choice(list(right))
        assert halves(*left[first], *right[second]) == (first, second)


def test_the_seed_decides() -> None:
    first, second, third = ([phrasebook.sample(random.Random(seed)) for _ in range(5)] for seed in (1, 1, 2))
    assert first == second != third


def test_text_is_clean(phrases: list[Phrase]) -> None:
    korean = re.compile(r"[가-힣]+(?:,? [가-힣]+)*\??")
    english = re.compile(r"(?:<polite> )?[A-Z][a-zé']*(?:,? [A-Za-zé']+)*\??")
    for phrase in phrases:
        assert english.fullmatch(phrase.english), phrase
        assert korean.fullmatch(phrase.korean), phrase
        assert phrase.english.endswith("?") == phrase.korean.endswith("?"), phrase
        assert unicodedata.is_normalized("NFC", phrase.korean)


def test_style_shows_in_the_last_word(phrases: list[Phrase]) -> None:
    for phrase in phrases:
        if "," not in phrase.korean and phrase.pattern != "greeting":
            assert phrase.english.startswith("<polite> ") == phrase.korean.rstrip("?").endswith("요"), phrase


def test_verbs_agree_with_their_subjects(phrases: list[Phrase]) -> None:
    wrong = re.compile(
        r"\b(I|[Ww]e|[Tt]hey|[Yy]ou) (is|has|does|goes|eats)\b|^(He|She|Minsu|Mom) (are|have|do|go|eat)\b"
        r"|\ba [aeio]|\ban [^aeiou]|\b(a|an) (\w+ )?(shoes|pants|glasses)\b|\b(is|are|was) (is|are|was)\b"
    )
    for phrase in phrases:
        assert not wrong.search(phrase.english.removeprefix("<polite> ")), phrase


def test_words_are_in_the_vocabulary_and_all_occur(phrases: list[Phrase]) -> None:
    met = {word for phrase in phrases for word in phrase.words}
    assert met == phrasebook.vocabulary()
    assert {phrase.pattern for phrase in phrases} == set(phrasebook.PATTERNS)
