"""`tongsa translate` and `tongsa.translate_document` keep the format of a document."""

from pathlib import Path

import pytest

import tongsa
from command_line import follow_remedy, run_command
from document_formats.samples import DOCX, make_archive, read_archive, word_document
from tongsa.cli import main

SRT = "1\n00:00:01,000 --> 00:00:02,000\n<i>a b\nc d</i>\n\n2\n00:00:03,000 --> 00:00:04,000\n1234\n"


def test_subtitles_are_translated_and_counted(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "film.srt").write_text(SRT, "utf-8")
    result = run_command("translate", trained, "film.srt", "-o", "film.ko.srt", cwd=tmp_path)
    assert result.code == 0, result.stderr
    assert (tmp_path / "film.ko.srt").read_text("utf-8") == SRT.replace("a b\nc d", "라 다\n나 가")
    assert result.error == "done: 1 segments translated, 1 kept in film.ko.srt"
    assert {path.name for path in tmp_path.iterdir()} == {"film.srt", "film.ko.srt"}


def test_marks_of_format_follow_the_attention_of_the_model(trained: Path, tmp_path: Path) -> None:
    """The model reverses the letters: an emphasized first letter becomes an emphasized last syllable."""
    (tmp_path / "a.md").write_text("# a **b** c\n\nsee `code`\n", "utf-8")
    report = tongsa.translate_document(trained, tmp_path / "a.md", tmp_path / "b.md", quiet=True)
    lines = (tmp_path / "b.md").read_text("utf-8").splitlines()
    assert lines[0] == "# 다 **나** 가"
    assert "`code`" in lines[2]
    assert (report.translated, report.kept) == (2, 0)


def test_columns_a_glossary_and_placeholders(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,text\nx1,a b\nx2,a {name} c\n", "utf-8")
    (tmp_path / "terms.tsv").write_text("b\t마\n", "utf-8")
    arguments = ["translate", trained, "t.csv", "-o", "out.csv", "--only-columns", "text", "--glossary", "terms.tsv"]
    result = run_command(*arguments, cwd=tmp_path)
    assert result.code == 0, result.stderr
    header, first, second = (tmp_path / "out.csv").read_text("utf-8").splitlines()
    assert (header, first) == ("id,text", "x1,마 가")
    assert second.startswith("x2,")
    assert second.count("{name}") == 1


def test_flagged_segments_are_named_on_standard_error(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a b\n\n" + "- x {one} y {two} z\n" * 12, "utf-8")
    result = run_command("translate", trained, "a.md", "-o", "b.md", cwd=tmp_path)
    assert result.code == 0, result.stderr
    text = (tmp_path / "b.md").read_text("utf-8")
    assert text.count("{one}") == text.count("{two}") == 12
    if "flagged" in result.error:
        assert "a.md: line 3: " in result.stderr


def test_a_document_can_go_to_standard_output(
    trained: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "film.vtt").write_bytes(b"WEBVTT\r\n\r\n00:01.000 --> 00:02.000\r\na b\r\n")
    assert main(["translate", str(trained), str(tmp_path / "film.vtt")]) == 0
    expected = "WEBVTT\r\n\r\n00:01.000 --> 00:02.000\r\n나 가\r\n".encode()
    assert capfdbinary.readouterr().out == expected


def test_office_documents_keep_all_other_entries(trained: Path, tmp_path: Path) -> None:
    body = "<w:p><w:r><w:t>a b</w:t></w:r></w:p>"
    content = make_archive({"word/document.xml": word_document(body), "word/media/x.png": b"\x89PNG"})
    (tmp_path / "a.docx").write_bytes(content)
    tongsa.translate_document(trained, tmp_path / "a.docx", tmp_path / "b.docx", quiet=True)
    entries = read_archive((tmp_path / "b.docx").read_bytes())
    assert entries == {
        "word/document.xml": word_document(body.replace("a b", "나 가")).encode(),
        "word/media/x.png": b"\x89PNG",
    }


def test_plain_text_and_format_text_are_translated_by_lines(trained: Path, tmp_path: Path) -> None:
    for name, file_format in (("a.txt", "auto"), ("a.md", "text")):
        (tmp_path / name).write_text("a b\n\nc d\n", "utf-8")
        output = tmp_path / f"out.{name}"
        tongsa.translate_file(trained, tmp_path / name, output, file_format=file_format, quiet=True)
        assert output.read_text("utf-8") == "나 가\n\n라 다\n"
    with pytest.raises(tongsa.InputError, match=r"a\.md: a document, .*Call translate_document"):
        tongsa.translate_file(trained, tmp_path / "a.md", tmp_path / "other.md")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.srt", ["--json"], "--json: not for a.srt"),
        ("a.srt", ["--restart"], "--restart: only for lines"),
        ("a.srt", ["--executor", "ray"], "--executor ray: only for lines"),
        ("a.srt", ["--only-columns", "1"], "columns are for CSV and TSV only"),
        ("a.txt", ["--only-columns", "1"], "--only-columns: only for CSV and TSV"),
        ("a.csv", ["--only-columns", "nothing"], "no column 'nothing'"),
    ],
)
def test_options_that_do_not_fit_are_refused_and_nothing_is_written(
    trained: Path, tmp_path: Path, name: str, options: list[str], message: str
) -> None:
    (tmp_path / name).write_text(SRT, "utf-8")
    arguments = ["translate", trained, name, "-o", "out", *options]
    result = run_command(*arguments, cwd=tmp_path)
    assert result.code == 2
    assert message in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    if result.error.startswith("tongsa: --"):
        assert run_command(*follow_remedy(arguments, result.error), cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.docx", b"no archive", "a.docx: a damaged or encrypted archive"),
        ("a.srt", b"\xb3\xaa\xb4\xc2 \xc1\xfd\xbf\xa1\n" * 20, "a.srt:1: not UTF-8"),
        ("missing.srt", None, "missing.srt: no such file"),
    ],
)
def test_a_broken_document_is_reported_before_the_model_is_loaded(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    result = run_command("translate", tmp_path / "no model", name, "-o", "out", cwd=tmp_path)
    assert result.code == 2
    assert message in result.error


def test_the_input_is_never_the_output(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(DOCX)
    result = run_command("translate", trained, "a.docx", "-o", "a.docx", cwd=tmp_path)
    assert (result.code, result.error) == (2, "tongsa: -o a.docx: this is the input. Give another name.")
    assert (tmp_path / "a.docx").read_bytes() == DOCX
