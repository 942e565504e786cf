"""Text normalization: one spelling per text."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tongsa.data.normalize import from_jamo, normalize, to_jamo

anything = st.text(st.characters(codec=None))  # lone surrogates too


@pytest.mark.parametrize(
    ("text", "expected"),
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
def test_normalize_examples(text: str, expected: str) -> None:
    assert normalize(text) == expected


@given(anything)
@example("e \u0301")
@example("\u2581\u0301")
def test_normalize_is_idempotent(text: str) -> None:
    normalized = normalize(text)
    assert normalize(normalized) == normalized
    assert unicodedata.is_normalized("NFC", normalized)
    normalized.encode()


@given(anything)
def test_only_single_spaces_and_no_control_characters_remain(text: str) -> None:
    normalized = normalize(text)
    assert normalized == " ".join(normalized.split())
    assert not any(unicodedata.category(character) == "Cc" for character in normalized)


hangul = st.text(st.sampled_from("한글갔다가한ㅏ각 a\u0301") | st.characters())


@given(hangul)
def test_from_jamo_inverts_to_jamo(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert from_jamo(to_jamo(composed)) == composed


def test_only_hangul_syllables_are_decomposed() -> None:
    assert to_jamo("é 갔다") == "é \u1100\u1161\u11bb\u1103\u1161"
