"""Readers of corpora: formats, bad lines, bad files."""

import gzip
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tongsa.data.corpus import CorpusError, read_lines, read_pairs
from tongsa.data.file_format import explain_format
from tongsa.data.ledger import Ledger, Pair
from tongsa.data.source_file import SourceFile


def texts(*files: Path, ledger: Ledger | None = None, **settings: Any) -> list[tuple[str, str]]:
    records = ledger or Ledger(None)
    pairs = [(pair.source, pair.target) for pair in read_pairs(files, records, **settings)]
    records.check()
    assert records.kept == len(pairs)
    return pairs


def write_file(path: Path, content: str | bytes) -> Path:
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def test_tsv_columns_are_selected(tmp_path: Path) -> None:
    file = write_file(tmp_path / "a.tsv", '1\thello\t안녕\tmore\n2\t"x\ty"\n')
    assert texts(file, columns=(3, 2)) == [("안녕", "hello"), ('y"', '"x')]


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    file = write_file(tmp_path / "a.tsv", "\ufeffa\u2028b\tc\x0bd\x0ce\r\nf\x85g\th\ri")
    assert texts(file) == [("a b", "c d e"), ("f g", "h i")]


def test_parallel_sides_and_pair_files_mix_in_order(tmp_path: Path) -> None:
    english = write_file(tmp_path / "x.en.gz", "one\ntwo\n")
    korean = write_file(tmp_path / "x.ko", "하나\n둘")
    table = write_file(tmp_path / "y.tsv.gz", "three\t셋\n")
    rest = write_file(tmp_path / "rest.txt", "four\t넷\n")
    expected = [("three", "셋"), ("one", "하나"), ("two", "둘"), ("four", "넷")]
    assert sorted(texts(english, table, korean, rest)) == sorted(expected)
    pairs = list(read_pairs([english, korean], Ledger(None)))
    assert pairs[1] == Pair("two", "둘", str(english), 2)


@pytest.mark.parametrize(
    "record",
    [
        {"source": "a", "target": "b", "id": 7},
        {"en": "a", "ko": "b"},
        {"translation": {"ko": "b", "en": "a"}},
        {"translation": {"source": "a", "target": "b"}},
    ],
)
def test_keys_of_json_lines(tmp_path: Path, record: dict[str, object]) -> None:
    file = write_file(tmp_path / "a.jsonl", "\ufeff" + json.dumps(record))
    assert texts(file, languages=("en", "ko")) == [("a", "b")]


@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        ("a.tsv", b"\xff\xc0\tb", "not-utf8"),
        ("a.tsv", b"no tab here", "no-tab"),
        ("a.tsv", b"a\t \xe3\x80\x80", "empty"),
        ("a.tsv", b"", "empty"),
        ("a.jsonl", b"{", "bad-json"),
        ("a.jsonl", b"[1]", "bad-json"),
        ("a.jsonl", b"[" * 100_000, "bad-json"),
        ("a.jsonl", b'{"source": "a"}', "missing-key"),
        ("a.jsonl", b'{"source": "a", "target": null}', "missing-key"),
        ("a.jsonl", b'{"source": "a", "target": ""}', "empty"),
        ("a.jsonl", b"\xff", "not-utf8"),
    ],
)
def test_a_bad_line_is_dropped_with_its_reason(tmp_path: Path, name: str, line: bytes, reason: str) -> None:
    good = b'{"source": "s", "target": "t"}' if name.endswith("jsonl") else b"s\tt"
    file = write_file(tmp_path / name, good + b"\n" + line + b"\n" + good)
    with Ledger(tmp_path / "ledger.jsonl") as ledger:
        assert texts(file, ledger=ledger) == [("s", "t")] * 2
    entry = json.loads((tmp_path / "ledger.jsonl").read_text().splitlines()[0])
    assert (entry["file"], entry["line"], entry["reason"]) == (str(file), 2, reason)


def test_a_pair_with_two_bad_sides_is_dropped_once(tmp_path: Path) -> None:
    source, target = write_file(tmp_path / "a.en", b"\xff\nx\ny\n"), write_file(tmp_path / "a.ko", b"\n\xff\nz\n")
    ledger = Ledger(None)
    assert texts(source, target, ledger=ledger) == [("y", "z")]
    assert ledger.dropped == {"not-utf8": 2}


@pytest.mark.parametrize("lines", [(3, 5), (5, 3), (0, 1)])
def test_parallel_files_of_different_length_are_an_error_with_both_counts(
    tmp_path: Path, lines: tuple[int, int]
) -> None:
    source, target = (
        write_file(tmp_path / "a.en", "x\n" * lines[0]),
        write_file(tmp_path / "a.ko", "x\n" * lines[1]),
    )
    with pytest.raises(CorpusError, match=rf"a\.en, .*a\.ko: not parallel \({lines[0]} and {lines[1]} lines\)"):
        texts(source, target)


def test_a_missing_file_or_a_folder_is_an_error_before_the_first_line(tmp_path: Path) -> None:
    good = write_file(tmp_path / "a.tsv", "a\tb\n")
    with pytest.raises(CorpusError, match=r"gone\.tsv: no such file"):
        read_pairs([good, tmp_path / "gone.tsv"], Ledger(None))
    with pytest.raises(CorpusError, match="a folder"):
        read_pairs([good, tmp_path], Ledger(None))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_an_error(tmp_path: Path) -> None:
    secret = write_file(tmp_path / "a.tsv", "a\tb\n")
    secret.chmod(0)
    with pytest.raises(CorpusError, match="check its permissions"):
        read_pairs([secret], Ledger(None))


def damaged_gzip(kind: str) -> bytes:
    intact = gzip.compress(os.urandom(5000).hex().encode() + b"\tx\n")
    middle = len(intact) // 2
    return {
        "truncated": intact[:middle],
        "flipped": intact[:middle] + bytes(255 - byte for byte in intact[middle : middle + 40]) + intact[middle + 40 :],
        "wrong sum": intact[:-8] + b"\0" * 8,
    }[kind]


@pytest.mark.parametrize("kind", ["truncated", "flipped", "wrong sum"])
def test_a_damaged_gzip_is_an_error_with_its_line(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "a.tsv.gz"
    file.write_bytes(damaged_gzip(kind))
    with pytest.raises(CorpusError, match=r"a\.tsv\.gz:\d+: damaged gzip"):
        texts(file)


def test_utf16_is_detected(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"--set data\.encoding=UTF-16"):
        texts(write_file(tmp_path / "a.tsv", ("a\tb\n" * 9).encode("utf-16")))


def test_columns_are_counted_from_one(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="counted from 1"):
        texts(write_file(tmp_path / "a.tsv", "a\tb\n"), columns=(0, 1))


words = st.sampled_from([b"a", b"\xea\xb0\x80", b"\t", b" ", b"\xff", b"\r", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\0"])
json_lines = st.sampled_from([b'{"source":"a","target":"b"}', b'{"source":"\\ud800","target":"b"}', b"{}", b"[]", b"3"])
garbage = st.lists(st.lists(words | json_lines | st.binary(max_size=3), max_size=5).map(b"".join)).map(b"\n".join)


@given(garbage, st.sampled_from(["a.tsv", "a.jsonl", "a.tsv.gz", "a.txt"]))
def test_kept_plus_dropped_is_read_for_any_file(content: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(None)
        file = write_file(Path(folder) / name, content)
        assume(not explain_format(SourceFile(file)))
        pairs = texts(file, ledger=ledger)
    assert ledger.read == content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
    assert ledger.read == len(pairs) + sum(ledger.dropped.values())
    assert all(source and target for source, target in pairs)


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"))))
def test_read_lines_returns_each_line_unchanged(lines: list[str]) -> None:
    expected = [line.removesuffix("\r") for line in lines]
    if expected:
        expected[0] = expected[0].removeprefix("\ufeff")
    stream = io.BytesIO("".join(line + "\n" for line in lines).encode())
    assert list(read_lines(stream)) == expected


def test_read_lines_keeps_empty_lines(tmp_path: Path) -> None:
    assert list(read_lines(write_file(tmp_path / "a.gz", " a\n\nb"))) == [" a", "", "b"]


def test_invalid_utf8_is_an_error_with_file_and_line(tmp_path: Path) -> None:
    file = write_file(tmp_path / "a.en", b"fine\nbad \xff\n")
    with pytest.raises(CorpusError, match=r"a\.en:2: not UTF-8 .* at byte 5"):
        list(read_lines(file))
    with pytest.raises(CorpusError, match=r"input:1: not UTF-8"):
        list(read_lines(io.BytesIO(b"\xff")))


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("가\n\n".encode())))
    assert list(read_lines("-")) == ["가", ""]
