"""Corpus formats: the same pairs in every format, compression and encoding give the same list."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_writers import BINARY_WRITERS, COMPRESSORS, LANGUAGES, TEXT_WRITERS, write_corpus, xml_text
from tongsa.data.corpus import CorpusError, read_pairs, read_texts
from tongsa.data.ledger import Ledger
from tongsa.data.normalize import normalize

KOREAN = [
    "집",
    "책을 읽는다",
    '"그래", 그가 말했다',
    "a;b, c",
    "가\t나",
    "<끝> & 시작",
    "줄\n바꿈",
    "\\역슬래시\\n",
    "1",
    "'따옴표",
]
TEN_PAIRS = [(f"Text {i}, {text}", f"{text} 번역 {i}") for i, text in enumerate(KOREAN)]
NORMAL_PAIRS = [(normalize(source), normalize(target)) for source, target in TEN_PAIRS]
LINES = [
    (source.replace("\t", " ").replace("\n", " "), target.replace("\t", " ").replace("\n", " "))
    for source, target in TEN_PAIRS
]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "cp949"]


def read_all(*files: Path, **options: Any) -> tuple[list[tuple[str, str]], Ledger]:
    ledger = Ledger(None)
    pairs = [(pair.source, pair.target) for pair in read_pairs(files, ledger, languages=LANGUAGES, **options)]
    ledger.check()
    assert ledger.kept == len(pairs)
    return pairs, ledger


def read_ledger(file: Path, folder: Path, **options: Any) -> tuple[list[tuple[str, str]], list[tuple[int, str]]]:
    """Return the pairs, and line and reason of each dropped record."""
    with Ledger(folder / "ledger.jsonl") as ledger:
        pairs = [(pair.source, pair.target) for pair in read_pairs([file], ledger, **options)]
        ledger.check()
    entries = [json.loads(line) for line in (folder / "ledger.jsonl").read_text("utf-8").splitlines()][:-1]
    return pairs, [(entry["line"], entry["reason"]) for entry in entries]


@pytest.mark.parametrize("compression", COMPRESSORS)
@pytest.mark.parametrize("name", [*TEXT_WRITERS, *BINARY_WRITERS])
def test_the_same_pairs_in_every_format_compression_and_encoding(tmp_path: Path, name: str, compression: str) -> None:
    pairs = LINES if name == "TSV" else TEN_PAIRS
    for encoding in ["utf-8"] if name in BINARY_WRITERS else ENCODINGS:
        file = write_corpus(tmp_path, name, pairs, encoding=encoding, compression=compression)
        for setting in {"auto", encoding}:
            assert read_all(file, encoding=setting)[0] == NORMAL_PAIRS, (encoding, setting)


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_parallel_files_in_different_encodings(tmp_path: Path, compression: str) -> None:
    sides = []
    for i, encoding in enumerate(("cp949", "utf-16")):
        text = "".join(f"{pair[i]}\n" for pair in LINES)
        sides.append(tmp_path / f"corpus.{LANGUAGES[i]}{compression}")
        sides[-1].write_bytes(COMPRESSORS[compression](text.encode(encoding)))
    pairs, ledger = read_all(*sides, encoding="auto")
    assert pairs == NORMAL_PAIRS
    assert f"{sides[0]}: converted from CP949; {sides[1]}: converted from UTF-16" in ledger.summary()


@pytest.mark.parametrize(
    ("sentence", "encoding"),
    [
        ("私は家に帰ります。東京に行きました", "SHIFT_JIS"),
        ("私は家に帰ります。東京に行きました", "EUC-JP"),
        ("我回家了。今天天气很好，我们去公园", "GB18030"),
        ("我回家了。今天天氣很好，我們去公園", "BIG5"),
        ("Я иду домой. Это кошка.", "CP1251"),
    ],
)
def test_legacy_encodings_are_converted(tmp_path: Path, sentence: str, encoding: str) -> None:
    file = write_corpus(tmp_path, "CSV", [(sentence, str(i)) for i in range(10)], encoding=encoding)
    for setting in ("auto", encoding):
        pairs, ledger = read_all(file, encoding=setting)
        assert pairs == [(sentence, str(i)) for i in range(10)]
    assert ledger.read == 10


def test_lines_that_are_not_in_the_encoding_are_dropped(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_bytes("가\t나\n".encode("cp949") + b"\xff\xff\tx\n" + "다\t라\n".encode("cp949"))
    assert read_ledger(file, tmp_path, encoding="cp949") == ([("가", "나"), ("다", "라")], [(2, "not-cp949")])
    wide = "가\t나\n".encode("utf-16-le") + b"\x00\xd8\t\0x\0\n\0" + "다\t라\n".encode("utf-16-le") + b"\x01"
    file.write_bytes(wide)
    pairs, dropped = read_ledger(file, tmp_path, encoding="utf-16-le")
    assert (pairs, dropped) == ([("가", "나"), ("다", "라")], [(2, "not-utf-16-le"), (4, "not-utf-16-le")])


letters = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
pair_lists = st.lists(st.tuples(letters, letters), max_size=6)


@given(pair_lists, st.sampled_from([*TEXT_WRITERS, *BINARY_WRITERS]))
def test_any_pairs_that_are_written_are_read_back(pairs: list[tuple[str, str]], name: str) -> None:
    if name == "TSV":
        pairs = [(normalize(source), normalize(target)) for source, target in pairs]
    if name.startswith("CSV"):  # the delimiter is that of most lines
        pairs = [("a", "b")] * 9 + pairs
    if name == "MO":  # zero bytes separate plural forms, \x04 ends a context, an empty msgid is the header
        pairs = [(source.replace("\0", "").replace("\4", ""), target.replace("\0", "")) for source, target in pairs]
    kept = [(normalize(source), normalize(target)) for source, target in pairs]
    if "XLIFF" in name or name == "TMX":
        kept = [(normalize(strip_xml(source)), normalize(strip_xml(target))) for source, target in pairs]
    with tempfile.TemporaryDirectory() as folder:
        result, ledger = read_all(write_corpus(Path(folder), name, pairs))
    assert result == [pair for pair in kept if all(pair)]
    assert ledger.read == len(pairs) or name in ("TSV", "CSV", "CSV with semicolons")


def strip_xml(text: str) -> str:
    """Return the characters that XML can have."""
    return xml_text(text).replace("&#13;", "\r").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def test_texts_for_a_language_model_come_from_every_format(tmp_path: Path) -> None:
    expected = [target for _, target in NORMAL_PAIRS]
    for name in (*TEXT_WRITERS, *BINARY_WRITERS):
        file = write_corpus(tmp_path, name, LINES if name == "TSV" else TEN_PAIRS)
        texts = [pair.target for pair in read_texts([file], Ledger(None), languages=LANGUAGES)]
        assert texts == expected, name
    (tmp_path / "one.csv").write_text('text\n"a, b"\nc\n', "utf-8")
    assert [pair.target for pair in read_texts([tmp_path / "one.csv"], Ledger(None), header=True)] == ["a, b", "c"]


def test_csv_records_are_dropped_with_the_line_where_they_begin(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('q,a\n"one\nline, two",1\n"x" y,2\n\nonly\n"open,3\nb,4\nc,5\n', "utf-8")
    pairs, dropped = read_ledger(file, tmp_path, header=True)
    assert pairs == [("one line, two", "1"), ("b", "4"), ("c", "5")]
    assert dropped == [(1, "header"), (4, "bad-quotes"), (5, "empty"), (6, "no-column"), (7, "unterminated-quote")]


def test_units_of_tmx_without_a_language_are_dropped(tmp_path: Path) -> None:
    file = tmp_path / "a.tmx"
    file.write_text(
        '<tmx version="1.4">\n<body>\n<tu><tuv xml:lang="en-GB"><seg>a <bpt i="1">&lt;b></bpt>b<ept i="1">'
        '&lt;/b></ept> <ph><sub>x</sub></ph><hi>c</hi></seg></tuv>\n<tuv lang="KO"><seg>가</seg></tuv></tu>\n'
        '<tu><tuv xml:lang="en"><seg>b</seg></tuv><tuv xml:lang="ja"><seg>あ</seg></tuv></tu>\n'
        '<tu><tuv xml:lang="en-US"><seg>us</seg></tuv><tuv xml:lang="en"><seg>en</seg></tuv>'
        '<tuv xml:lang="ko"><seg>다</seg></tuv><tuv xml:lang="ko"><seg>라</seg></tuv></tu>\n</body></tmx>',
        "utf-8",
    )
    pairs, dropped = read_ledger(file, tmp_path, languages=("en", "ko"))
    assert (pairs, dropped) == ([("a b c", "가"), ("en", "다")], [(5, "missing-language")])
    assert read_ledger(file, tmp_path) == (pairs, dropped)
    assert read_ledger(file, tmp_path, languages=("ko", ""))[0] == [(target, source) for source, target in pairs]


def test_a_tmx_with_three_languages_needs_a_choice(tmp_path: Path) -> None:
    file = tmp_path / "a.tmx"
    variants = "".join(f'<tuv xml:lang="{code}"><seg>{code}</seg></tuv>' for code in ("en", "ja", "ko"))
    file.write_text(f"<tmx><body><tu>{variants}</tu></body></tmx>", "utf-8")
    with pytest.raises(CorpusError, match=r"a\.tmx:1: 3 languages \(en, ja, ko\)\. Choose two"):
        list(read_pairs([file], Ledger(None)))
    assert read_ledger(file, tmp_path, languages=("ko", "fr")) == ([], [(1, "missing-language")])
    assert read_ledger(file, tmp_path, languages=("ko", "en")) == ([("ko", "en")], [])


PO = r"""# header
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\n"

#, fuzzy
msgid "old"
msgstr "낡은"

msgctxt "menu"
msgid "open\n"
"now"
msgstr "열기"

#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "파일 %d개"
msgstr[1] "파일들 %d개"

msgid "none"
msgstr ""

msgid broken
msgstr "x"

#~ msgid "gone"
#~ msgstr "없음"
"""


def test_messages_of_po_are_kept_or_dropped_with_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "a.po"
    file.write_text(PO, "utf-8")
    pairs, dropped = read_ledger(file, tmp_path)
    assert pairs == [("open now", "열기"), ("%d file", "파일 %d개"), ("%d files", "파일들 %d개")]
    reasons = [(2, "header"), (6, "fuzzy"), (20, "empty"), (23, "bad-entry"), (26, "obsolete")]
    assert dropped == reasons
    file.write_bytes(PO.replace("UTF-8", "EUC-KR").encode("euc-kr"))
    assert read_ledger(file, tmp_path) == (pairs, reasons)
    assert read_ledger(file, tmp_path, columns=(2, 1))[0] == [(target, source) for source, target in pairs]


def test_units_of_xliff_without_a_translation_are_dropped(tmp_path: Path) -> None:
    file = tmp_path / "a.xliff"
    file.write_text(
        '<xliff version="1.2"><file><body>\n<trans-unit><source>a <g id="1">b</g><x/><ph>code</ph></source>\n'
        '<seg-source>no</seg-source><target>가 <mrk mid="1">나</mrk></target><alt-trans><source>z</source>'
        "<target>z</target></alt-trans></trans-unit>\n<trans-unit><source>b</source></trans-unit>\n"
        '<trans-unit><source>c</source><target state="new">c</target></trans-unit></body></file></xliff>',
        "utf-8",
    )
    pairs, dropped = read_ledger(file, tmp_path)
    assert (pairs, dropped) == ([("a b", "가 나")], [(4, "untranslated"), (5, "untranslated")])


def test_labels_and_columns_of_parquet_and_json_lines(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"id": [1, 2], "text": ["a", "b"], "label": [0, 1]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text('{"text": "a", "label": 0}\n{"text": "b", "label": 1}\n', "utf-8")
    for name in ("a.parquet", "a.jsonl"):
        assert read_ledger(tmp_path / name, tmp_path) == ([("a", "0"), ("b", "1")], [])
    parquet.write_table(pyarrow.table({"n": [1], "en": ["x"], "다": ["y"]}), tmp_path / "b.parquet")
    with pytest.raises(CorpusError, match=r"column 1 \(n\) is int64, not text. Set --columns"):
        list(read_pairs([tmp_path / "b.parquet"], Ledger(None)))
    with pytest.raises(CorpusError, match=r"no column 4 \(it has n, en, 다\)\. Correct data\.columns\."):
        list(read_pairs([tmp_path / "b.parquet"], Ledger(None), columns=(2, 4)))
    assert read_ledger(tmp_path / "b.parquet", tmp_path, columns=(2, 3)) == ([("x", "y")], [])


def test_patterns_stand_for_the_files_that_match(tmp_path: Path) -> None:
    for name, content in {"b.tsv": "3\t4\n", "a.tsv": "1\t2\n", "[x]*.tsv": "5\t6\n"}.items():
        (tmp_path / name).write_text(content, "utf-8")
    assert read_all(tmp_path / "?.tsv")[0] == [("1", "2"), ("3", "4")]
    assert read_all(tmp_path / "[x]*.tsv")[0] == [("5", "6")], "a file with such a name"
    with pytest.raises(CorpusError, match="no file matches this pattern"):
        read_all(tmp_path / "c-*.tsv")
    for name in ("1.de", "2.de", "1.en", "2.en"):
        (tmp_path / name).write_text(f"{name}\n", "utf-8")
    assert read_all(tmp_path / "*.de", tmp_path / "*.en")[0] == [("1.de", "1.en"), ("2.de", "2.en")]
    with pytest.raises(CorpusError, match="2 files without a format"):
        read_all(tmp_path / "*.de")
    with pytest.raises(CorpusError, match="2 source files and 1 target files"):
        read_all(tmp_path / "*.de", tmp_path / "1.en")
    assert len(list(read_texts([tmp_path / "*.de"], Ledger(None)))) == 2


def test_units_of_a_tmx_without_any_language_are_dropped(tmp_path: Path) -> None:
    path, ledger = tmp_path / "a.tmx", Ledger(None)
    path.write_text('<tmx version="1.4"><header/><body><tu><tuv><seg>a</seg></tuv></tu></body></tmx>', "utf-8")
    assert list(read_texts([path], ledger)) == []
    assert sum(ledger.dropped.values()) == ledger.read == 1
