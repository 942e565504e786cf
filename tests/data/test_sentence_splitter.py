"""Sentence splitting by rule, without loss of text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongsa.data.sentence_splitter import Span, split_in_half, split_sentences


def split(text: str, language: str = "") -> list[str]:
    return [text[slice(*span)] for span in split_sentences(text, language)]


ENGLISH = [
    ["Dr. Smith went home.", "He was tired."],
    ["It costs 3.14 dollars.", "Is that much?", "No!"],
    ["He waited... and left.", "Then...", "Nothing came."],
    ["“Go!” he said.", "“Go!”", "She went."],
    ["We met at 5 p.m. on Monday.", "It was 5 p.m.", "Then we left."],
    ["J. R. Smith and so do I.", "Then?!", "Yes."],
    ["See Fig. 3 and e.g. this.", "(It is there.)", "Good."],
    ["The U.S. army came.", "Version 1.2.3 is out.", "1. One thing"],
]
GERMAN = [
    ["Am 3. Oktober kam Hr. Meier.", "Er blieb."],
    ["Er kam z. B. gestern, d. h. spät.", "„Geh!“, sagte sie.", "Gut."],
    ["Das war 2020.", "Dann kam Dr. Weiß, bzw. seine Frau.", "Wirklich?", "Ja."],
    ["Äpfel, Birnen usw. gibt es.", "Über uns usw.", "Ähnlich ist es hier."],
]
KOREAN = [
    ["저는 집에 갔다.", "그는 3.5kg을 샀어요?", "네!", "좋죠."],
    ['"갔다."라고 말했다.', "그렇다."],
    ['"갔다." 하고 말했다.', "“정말요?”", "그가 물었다."],
    ["그... 뭐라고 할까요.", "그렇군요...", "알겠습니다."],
    ["2026. 10. 9. 한글날이다.", "쉽니다."],
    ["Mr. Kim이 왔다.", "Python 3.11을 쓴다."],
    ["김 박사(Dr. Kim)와 스미스(J. Smith)가 왔다.", "둘은 앉았다."],
]
CASES = [(language, case) for language, some in [("en", ENGLISH), ("de", GERMAN), ("ko", KOREAN)] for case in some]


@pytest.mark.parametrize(("language", "case"), CASES)
def test_splits_into_sentences(language: str, case: list[str]) -> None:
    assert split(" ".join(case), language) == case


def test_korean_sentences_without_a_space_are_split() -> None:
    assert split("그는 갔다.나는 남았다.", "ko") == ["그는 갔다.", "나는 남았다."]
    assert split("a.b 가.나", "ko") == ["a.b 가.나"]


@pytest.mark.parametrize("text", ["왜 그럴까?라는 생각이 들었다.", "갈까?하고 물었다.", "끝났다!는 소식이 왔다."])
def test_korean_is_not_split_after_an_unmarked_quotation(text: str) -> None:
    assert split(text, "ko") == [text]
    assert len(split(text.replace("?", "?그는 ").replace("!", "!그는 "), "ko")) == 2


def test_full_width_stops_need_no_space() -> None:
    assert split("これはペンです。「はい！」それは？") == ["これはペンです。", "「はい！」", "それは？"]


def test_a_line_break_always_ends_a_sentence() -> None:
    assert split("A title\n\n  and Dr.\r\nSmith\u2028here") == ["A title", "and Dr.", "Smith", "here"]


def test_no_text_has_no_sentences() -> None:
    assert split_sentences("") == split_sentences(" \n\t\u3000") == []


PARTS = st.sampled_from(
    [*"aB9.!?…。\"'”)( \n\t", "다.", "요? ", "...", " Dr. ", "3.14", "가", "\u3000", "\x85", "\x1c", "\0"]
)


@given(st.one_of(st.text(), st.lists(PARTS).map("".join)), st.sampled_from(["", "en", "de", "ko"]))
def test_sentences_and_white_space_together_are_the_text(text: str, language: str) -> None:
    end, parts = 0, []
    for start, stop in split_sentences(text, language):
        assert text[end:start] == "" or text[end:start].isspace()
        assert text[start:stop] == text[start:stop].strip() != ""
        parts += [text[end:start], text[start:stop]]
        end = stop
    assert "".join([*parts, text[end:]]) == text
    assert not text[end:].strip()


def test_a_megabyte_of_dots_takes_linear_time() -> None:
    assert len(split_sentences("." * 1_000_000 + "a")) == 1
    assert len(split_sentences('."' * 300_000)) == 1


@given(st.text(min_size=2).filter(lambda text: len(text.strip()) >= 2))
def test_two_halves_and_white_space_together_are_the_sentence(text: str) -> None:
    start = len(text) - len(text.lstrip())
    span = Span(start, len(text.rstrip()))
    first, second = split_in_half(text, span)
    assert span.start == first.start <= first.end <= second.start <= second.end == span.end
    assert not text[first.end : second.start].strip()
    assert max(first.end - first.start, second.end - second.start) < span.end - span.start


def test_a_long_sentence_is_split_after_a_comma_rather_than_at_a_space() -> None:
    text = "one two three, four five six seven"
    assert [text[slice(*half)] for half in split_in_half(text, Span(0, len(text)))] == [
        "one two three,",
        "four five six seven",
    ]
