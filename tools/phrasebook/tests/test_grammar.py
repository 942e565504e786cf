"""The grammar as a whole: a function from English to Korean, large, and the same for the same seed."""

import random
import re
import unicodedata
from collections import defaultdict

import pytest

import phrasebook
from phrasebook import PATTERNS, Phrase
from phrasebook.conjugation import Style
from phrasebook.grammar import sample_with
from phrasebook.slots import flatten

TAG = re.compile(r"^<(polite|casual)> ")


@pytest.fixture(scope="module")
def phrases() -> list[Phrase]:
    """Most drawn freely, some drawn for each word in turn."""
    rng, words = random.Random(7), sorted(phrasebook.vocabulary())
    free = [phrasebook.sample(rng) for _ in range(40_000)]
    return free + [sample_with(words[i % len(words)], rng) for i in range(15_000)]


def test_the_same_english_never_has_two_translations(phrases: list[Phrase]) -> None:
    translations = defaultdict(set)
    for phrase in phrases:
        translations[phrase.english].add(phrase.korean)
    assert {english: korean for english, korean in translations.items() if len(korean) > 1} == {}


def test_patterns_do_not_overlap(phrases: list[Phrase]) -> None:
    origin: dict[str, tuple[str, tuple[str, ...]]] = {}
    for phrase in phrases:
        assert origin.setdefault(phrase.english, (phrase.pattern, phrase.words)) == (phrase.pattern, phrase.words)


@pytest.mark.parametrize(
    ("pattern", "words", "english", "korean"),
    [
        ("present", "I go home", "I go home", "나는 집에 간다"),
        ("present", "I go home", "<polite> I go home", "저는 집에 가요"),
        ("present", "I go home", "<casual> I go home", "난 집에 가"),
        ("future with time", "I go home tomorrow", "I will go home tomorrow", "나는 내일 집에 갈 것이다"),
        ("past", "I go school", "I went to the school", "나는 학교에 갔다"),
        ("past", "I come home", "I came back home", "나는 집에 돌아왔다"),
        ("past", "I take rest", "I took a rest", "나는 쉬었다"),
        ("identity", "I ironman", "I am ironman", "나는 아이언맨이다"),
        ("kind quality", "AI awesome", "AI is awesome", "AI는 멋지다"),
        ("free time question", "you free tomorrow", "Are you free tomorrow?", "너는 내일 한가하니?"),
        ("free time question", "you free tomorrow", "<casual> Are you free tomorrow?", "넌 내일 한가해?"),
        ("speaker and pronoun", "I love you", "I love you", "나는 너를 사랑한다"),
        ("speaker and pronoun", "I love you", "<polite> I love you", "저는 당신을 사랑해요"),
        ("speaker and pronoun", "I love you", "<casual> I love you", "난 너를 사랑해"),
        ("question", "you buy umbrella", "<polite> Do you buy an umbrella?", "우산을 사요?"),
        ("request", "help my uncle", "Please help my uncle", "삼촌을 도와줘"),
        ("command", "eat apple", "<polite> Eat an apple", "사과를 드세요"),
        ("hobby", "read book hobby", "<casual> My hobby is reading books", "내 취미는 책을 읽는 거야"),
        ("possession", "hat", "<casual> This is my hat", "이건 내 모자야"),
        ("what past", "eat what you", "<casual> What did you eat?", "넌 뭘 먹었어?"),
        ("there is", "cat room", "There is a cat in the room", "방에 고양이가 있다"),
        ("comparison", "train fast bus", "The train is faster than the bus", "기차는 버스보다 더 빠르다"),
        ("landmark", "bank hospital next to", "<polite> The bank is next to the hospital", "은행은 병원 옆에 있어요"),
        ("greeting by name", "hello Minsu", "<polite> Hello, Minsu", "안녕하세요, 민수 씨"),
        ("having many", "four friend I", "I have four friends", "나는 친구가 네 명 있다"),
        ("ordering", "one cup coffee", "<polite> Please give me one cup of coffee", "커피 한 잔 주세요"),
        ("experience question", "you visit Korea", "Have you ever visited Korea?", "너는 한국을 방문해 본 적이 있니?"),
        ("because", "I rest tired", "I rest because I am tired", "나는 피곤해서 쉰다"),
        ("before", "we eat lunch before sleep", "We ate lunch before sleeping", "우리는 자기 전에 점심을 먹었다"),
    ],
)
def test_the_language_holds_these(pattern: str, words: str, english: str, korean: str) -> None:
    lemmas = frozenset((*words.split(), "next to", "uncle"))
    assert korean in [phrase.korean for phrase in PATTERNS[pattern].phrases_of(lemmas) if phrase.english == english]


def test_it_is_large() -> None:
    assert len(PATTERNS) >= 230
    names = {word for word in phrasebook.vocabulary() if word[0].isupper()}
    assert len(phrasebook.vocabulary() - names) >= 450
    assert phrasebook.size() > 1_000_000


def test_no_choice_is_lost_in_small_patterns() -> None:
    for pattern in PATTERNS.values():
        if pattern.size < 3000:
            english = [phrase.english for phrase in pattern.phrases()]
            assert len(set(english)) == len(english), pattern.name


def test_more_than_a_million_pairs_are_distinct() -> None:
    """Two clauses joined by "and": every first goes with every second, and the English shows which."""
    pattern = PATTERNS["and past"]
    firsts, seconds, times, subjects = map(list, pattern.slots)

    def halves(subject: object, first: object, second: object, time: object) -> tuple[str, str]:
        english = pattern.rule(Style.PLAIN, *flatten((first, second, time, subject)))[0]
        start, _, end = english.partition(" and ")
        return start, end

    left = {halves(who, first, seconds[0], times[0])[0]: (who, first) for who in subjects[:5] for first in firsts}
    right = {halves(subjects[0], firsts[0], second, time)[1]: (second, time) for second in seconds for time in times}
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
    korean = re.compile(r"(?:AI)?[가-힣]+(?:,? (?:AI)?[가-힣]+)*\??")
    english = re.compile(r"(?:<(?:polite|casual)> )?[A-Z][A-Za-zé']*(?:,? [A-Za-zé']+)*\??")
    for phrase in phrases:
        assert english.fullmatch(phrase.english), phrase
        assert korean.fullmatch(phrase.korean), phrase
        assert phrase.english.endswith("?") == phrase.korean.endswith("?"), phrase
        assert unicodedata.is_normalized("NFC", phrase.korean)


def test_style_shows_in_the_last_word(phrases: list[Phrase]) -> None:
    shared = ("greeting", "request", "suggestion", "suggestion together", "negative suggestion", "offer")
    for phrase in phrases:
        last = phrase.korean.rstrip("?")
        if "," not in phrase.korean and phrase.pattern != "greeting":
            assert phrase.english.startswith("<polite> ") == last.endswith("요"), phrase
        if phrase.pattern not in shared and "," not in phrase.korean and not phrase.english.startswith("<polite>"):
            if phrase.english.startswith("<casual> "):
                assert not last.endswith(("다", "니")), phrase
            else:
                assert last.endswith(("다", "니", "라")), phrase


def test_casual_style_contracts_pronouns(phrases: list[Phrase]) -> None:
    long_forms = {"나는", "너는", "우리는", "저는", "이것은", "무엇을", "것을", "당신을"}
    for phrase in phrases:
        if phrase.english.startswith("<casual> "):
            assert long_forms.isdisjoint(phrase.korean.split()), phrase
        elif phrase.english.startswith("<polite> "):
            assert {"나는", "난", "내", "내가", "너는", "넌", "너를"}.isdisjoint(phrase.korean.split()), phrase
        else:
            assert {"난", "넌", "저는", "제", "제가"}.isdisjoint(phrase.korean.split()), phrase


def test_verbs_agree_with_their_subjects(phrases: list[Phrase]) -> None:
    wrong = re.compile(
        r"\b(I|[Ww]e|[Tt]hey|[Yy]ou) (is|has|does|goes|eats)\b|^(He|She|Minsu|Mom) (are|have|do|go|eat)\b"
        r"|\ba [aeio]|\ban [^aeiou]|\b(a|an) (\w+ )?(shoes|pants|glasses)\b|\b(is|are|was) (is|are|was)\b|[{}|]"
    )
    for phrase in phrases:
        assert not wrong.search(TAG.sub("", phrase.english)), phrase


def test_words_are_in_the_vocabulary_and_all_occur(phrases: list[Phrase]) -> None:
    assert {word for phrase in phrases for word in phrase.words} == phrasebook.vocabulary()
    assert {phrase.pattern for phrase in phrases} == set(PATTERNS)


def test_a_slot_draws_what_it_holds() -> None:
    rng = random.Random(1)
    for pattern in list(PATTERNS.values())[::20]:
        for slot in pattern.slots:
            for word in sorted(slot.index)[:3]:
                assert any(word in part.words for part in slot.draw_with(word, rng))
            if len(slot) < 200:
                assert slot.draw(rng) in set(slot)
