"""Small documents of all formats, built here, and translations that need no model."""

import io
import re
import zipfile
from collections.abc import Callable, Mapping

from tongsa.data.sentence_splitter import Span
from tongsa.document_formats.formats import parse_document
from tongsa.document_formats.mark_positions import WordLink
from tongsa.document_formats.translation import (
    SourceText,
    TextTranslation,
    TranslatedDocument,
    advance,
    translation_steps,
)

TextFunction = Callable[[SourceText], TextTranslation]


def word_spans(text: str) -> list[Span]:
    return [Span(*word.span()) for word in re.finditer(r"\S+", text)]


def keep(source: SourceText) -> TextTranslation:
    """Translate each text by itself."""
    return TextTranslation(source.text, [WordLink(word, word) for word in word_spans(source.text)])


def upper(source: SourceText) -> TextTranslation:
    """Translate word by word, in the same order: letters become capitals, placeholders are copied."""
    text = re.sub("[a-z]", lambda letter: letter[0].upper(), source.text)
    for placeholder in source.placeholders:
        text = re.sub(re.escape(placeholder), placeholder.replace("\\", r"\\"), text, flags=re.IGNORECASE)
    return keep(SourceText(text))


def reverse(source: SourceText) -> TextTranslation:
    """Translate into the same words in reverse order."""
    words, spans = source.text.split(), word_spans(source.text)
    text = " ".join(reversed(words))
    return TextTranslation(text, list(map(WordLink, reversed(spans), word_spans(text))))


def translate(
    content: bytes, name: str, function: TextFunction = upper, columns: tuple[str, ...] = ()
) -> TranslatedDocument:
    steps = translation_steps(parse_document(content, name, columns))
    result = advance(steps)
    while not isinstance(result, TranslatedDocument):
        result = advance(steps, [function(text) for text in result])
    return result


def translate_text(text: str, name: str, function: TextFunction = upper, columns: tuple[str, ...] = ()) -> str:
    return translate(text.encode(), name, function, columns).content.decode()


def make_archive(entries: Mapping[str, str | bytes]) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            method = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(name, content, method)
    return output.getvalue()


def read_archive(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def word_document(body: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'


DOCX_BODY = (
    '<w:p><w:pPr><w:pStyle w:val="Title"/></w:pPr><w:r><w:t>a title</w:t></w:r></w:p>'
    "<w:p><w:r><w:t>one </w:t></w:r><w:r><w:rPr><w:lang w:val='en'/></w:rPr><w:t>plain &amp; </w:t></w:r>"
    "<w:r><w:rPr><w:b/></w:rPr><w:t>bold</w:t></w:r><w:r><w:t xml:space='preserve'> text here</w:t></w:r></w:p>"
    "<w:p><w:r><w:t>name</w:t><w:tab/><w:t>value {count}</w:t></w:r></w:p>"
    "<w:p><w:r><w:t>12 %</w:t></w:r></w:p>"
    "<w:p><w:r><w:t>outer</w:t></w:r><w:r><w:drawing><w:txbxContent><w:p><w:r><w:t>inner box</w:t></w:r></w:p>"
    "</w:txbxContent></w:drawing></w:r><w:r><w:t>after</w:t></w:r></w:p>"
)
DOCX = make_archive(
    {
        "[Content_Types].xml": "<Types/>",
        "word/document.xml": word_document(DOCX_BODY),
        "word/footer1.xml": f'<w:ftr xmlns:w="{WORD}"><w:p><w:r><w:t>a footer</w:t></w:r></w:p></w:ftr>',
        "word/styles.xml": "<styles>not text</styles>",
        "word/media/image1.png": b"\x89PNG\x00\xff",
    }
)
ODT_CONTENT = (
    '<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="o" xmlns:text="t"><office:body>'
    '<text:h text:outline-level="1">a title</text:h>'
    '<text:p text:style-name="P1">some <text:span text:style-name="T1">bold words</text:span> and '
    '<text:a href="http://a.example">a link</text:a>.<text:note><text:note-citation>1</text:note-citation>'
    "<text:note-body><text:p>the note</text:p></text:note-body></text:note> the end<text:line-break/>next line</text:p>"
    "<text:p>42</text:p></office:body></office:document-content>"
)
ODT = make_archive(
    {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": ODT_CONTENT,
        "styles.xml": '<office:styles xmlns:office="o" xmlns:text="t"><text:p>a header</text:p></office:styles>',
        "META-INF/manifest.xml": "<manifest/>",
    }
)
SRT = """1\r
00:00:01,000 --> 00:00:02,500\r
<i>we go home\r
with {name} today.</i>\r
\r
2\r
00:00:03,000 --> 00:00:04,000\r
{\\an8}- hello.\r
- how are <b>you</b>?\r
\r
3\r
00:00:05,000 --> 00:00:06,000\r
...\r
"""
VTT = """WEBVTT - a title

NOTE a comment
of two lines

STYLE
::cue { color: red }

intro
00:01.000 --> 00:02.000 align:start
<v Mary>tom &amp; jerry <c.red>run</c> <00:01.500>away</v>
"""
MARKDOWN = """---
title: front matter
---
# the *first* title #

some **bold text** and `code here` and a [link](http://a.example/c "t") with {{name}}.
second line\x20\x20
after a hard break.

- item one
  goes on
- [ ] item two with ~~struck~~ text
    - nested item

1) first

```python
print("code")
```

    indented code

> a quote
> of two lines

| head a | head b |
|--------|:------:|
| cell `x|y` one | two |

<div>
html block
</div>

underlined
==========

![alt text](pic.png) and [label] and [other][ref] and snake_case 2 * 3.[^1]

[^1]: the note.
[label]: http://x.example
[ref]: <http://y.example> "title"

$$
x = y
$$

with <b>html</b>, $x^2$ and https://example.org/a_b_c.
"""
CSV = 'id,text,note\r\n1,"hello, world",x\r\n2,plain text,"a ""quoted"" one"\r\n'
TSV = "a b\tc d\r\ne\t\tf\n"
PO = """# comment
msgid ""
msgstr ""
"Language: ko\\n"

#: file.c:10
#, c-format
msgid "hello %s, you have <b>mail</b>"
msgstr ""

msgid ""
"two \\"lines\\"\\n"
"of text\\n"
msgstr ""

msgctxt "menu"
msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

msgid "done"
msgstr "끝"

#~ msgid "old"
#~ msgstr ""
"""
XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2"><file source-language="en" target-language="ko"><body>
  <trans-unit id="1">
    <source>hello <g id="1">big &amp; wide</g> world<x id="2"/></source>
  </trans-unit>
  <trans-unit id="2"><source>bye <bpt id="1">&lt;b></bpt>now<ept id="1">&lt;/b></ept></source><target/></trans-unit>
  <trans-unit id="3" translate="no"><source>keep</source></trans-unit>
  <trans-unit id="4"><source>has</source><target>있다</target><alt-trans><source>z</source></alt-trans></trans-unit>
</body></file></xliff>
"""
HTML = """<!doctype html><html lang=en><head><title>a page</title><style>p{color:red}</style></head>
<body><h1 title="big title">hello</h1><p>some <b>bold</b> text &amp; <a href="x?a=1&b=2">a link</a>.<br>next line
<img src=x alt="a picture"> end</p><!-- a comment --><pre>code here</pre><script>if (a<b) {}</script>
<p translate="no">keep me</p><p>call <code>f(x)</code> now.</p></body></html>
"""
SAMPLES: dict[str, bytes] = {
    "a.txt": b"  one line\r\n\r\nanother {name} line\n12\n",
    "a.srt": SRT.encode(),
    "a.vtt": VTT.encode(),
    "a.md": MARKDOWN.encode(),
    "a.csv": CSV.encode(),
    "a.tsv": TSV.encode(),
    "a.po": PO.encode(),
    "a.xlf": XLIFF.encode(),
    "a.html": HTML.encode(),
    "a.docx": DOCX,
    "a.odt": ODT,
}
