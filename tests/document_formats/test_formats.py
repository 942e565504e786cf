"""Each format on a small document: the text that is translated, and the text that is kept."""

from document_formats.samples import (
    CSV,
    DOCX,
    DOCX_BODY,
    HTML,
    MARKDOWN,
    ODT,
    ODT_CONTENT,
    PO,
    SAMPLES,
    SRT,
    TSV,
    VTT,
    XLIFF,
    make_archive,
    read_archive,
    reverse,
    translate,
    translate_text,
    word_document,
)
from tongsa.document_formats.formats import parse_document
from tongsa.document_formats.translation import TextTranslation


def test_plain_text_keeps_lines_and_indentation() -> None:
    assert translate(SAMPLES["a.txt"], "a.txt").content == b"  ONE LINE\r\n\r\nANOTHER {name} LINE\n12\n"


def test_the_lines_of_a_cue_are_joined_and_wrapped_again() -> None:
    expected = SRT.replace("we go home\r\nwith {name} today.", "WE GO HOME\r\nWITH {name} TODAY.")
    expected = expected.replace("hello.", "HELLO.").replace("how are <b>you</b>", "HOW ARE <b>YOU</b>")
    assert translate_text(SRT, "a.srt") == expected
    reversed_text = translate_text(SRT, "a.srt", reverse)
    assert "<i>today. {name} with\r\nhome go we</i>" in reversed_text
    assert "- <b>you</b>? are how" in reversed_text


def test_a_cue_without_an_empty_line_before_the_next_one_ends_there() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\none\n2\n00:00:03,000 --> 00:00:04,000\ntwo\n"
    assert translate_text(text, "a.srt") == text.replace("one", "ONE").replace("two", "TWO")


def test_webvtt_keeps_notes_styles_and_times() -> None:
    expected = VTT.replace("tom &amp; jerry", "TOM &amp; JERRY").replace("run", "RUN").replace("away", "AWAY")
    assert translate_text(VTT, "a.vtt") == expected


def test_markdown_keeps_blocks_and_marks() -> None:
    translated = translate_text(MARKDOWN, "a.md")
    for kept in (
        "title: front matter",
        'print("code")',
        "    indented code",
        "html block",
        "x = y",
        "|--------|:------:|",
    ):
        assert f"\n{kept}\n" in translated
    for line in (
        "# THE *FIRST* TITLE #",
        'SOME **BOLD TEXT** AND `code here` AND A [LINK](http://a.example/c "t") WITH {{name}}. SECOND LINE  ',
        "AFTER A HARD BREAK.",
        "- ITEM ONE GOES ON",
        "- [ ] ITEM TWO WITH ~~STRUCK~~ TEXT",
        "    - NESTED ITEM",
        "1) FIRST",
        "> A QUOTE OF TWO LINES",
        "| CELL `x|y` ONE | TWO |",
        "UNDERLINED\n==========",
        "![ALT TEXT](pic.png) AND [LABEL][label] AND [OTHER][ref] AND SNAKE_CASE 2 \\* 3.[^1]",
        "[^1]: THE NOTE.",
        '[label]: http://x.example\n[ref]: <http://y.example> "title"',
        "WITH <b>HTML</b>, $x^2$ AND https://example.org/a_b_c.",
    ):
        assert f"\n{line}\n" in translated, line


def test_a_translation_that_looks_like_markdown_is_escaped() -> None:
    outputs = {"a": "# x", "b": "1. y", "c": "*z*"}
    written = translate_text("a\n\nb\n\nc\n", "a.md", lambda source: TextTranslation(outputs[source.text]))
    assert written == "\\# x\n\n1\\. y\n\n\\*z\\*\n"


def test_columns_are_chosen_by_number_or_name_and_quotes_are_kept() -> None:
    assert translate_text(CSV, "a.csv", columns=("text",)) == CSV.replace("hello, world", "HELLO, WORLD").replace(
        "plain text", "PLAIN TEXT"
    )
    by_number = translate_text(CSV, "a.csv", columns=("3",))
    assert by_number == CSV.replace("note", "NOTE").replace(",x\r", ",X\r").replace(
        '"a ""quoted"" one', '"A ""QUOTED"" ONE'
    )
    assert translate_text('a;b\nc;"d;e"\n', "a.csv") == 'A;B\nC;"D;E"\n'
    assert translate_text(TSV, "a.tsv", columns=("2",)) == TSV.replace("c d", "C D")
    assert translate_text('x,"a\nb"\n', "a.csv") == 'X,"A\nB"\n'


def test_only_a_cell_that_needs_quotes_gets_them() -> None:
    comma = translate_text("a b,c\n", "a.csv", lambda source: reverse(source)._replace(text=f"{source.text}, x"))
    assert comma == '"a b, x","c, x"\n'


def test_empty_msgstr_are_filled_and_everything_else_is_kept() -> None:
    translated = translate_text(PO, "a.po")
    assert 'msgstr "HELLO %s, YOU HAVE <b>MAIL</b>"' in translated
    assert 'msgstr ""\n"TWO \\"LINES\\"\\n"\n"OF TEXT\\n"\n' in translated
    assert 'msgstr[0] "%d FILE"\nmsgstr[1] "%d FILES"\n' in translated
    assert translated.startswith(PO[: PO.index("#: file.c")])
    assert translated.endswith(PO[PO.index('msgid "done"') :])
    one_form = PO.replace('msgstr[1] ""\n', "")
    assert 'msgstr[0] "%d FILES"\n' in translate_text(one_form, "a.po")
    report = translate(PO.encode(), "a.po").report
    assert (report.translated, report.kept) == (4, 1)


def test_targets_of_xliff_are_added_or_filled_and_existing_ones_kept() -> None:
    translated = translate_text(XLIFF, "a.xlf")
    target = '\n    <target>HELLO <g id="1">BIG &amp; WIDE</g> WORLD<x id="2"/></target>'
    expected = XLIFF.replace('<x id="2"/></source>', f'<x id="2"/></source>{target}').replace(
        "<target/>", '<target>BYE <bpt id="1">&lt;b></bpt>NOW<ept id="1">&lt;/b></ept></target>'
    )
    assert translated == expected
    unit = '<unit id="1"><segment><source>a <pc id="1">b</pc> c</source></segment></unit>'
    second = f'<xliff version="2.0"><file>{unit}</file></xliff>'
    assert '<source>a <pc id="1">b</pc> c</source><target>c <pc id="1">b</pc> a</target></segment>' in translate_text(
        second, "a.xliff", reverse
    )


def test_html_translates_texts_and_attributes_only() -> None:
    expected = HTML
    for text in ("a page", "big title", ">hello<", "some <b>", ">bold<", " text &amp; <a", ">a link<", "next line"):
        expected = expected.replace(
            text, text.upper().replace("<B>", "<b>").replace("&AMP;", "&amp;").replace("<A", "<a")
        )
    expected = expected.replace("a picture", "A PICTURE").replace("> end<", "> END<")
    expected = expected.replace("call <code>", "CALL <code>").replace("</code> now", "</code> NOW")
    assert translate_text(HTML, "a.html") == expected.replace("NEXT LINE\n<img", "NEXT LINE\n<img")


def test_a_page_without_closing_tags_is_kept_as_well() -> None:
    assert translate_text("<p>one<p>two &lt; three<li>four", "a.html") == "<p>ONE<p>TWO &lt; THREE<li>FOUR"
    assert translate_text("<pre>one<p>two", "a.html") == "<pre>one<p>two"


def test_word_keeps_the_format_of_each_run_and_all_other_entries() -> None:
    before, after = read_archive(DOCX), read_archive(translate(DOCX, "a.docx").content)
    assert list(after) == list(before)
    assert after["word/footer1.xml"] == before["word/footer1.xml"].replace(b"a footer", b"A FOOTER")
    assert {name for name in before if after[name] != before[name]} == {"word/document.xml", "word/footer1.xml"}
    body = after["word/document.xml"].decode()
    assert "<w:t>A TITLE</w:t>" in body
    assert '<w:t xml:space="preserve">ONE PLAIN &amp; </w:t>' in body
    assert "<w:rPr><w:b/></w:rPr><w:t>BOLD</w:t>" in body
    assert "<w:t xml:space='preserve'> TEXT HERE</w:t>" in body
    assert "<w:t>NAME</w:t><w:tab/><w:t>VALUE {count}</w:t>" in body
    assert "<w:t>OUTER</w:t>" in body
    assert "<w:t>INNER BOX</w:t>" in body
    assert "<w:t>AFTER</w:t>" in body
    assert body.count("<w:t") == word_document(DOCX_BODY).count("<w:t")


def test_marks_that_change_their_order_in_word_are_translated_in_parts() -> None:
    """Runs cannot be exchanged, so the bold word stays in its run."""
    runs = "<w:r><w:rPr><w:b/></w:rPr><w:t>one</w:t></w:r><w:r><w:t> two three four </w:t></w:r>"
    runs += "<w:r><w:rPr><w:i/></w:rPr><w:t>five</w:t></w:r>"
    content = make_archive({"word/document.xml": word_document(f"<w:p>{runs}</w:p>")})
    translated = translate(content, "a.docx", reverse)
    assert b"<w:b/></w:rPr><w:t>one</w:t>" in read_archive(translated.content)["word/document.xml"]
    assert b"> four three two </w:t>" in read_archive(translated.content)["word/document.xml"]
    assert [segment.flags for segment in translated.report.flagged] == [("parts",)]


def test_opendocument_keeps_spans_links_and_notes() -> None:
    before, after = read_archive(ODT), read_archive(translate(ODT, "a.odt").content)
    assert next(iter(after)) == "mimetype"
    assert after["mimetype"] == before["mimetype"]
    expected = ODT_CONTENT
    for text in ("a title", "some ", "bold words", " and ", "a link", "the note", " the end", "next line"):
        expected = expected.replace(f">{text}<", f">{text.upper()}<")
    assert after["content.xml"].decode() == expected
    assert b"<text:p>A HEADER</text:p>" in after["styles.xml"]


def test_a_byte_order_mark_and_utf_16_are_kept() -> None:
    for encoding, mark in (("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
        content = mark + "가 a\n".encode(encoding)
        assert translate(content, "a.txt").content == mark + "가 A\n".encode(encoding)
        assert parse_document(content, "a.txt").slots[0].segment.text == "가 a"
