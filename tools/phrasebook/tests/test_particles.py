"""Particles and syllables."""

import pytest

from phrasebook.hangul import compose, decompose, particle, with_particle, with_tail
from phrasebook.lexicon import persons


@pytest.mark.parametrize(
    ("word", "pair", "form"),
    [
        ("책", "을/를", "책을"),
        ("사과", "을/를", "사과를"),
        ("학생", "은/는", "학생은"),
        ("의사", "은/는", "의사는"),
        ("물", "이/가", "물이"),
        ("우유", "이/가", "우유가"),
        ("빵", "와/과", "빵과"),
        ("우유", "와/과", "우유와"),
        ("버스", "으로/로", "버스로"),
        ("지하철", "으로/로", "지하철로"),
        ("부산", "으로/로", "부산으로"),
        ("지민", "아/야", "지민아"),
        ("민수", "아/야", "민수야"),
        ("친구", "에게", "친구에게"),
        ("AI", "은/는", "AI는"),
    ],
)
def test_particles_follow_the_last_syllable(word: str, pair: str, form: str) -> None:
    assert with_particle(word, pair) == form


def test_pronouns_have_their_own_nominatives() -> None:
    assert [person.nominative for person in persons("me, you, we, who")] == ["내가", "네가", "우리가", "누가"]


def test_syllables_come_apart_and_together() -> None:
    for syllable in "가각힣뷁한글":
        assert compose(*decompose(syllable)) == syllable
    assert with_tail("가", "ㄹ") == "갈"
    assert particle("갈", "으로/로") == "로"


def test_a_latin_letter_is_no_syllable() -> None:
    with pytest.raises(ValueError, match="not a Hangul syllable"):
        decompose("a")
