"""Hostile and broken files get a message with the remedy, soon and without much memory."""

import io
import struct
import zipfile

import pytest

from document_formats.samples import DOCX, make_archive, translate, word_document
from tongsa.document_formats import archive, formats, limits
from tongsa.document_formats.formats import parse_document
from tongsa.document_formats.limits import DocumentFormatError

LAUGHS = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
BILLION_LAUGHS = f'<!DOCTYPE x [<!ENTITY a0 "ha">{LAUGHS}]><xliff>&a9;</xliff>'
EXTERNAL = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><xliff>&e;</xliff>'
DEEP = "<a>" * 300 + "</a>" * 300


def assert_refused(content: bytes, name: str, message: str) -> None:
    with pytest.raises(DocumentFormatError, match=message) as error:
        parse_document(content, name)
    where, _, what = str(error.value).partition(": ")
    assert where.startswith(name)
    assert ". " in what


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (BILLION_LAUGHS, "document type"),
        (EXTERNAL, "document type"),
        (DEEP, "256 nested"),
        ("<xliff>", "not well-formed"),
    ],
)
def test_dangerous_xml_is_refused_in_all_formats_with_xml(xml: str, message: str) -> None:
    assert_refused(xml.encode(), "a.xlf", message)
    assert_refused(make_archive({"word/document.xml": xml}), "a.docx", message)
    assert_refused(make_archive({"content.xml": xml}), "a.odt", message)


def test_a_zip_bomb_is_refused_before_it_is_unpacked() -> None:
    assert_refused(make_archive({"word/document.xml": b" " * 3_000_000}), "a.docx", "compressed more than 200 times")


def test_too_large_archives_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert_refused(make_archive({str(i): "" for i in range(limits.MAX_ENTRIES + 1)}), "a.docx", "5,001 entries")
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 100)
    assert_refused(DOCX, "a.docx", r"bytes unpacked, but at most 100\. Divide")


def test_an_entry_that_is_larger_than_it_says_is_refused() -> None:
    content = make_archive({"word/document.xml": "x" * 1000})
    forged = content.replace(struct.pack("<L", 1000), struct.pack("<L", 10))
    assert forged != content
    assert_refused(forged, "a.docx", "damaged|another size")


def test_damaged_encrypted_and_wrong_archives_are_refused() -> None:
    assert_refused(DOCX[:200], "a.docx", "damaged or encrypted")
    assert_refused(make_archive({"content.xml": "<a/>"}), "a.docx", "no word/document.xml")
    assert_refused(b"plain text", "a.odt", "damaged or encrypted")
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_BZIP2) as file:
        file.writestr("word/document.xml", word_document(""))
    assert_refused(output.getvalue(), "a.docx", "unknown compression")
    encrypted = bytearray(DOCX)
    for header, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        position = encrypted.find(header)
        while position >= 0:
            encrypted[position + offset] |= 1
            position = encrypted.find(header, position + 1)
    assert_refused(bytes(encrypted), "a.docx", "without a password")


def test_other_encodings_and_binary_files_are_refused() -> None:
    korean = "나는 오늘 아침에 학교에 갔습니다.\n".encode("cp949") * 20
    for name in ("a.txt", "a.srt", "a.md", "a.csv", "a.po", "a.html"):
        assert_refused(korean, name, rf"{name}:1: not UTF-8 .*iconv -f CP949 -t UTF-8")
        assert_refused(b"a\0b", name, "not a text file")


def test_large_and_unknown_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert_refused(b"x", "a.pdf", r"unknown format\. Give a file of one of these: \.txt \.srt")
    small = formats.EXTENSIONS[".txt"]._replace(max_bytes=10)
    monkeypatch.setitem(formats.EXTENSIONS, ".txt", small)
    assert_refused(b"x" * 11, "a.txt", r"11 bytes, but at most 10\. Divide")


def test_wrong_columns_are_refused() -> None:
    for columns in (("4",), ("0",), ("txt",)):
        with pytest.raises(
            DocumentFormatError, match=r"no column .*1 to 3, or a name of the first row: id, text, note\."
        ):
            parse_document(b"id,text,note\n1,a,b\n", "a.csv", columns)
    with pytest.raises(DocumentFormatError, match="CSV and TSV only"):
        parse_document(b"a", "a.txt", ("1",))


@pytest.mark.parametrize(
    ("name", "fragment"),
    [
        ("a.txt", "{"),
        ("a.txt", "<a "),
        ("a.txt", "https://"),
        ("a.md", "["),
        ("a.md", "*a "),
        ("a.md", "`a``b```c"),
        ("a.md", "<!--"),
        ("a.md", "[^a"),
        ("a.md", "](("),
        ("a.html", "<b>"),
        ("a.html", "<b>a</b> "),
        ("a.html", '<a title="'),
        ("a.html", "<!--"),
        ("a.csv", '"'),
        ("a.csv", '"a,'),
        ("a.srt", "<i>"),
        ("a.po", 'msgid "'),
        ("a.po", 'msgid "a"\nmsgstr ""\n'),
    ],
)
def test_repeated_syntax_takes_linear_time(name: str, fragment: str) -> None:
    """Quadratic time would reach the time limit of the tests."""
    prefix = "00:00:01,000 --> 00:00:02,000\n" if name == "a.srt" else ""
    content = (prefix + fragment * 20_000 + " end").encode()
    translate(content, name)
