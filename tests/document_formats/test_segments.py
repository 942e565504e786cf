"""Placeholders and marks of format in a translation, and the report of what became of each segment."""

import pytest

from document_formats.samples import keep, reverse, translate, translate_text, upper
from tongsa.document_formats.placeholders import split_placeholders
from tongsa.document_formats.segment import Mark
from tongsa.document_formats.translation import SourceText, TextTranslation

LETTERS_ONLY = str.maketrans("", "", "{}%<>()[]*`0123456789")


def without_placeholders(source: SourceText) -> TextTranslation:
    """Translate like a model that has never seen a placeholder, and has no attention."""
    return TextTranslation(source.text.upper().translate(LETTERS_ONLY))


@pytest.mark.parametrize(
    "placeholder",
    [
        "{name}",
        "{{user.name}}",
        "{0:.2f}",
        "${total}",
        "%s",
        "%(count)d",
        "%1$s",
        "%.2f",
        "%{name}",
        "{}",
        "%%",
        "https://a.example/x?y=1&z=2",
        "a.b@c.example",
        "&copy;",
        "{n,plural,one{#}other{#}}",
    ],
)
def test_a_placeholder_is_recognized_and_survives_any_model(placeholder: str) -> None:
    parts = [part for part in split_placeholders(f"see {placeholder} now") if part]
    assert parts == ["see ", Mark(placeholder, "placeholder"), " now"]
    for function in (upper, without_placeholders):
        translated = translate(f"see {placeholder} now\n".encode(), "a.txt", function)
        assert translated.content.decode() == f"SEE {placeholder} NOW\n"
        flags = [segment.flags for segment in translated.report.flagged]
        assert flags == ([] if function is upper else [("placeholders",)])


@pytest.mark.parametrize(
    "text", ["100% sure", "50 % de", "5 %", "a {long note, like this", "1 < 2 > 0", "a & b", "me@home"]
)
def test_ordinary_text_is_no_placeholder(text: str) -> None:
    assert [part for part in split_placeholders(text) if part] == [text]


def test_marks_of_format_follow_their_words() -> None:
    assert translate_text("one **two three** four", "a.md", reverse) == "four **three two** one"
    assert translate_text("**one *two*** three", "a.md", reverse) != ""
    assert translate_text("go <b>home</b>.", "a.html", reverse) == "<b>home</b>. go"
    assert translate_text("one *two*, three", "a.md", reverse) == "three *two*, one"


def test_marks_around_the_text_need_no_alignment() -> None:
    translated = translate(b"<i><b>one two</b></i>\n", "a.txt", without_placeholders)
    assert translated.content == b"<i><b>ONE TWO</b></i>\n"
    assert not translated.report.flagged


def test_without_an_alignment_the_parts_between_marks_are_translated() -> None:
    translated = translate(b"one <b>two</b>, three", "a.html", without_placeholders)
    assert translated.content == b"ONE <b>TWO</b>, THREE"
    assert [segment.flags for segment in translated.report.flagged] == [("parts",)]


def test_marks_on_words_without_alignment_go_to_the_nearest_word() -> None:
    def drop_first_word(source: SourceText) -> TextTranslation:
        translation = reverse(source)
        return translation._replace(links=translation.links[:-1])

    translated = translate(b"<b>one</b> two three", "a.html", drop_first_word)
    assert translated.content == b"three <b>two</b> one"
    assert [segment.flags for segment in translated.report.flagged] == [("format",)]


def test_the_report_names_unchanged_and_empty_outputs_and_counts_everything() -> None:
    def translate_some(source: SourceText) -> TextTranslation:
        return {"same": keep(source), "nothing": TextTranslation("")}.get(source.text, upper(source))

    translated = translate(b"word\n12\nsame\nnothing\n\n...\n", "a.txt", translate_some)
    assert translated.content == b"WORD\n12\nsame\nnothing\n\n...\n"
    report = translated.report
    assert (report.segments, report.translated, report.kept) == (5, 3, 2)
    assert [tuple(segment) for segment in report.flagged] == [
        ("line 3", "same", ("unchanged",)),
        ("line 4", "nothing", ("empty",)),
    ]
