"""Files that newcomers bring: each is named for what it is, and the command in the message repairs it."""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import re
import subprocess
import sys
import urllib.parse
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from tongsa.checks import scripts, text
from tongsa.checks.encoding import check_mojibake
from tongsa.checks.finding import Finding
from tongsa.data.corpus import CorpusError, read_pairs
from tongsa.data.encoding import guess_encoding
from tongsa.data.file_format import no_pairs_message
from tongsa.data.ledger import Ledger, Pair

ENGLISH = ["I go home", "You read a good book, too", "He said no; we left", "She is at school", "They sing a song"]
KOREAN = ["나는 집에 간다", "너도 좋은 책을 읽는다", "그는 아니라고 했다", "그녀는 학교에 있다", "그들은 노래를 부른다"]
PAIRS = [(f"{ENGLISH[i % 5]} {i}", f"{KOREAN[i % 5]} {i}") for i in range(150)]


def tsv(pairs: list[tuple[str, str]]) -> str:
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


def csv_text(delimiter: str, quoting: Literal[0, 1] = csv.QUOTE_MINIMAL) -> str:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, quoting=quoting).writerows(PAIRS)
    return stream.getvalue()


def zip_archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("inner.tsv", tsv(PAIRS))
    return stream.getvalue()


RECORDS = [{"source": source, "target": target} for source, target in PAIRS]
JSON_LINES = "".join(f"{json.dumps(record)}\n" for record in RECORDS)
FILES: dict[str, tuple[str, str | bytes, str]] = {
    "CSV named TSV": ("my file.tsv", csv_text(","), "separated by ','"),
    "CSV of a spreadsheet named TSV": ("a.tsv", "\ufeff" + csv_text(";", csv.QUOTE_ALL), "separated by ';'"),
    "spaces": ("a.tsv", tsv(PAIRS).replace("\t", "     "), "separated by spaces"),
    "bars": ("a.txt", tsv(PAIRS).replace("\t", " ||| "), "separated by |||"),
    "compressed bars": ("a.txt.gz", gzip.compress(tsv(PAIRS).replace("\t", " ||| ").encode()), "separated by |||"),
    "backslash t": ("a.tsv", tsv(PAIRS).replace("\t", "\\t"), "a backslash and t"),
    "JSON": ("a.json", json.dumps(RECORDS), "JSON is not read"),
    "compressed JSON": ("a.json.xz", lzma.compress(json.dumps(RECORDS).encode()), "JSON is not read"),
    "JSON lines named JSON": ("a.json", JSON_LINES, "JSON lines"),
    "JSON lines named TSV": ("a.tsv", JSON_LINES, "JSON lines"),
    "gzip without its suffix": ("a.tsv", gzip.compress(tsv(PAIRS).encode()), "gzip without .gz"),
    "bzip2 without its suffix": ("a.tsv", bz2.compress(tsv(PAIRS).encode()), "bzip2 without .bz2"),
    "xz without its suffix": ("a.tsv", lzma.compress(tsv(PAIRS).encode()), "xz without .xz"),
    "gzip only by name": ("a.tsv.gz", tsv(PAIRS), "not gzip"),
    "xz only by name": ("a.tsv.xz", tsv(PAIRS), "not xz"),
    "line ends of old Macs": ("a.tsv", tsv(PAIRS).replace("\n", "\r"), "CR only"),
    "compressed line ends of old Macs": ("a.tsv.gz", gzip.compress(tsv(PAIRS).replace("\n", "\r").encode()), "CR only"),
}
ENCODED = {
    "CP949": tsv(PAIRS).encode("cp949"),
    "UTF-16": tsv(PAIRS).encode("utf-16"),
    "UTF-16LE": tsv(PAIRS).encode("utf-16-le"),
    "UTF-16BE": tsv(PAIRS).encode("utf-16-be"),
    "UTF-32": tsv(PAIRS).encode("utf-32"),
    "UTF-32LE": tsv(PAIRS).encode("utf-32-le"),
}


def texts_of(file: Path, encoding: str = "utf-8") -> list[tuple[str, str]]:
    """Return the texts of a file, or raise the error of a command that finds none."""
    ledger = Ledger(None)
    pairs = [(pair.source, pair.target) for pair in read_pairs([file], ledger, encoding=encoding)]
    if not pairs:
        raise CorpusError(no_pairs_message(file, ledger, "Give another file."))
    return pairs


def run_shell(command: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["bash", "-c", command], check=True, env=os.environ | {"PATH": path})  # noqa: S607


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_format_is_read_after_the_command_in_the_message(tmp_path: Path, name: str) -> None:
    file_name, content, message = FILES[name]
    file = tmp_path / file_name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(CorpusError, match=re.escape(message)) as error:
        texts_of(file)
    before = {path.name for path in tmp_path.iterdir()}
    run_shell(str(error.value).split("it: ", 1)[1])
    (result,) = (path for path in tmp_path.iterdir() if path.name not in before)
    assert texts_of(result) == PAIRS


@pytest.mark.parametrize("encoding", ENCODED)
def test_a_file_in_another_encoding_is_read_with_the_setting_in_the_message(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "a.tsv.gz"
    file.write_bytes(gzip.compress(ENCODED[encoding]))
    with pytest.raises(CorpusError, match=rf"a\.tsv\.gz: {encoding}, not UTF-8\. ") as error:
        texts_of(file)
    setting = str(error.value).rpartition("--set data.encoding=")[2]
    assert texts_of(file, setting) == texts_of(file, "auto") == PAIRS


def test_utf8_is_not_read_in_another_encoding(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text(tsv(PAIRS), "utf-8")
    for encoding in ("cp949", "cp1251", "utf-16"):
        with pytest.raises(CorpusError, match="UTF-8, not ") as error:
            texts_of(file, encoding)
        assert texts_of(file, str(error.value).rpartition("--set data.encoding=")[2]) == PAIRS
    with pytest.raises(CorpusError, match=r"data\.encoding rot13: unknown"):
        texts_of(file, "rot13")


def test_documents_and_archives_get_a_sentence(tmp_path: Path) -> None:
    office = {"a.xlsx": b"PK\x03\x04", "b.tsv": b"PK\x03\x04 xl/workbook.xml", "c.pdf": b"%PDF-1.4", "d.docx": b"PK"}
    for name, content in {**office, "e.zip": zip_archive(), "f.srt": b"1\n"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CorpusError, match=r"spreadsheet|document|Unpack it: unzip|marked-up text"):
            texts_of(tmp_path / name)


def test_keys_of_json_lines_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"en": "a", "ko": "b"}\n', "utf-8")
    with pytest.raises(CorpusError, match="expected source and target, got en, ko"):
        texts_of(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("sentence", "encoding"),
    [
        ("나는 집에 간다. 서울에서 만났다", "CP949"),
        ("私は家に帰ります。東京に行きました", "SHIFT_JIS"),
        ("私は家に帰ります。東京に行きました", "EUC-JP"),
        ("我回家了。今天天气很好，我们去公园", "GB18030"),
        ("我回家了。今天天氣很好，我們去公園", "BIG5"),
        ("Я иду домой. Это кошка.", "CP1251"),
        ("Où êtes-vous allé cet été, à la plage", "CP1252"),
        ("größere Häuser für alle", "CP1252"),
    ],
)
def test_encodings_are_guessed(sentence: str, encoding: str) -> None:
    assert guess_encoding(sentence.encode(encoding)) == encoding


def read_as_cp1252(text: str) -> str:
    """Return UTF-8 decoded as CP1252 as browsers do: the five undefined bytes become control characters."""
    return "".join(
        chr(byte) if byte in b"\x81\x8d\x8f\x90\x9d" else bytes([byte]).decode("cp1252") for byte in text.encode()
    )


DAMAGES: dict[str, Callable[[str], str]] = {
    "UTF-8 as Latin-1": lambda korean: korean.encode().decode("latin1"),
    "UTF-8 as CP1252": read_as_cp1252,
    "UTF-8 as CP1252, German": lambda _: "größer für".encode().decode("cp1252"),
    "EUC-KR as Latin-1": lambda korean: korean.encode("euc_kr").decode("latin1"),
    "replaced": lambda korean: korean.replace("다", "\ufffd"),
    "question marks": lambda _: "?? ??? ??",
    "lost bytes": lambda korean: korean.encode().decode("cp1252", "ignore"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_mojibake_is_found_and_restored_if_possible(tmp_path: Path, name: str) -> None:
    pairs = [(source, DAMAGES[name](target)) for source, target in PAIRS]
    file = tmp_path / "a.tsv"
    file.write_text(tsv(pairs), "utf-8")
    finding = check_mojibake([file], 1000)
    assert finding.level == "fault", finding
    if " as " not in name:
        assert "restore it" not in finding.remedy
        return
    run_shell(finding.remedy.split("restore it: ")[1])
    restored = tmp_path / "a-restored.tsv"
    assert texts_of(restored) == (PAIRS if "German" not in name else [(source, "größer für") for source, _ in PAIRS])
    assert check_mojibake([restored], 1000).level == "ok"


@pytest.mark.parametrize(
    "words", ["Straße für Häuser", "Où êtes-vous allé à la plage?", "Ção í ¿Qué?", "나는 집에", "?"]
)
def test_sound_text_is_no_mojibake(tmp_path: Path, words: str) -> None:
    (tmp_path / "a.tsv").write_text(f"{words}\tWhat??? Really???\n" * 100, "utf-8")
    assert check_mojibake([tmp_path / "a.tsv"], 1000).numbers["damaged"] == 0


MARKS: dict[str, tuple[str, Callable[[str], str]]] = {
    "tags": ("markup", lambda text: f'<p class="x">{text}</p><br/>'),
    "entities": (
        "markup",
        lambda text: "".join(f"&#{ord(letter)};" if letter.isalpha() else letter for letter in text),
    ),
    "CSV quotes": ("quotes", lambda text: f'"{text}"'),
    "typographic quotes": ("quotation marks", lambda text: f"“{text}”"),
    "quotes of Python": ("quotation marks", repr),
    "unicode escapes": ("escapes", lambda text: text.encode("unicode_escape").decode() if not text.isascii() else text),
    "percent escapes": ("escapes", urllib.parse.quote),
    "BPE marks": ("subword marks", lambda text: text.replace("o", "o@@ ").replace("는", "@@ 는")),
    "SentencePiece marks": (
        "subword marks",
        lambda text: "▁" + text.replace("o", "o ").replace(" ", " ▁").replace("o ▁", "o "),
    ),
    "zero-width spaces": ("invisible characters", lambda text: "\u200b".join(text)),
    "direction marks": ("invisible characters", lambda text: f"\u202a{text}\u202c"),
}


def pattern_findings(file: Path) -> dict[str, Finding]:
    return {finding.name: finding for finding in text.check_patterns(list(read_pairs([file], Ledger(None))))}


@pytest.mark.parametrize("kind", MARKS)
def test_marks_around_the_text_are_found_and_removed_by_the_command(tmp_path: Path, kind: str) -> None:
    name, damage = MARKS[kind]
    plain = [(f"Go south {i}", f"나는 남쪽에 간다 {i}") for i in range(50)]
    file = tmp_path / "a.tsv"
    file.write_text(tsv([(damage(source), damage(target)) for source, target in plain]), "utf-8")
    findings = pattern_findings(file)
    assert {finding.name for finding in findings.values() if finding.level != "ok"} == {name}
    assert findings[name].level == "warning"
    run_shell(findings[name].remedy.split(": ", 1)[1])
    (cleaned,) = (path for path in tmp_path.iterdir() if path != file)
    if kind != "SentencePiece marks":  # here the words were cut and joined again
        assert texts_of(cleaned) == plain
    assert {finding.level for finding in pattern_findings(cleaned).values()} == {"ok"}


def test_ordinary_text_has_no_marks(tmp_path: Path) -> None:
    lines = [
        "<polite> He can swim",
        'He said "no" and left',
        "100% sure, a < b & c > d",
        "AT&T; R&D",
        "snake_case names",
    ]
    (tmp_path / "a.tsv").write_text("".join(f"{line}\t{line}\n" for line in lines * 20), "utf-8")
    assert {finding.level for finding in pattern_findings(tmp_path / "a.tsv").values()} == {"ok"}


def pairs_with_lines(pairs: list[tuple[str, str]]) -> list[Pair]:
    return [Pair(source, target, "a.tsv", i) for i, (source, target) in enumerate(pairs, start=1)]


def check_header(pairs: list[tuple[str, str]]) -> Finding:
    numbered = pairs_with_lines(pairs)
    return text.check_header(numbered[:1], numbered)


@pytest.mark.parametrize(
    ("count", "level"), [(1, "fault"), (10, "fault"), (50, "warning"), (500, "remark"), (3000, "ok")]
)
def test_a_small_corpus_is_not_ok(count: int, level: str) -> None:
    pairs = pairs_with_lines([(f"a {i}", f"b {i}") for i in range(count)])
    assert text.check_size(pairs * 4).level == level, "duplicates do not count"


def test_headers_are_found_once_or_repeated() -> None:
    assert check_header(PAIRS).level == "ok"
    assert "data.header" in check_header([("English", "Korean"), *PAIRS]).remedy
    finding = check_header([("source", "target"), *PAIRS, ("source", "target")])
    assert (finding.level, finding.numbers["lines"]) == ("warning", 2)
    assert "grep -v" in finding.remedy


def test_a_dev_set_in_the_other_direction_is_a_fault() -> None:
    exchanged = [(target, source) for source, target in PAIRS]
    assert scripts.check_direction(pairs_with_lines(PAIRS), pairs_with_lines(PAIRS[:40]), "dev").level == "ok"
    assert scripts.check_direction(pairs_with_lines(PAIRS), pairs_with_lines(exchanged[:40]), "dev").level == "fault"


def test_a_column_of_numbers_is_not_a_text() -> None:
    pairs = pairs_with_lines([(str(i), source) for i, (source, _) in enumerate(PAIRS)])
    finding = scripts.check_script(pairs, [pair.source for pair in pairs], "source")
    assert finding.level == "warning"
    assert "data.columns" in finding.remedy


def test_few_pairs_give_no_false_alarm_about_their_sides() -> None:
    assert scripts.check_wrong_side(pairs_with_lines(PAIRS[:10])).level == "ok"
