import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tongsa.data.normalize import from_jamo, normalize, to_jamo

anything = st.text(st.characters(codec=None))  # lone surrogates too


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("  a \t b\u00a0\u3000c\n", "a b c"),
        ("a\u2028b\x0bc\x0cd\x85e", "a b c d e"),
        ("\ufeffa\x00b\x7fc\x9f", "abc"),
        ("a \x00 b", "a b"),
        ("e\u0301", "é"),
        ("e\x00\u0301", "é"),
        ("▁a▁", "_a_"),
        ("\ud800", "\ufffd"),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", "한글"),
        ("👩\u200d🚀 q\u0323\u0307", "👩\u200d🚀 q\u0323\u0307"),
        (" \u3000 ", ""),
    ],
)
def test_text_gets_one_spelling(text: str, wanted: str) -> None:
    assert normalize(text) == wanted


@given(anything)
@example("e \u0301")
@example("\u2581\u0301")
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once
    assert unicodedata.is_normalized("NFC", once)
    once.encode()


@given(anything)
def test_only_single_spaces_and_no_controls_are_left(text: str) -> None:
    once = normalize(text)
    assert once == " ".join(once.split())
    assert not any(unicodedata.category(character) == "Cc" for character in once)


hangul = st.text(st.sampled_from("한글갔다가한ㅏ각 a\u0301") | st.characters())


@given(hangul)
def test_jamo_are_put_together_again(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert from_jamo(to_jamo(composed)) == composed


def test_only_syllables_are_taken_apart() -> None:
    assert to_jamo("é 갔다") == "é \u1100\u1161\u11bb\u1103\u1161"
