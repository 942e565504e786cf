"""Laws of all formats: an unchanged translation gives the same bytes, and any translation changes nothing but text."""

from collections.abc import Sequence
from pathlib import PurePath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from document_formats.samples import SAMPLES, keep, read_archive, reverse, translate, upper
from tongsa.document_formats.formats import EXTENSIONS, FORMATS, parse_document
from tongsa.document_formats.limits import DocumentFormatError
from tongsa.document_formats.segment import Mark, ParsedDocument, Segment
from tongsa.document_formats.translation import SourceText, TextTranslation

ARCHIVES, BILINGUAL = ("a.docx", "a.odt"), ("a.po", "a.xlf")
COMMON = "word¦two words¦가나다¦ ¦\n¦\r\n¦\n\n¦{name}¦%s¦{{x}}¦<b>¦</b>¦&amp;¦1¦."
"""Fragments of text, separated by ¦."""
FRAGMENTS = {
    "a.txt": "\t¦%(x)d¦https://a.example/b¦\x0b¦\u2028",
    "a.srt": "1\n¦\n\n00:00:01,000 --> 00:00:02,000\n¦<i>¦</i>¦- ¦{\\an8}",
    "a.vtt": "WEBVTT\n\n¦\n\n00:01.000 --> 00:02.000 line:0\n¦<v A>¦</v>¦<00:01.5>¦NOTE ¦-",
    "a.md": "**¦*¦_¦`¦``¦[¦](u)¦![¦]¦# ¦- ¦  \n¦\\¦> ¦|¦|-|\n¦```\n¦$$\n¦    ¦---\n¦"
    "<div>¦<!--¦-->¦[a]: b\n¦[^1]¦===\n¦~~¦$¦1. ¦<br>¦[a]",
    "a.csv": ',¦"¦""¦;¦,\n¦","',
    "a.tsv": '\t¦"¦""¦\t\n',
    "a.po": 'msgid "¦"\n¦msgstr ""\n¦msgstr "¦\\n"\n"¦# ¦msgid_plural "¦msgstr[0] ""\n¦\\',
    "a.html": '<p>¦</p>¦<br>¦<img alt="x¦">¦<pre>¦</pre>¦<code>¦</code>¦<!--¦-->¦<¦'
    ">¦<i title='t¦'>¦<script>¦ translate=\"no\">¦&",
}


def documents(name: str) -> st.SearchStrategy[bytes]:
    """Return texts made of the syntax of a format: mostly documents that nobody would write."""
    return st.lists(st.sampled_from(f"{COMMON}¦{FRAGMENTS[name]}".split("¦")), max_size=30).map(
        lambda parts: "".join(parts).encode()
    )


def fixed_parts(document: ParsedDocument) -> list[str]:
    return ["".join(part for part in text.parts if isinstance(part, str)) for text in document.texts]


def marks_of(document: ParsedDocument) -> list[list[str]]:
    """Return the marks of each segment in any order, without their letters' case."""
    return [
        sorted(part.raw.upper() for part in slot.segment.parts if isinstance(part, Mark)) for slot in document.slots
    ]


def test_every_format_has_a_sample() -> None:
    assert {EXTENSIONS[PurePath(name).suffix] for name in SAMPLES} == set(FORMATS)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_unchanged_without_a_translation(name: str) -> None:
    content, document = SAMPLES[name], parse_document(SAMPLES[name], name)
    written = document.write([None] * len(document.slots))
    if name in ARCHIVES:
        assert list(read_archive(written).items()) == list(read_archive(content).items())
    else:
        assert written == content
    if name not in BILINGUAL:
        unchanged = translate(content, name, keep)
        assert unchanged.content == written
        assert len(unchanged.report.flagged) == unchanged.report.translated


@pytest.mark.parametrize("name", SAMPLES)
def test_a_translation_changes_texts_and_nothing_else(name: str) -> None:
    before = parse_document(SAMPLES[name], name)
    for function in (upper, reverse):
        translated = translate(SAMPLES[name], name, function)
        if name not in BILINGUAL:
            after = parse_document(translated.content, name)
            assert fixed_parts(after) == fixed_parts(before)
            assert marks_of(after) == marks_of(before)
        assert translated.report.segments == len(before.slots)
        assert translated.report.translated + translated.report.kept == translated.report.segments


@pytest.mark.parametrize("name", FRAGMENTS)
def test_any_document_is_read_and_written_back(name: str) -> None:
    @given(content=documents(name))
    @settings(max_examples=120, deadline=None)
    def check(content: bytes) -> None:
        document = parse_document(content, name)
        assert document.write([None] * len(document.slots)) == content
        if name not in BILINGUAL:
            assert translate(content, name, keep).content == content
        translated = translate(content, name, reverse)
        remaining = translated.content.decode()
        for part in document.texts[0].parts:  # the fixed text is there, in order
            if isinstance(part, str) and part:
                assert part in remaining
                remaining = remaining.partition(part)[2]

    check()


OUTPUTS = '¦x¦<b>¦{name}¦"¦|¦`¦*¦\n¦,¦&¦\x00¦ ¦-->¦%s¦#'


@pytest.mark.parametrize("name", SAMPLES)
def test_no_output_of_a_model_can_damage_the_document(name: str) -> None:
    """The model may write anything: markup, quotes, control characters, nothing."""

    @given(texts=st.lists(st.sampled_from(OUTPUTS.split("¦"))))
    @settings(max_examples=40, deadline=None)
    def check(texts: Sequence[str]) -> None:
        output = "".join(texts)
        translated = translate(SAMPLES[name], name, lambda _: TextTranslation(output))
        before, after = parse_document(SAMPLES[name], name), parse_document(translated.content, name)
        if name in (*ARCHIVES, "a.po", "a.csv", "a.tsv", "a.html", "a.vtt"):
            assert len(after.slots) <= len(before.slots)
            assert [text.name for text in after.texts] == [text.name for text in before.texts]
        if not output.strip():
            assert all("empty" in segment.flags for segment in translated.report.flagged)

    check()


@pytest.mark.parametrize("name", ["a.xlf", "a.docx", "a.odt"])
@given(content=st.binary(max_size=40))
@settings(max_examples=30)
def test_other_bytes_are_refused_with_a_message(name: str, content: bytes) -> None:
    with pytest.raises(DocumentFormatError, match=rf"{name}:.*\. [A-Z].*\."):
        parse_document(content, name)


def test_a_text_without_letters_is_never_translated() -> None:
    sent = list[SourceText]()

    def record(source: SourceText) -> TextTranslation:
        sent.append(source)
        return upper(source)

    for name, content in SAMPLES.items():
        translate(content, name, record)
    assert sent
    for source in sent:
        text = source.text
        for placeholder in source.placeholders:
            text = text.replace(placeholder, "")
        assert any(map(str.isalpha, text)), source
        assert "\n" not in source.text
        assert source.text == source.text.strip()


def test_equal_texts_are_translated_once() -> None:
    sent = list[str]()

    def record(source: SourceText) -> TextTranslation:
        sent.append(source.text)
        return upper(source)

    assert translate(b"a b\na b\na b\n", "a.txt", record).content == b"A B\nA B\nA B\n"
    assert sent == ["a b"]


def test_a_segment_is_kept_if_none_is_given() -> None:
    document = parse_document(b"a\nb\n", "a.txt")
    assert document.write([Segment(("x",)), None]) == b"x\nb\n"
