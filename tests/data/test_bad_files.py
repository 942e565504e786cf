"""Corpus files that are damaged, hostile or no corpus: a sentence with file and line, or an entry of the ledger."""

import bz2
import gzip
import json
import lzma
import os
import random
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corpus_writers import (
    BINARY_WRITERS,
    COMPRESSORS,
    LANGUAGES,
    TEXT_WRITERS,
    tmx,
    tsv,
    write_corpus,
    zstandard,
)
from tongsa.data.compression import decompressed_size
from tongsa.data.corpus import CorpusError, read_pairs, read_texts
from tongsa.data.ledger import Ledger
from tongsa.data.records import MAX_RECORD_BYTES

PAIRS = [(f"Text {i}, and a {'long ' * (i % 5)}word", f'번역 "{i}"; 끝') for i in range(200)]
BOMB = '<?xml version="1.0"?>\n<!DOCTYPE tmx [\n<!ENTITY a "aaaaaaaaaa">\n<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">\n]>\n'
ROOTS = {".tmx": "<tmx><body>{}</body></tmx>", ".xliff": "<xliff><file>{}</file></xliff>"}


def read_all(file: Path, encoding: str = "utf-8") -> Ledger:
    """Read pairs; check that kept + dropped = read also after an error."""
    ledger = Ledger(None)
    try:
        for _ in read_pairs([file], ledger, languages=LANGUAGES, encoding=encoding):
            pass
    finally:
        ledger.check()
    return ledger


XML: dict[str, tuple[str, str]] = {
    "entities": (BOMB + "{}", r":2: a document type \(DOCTYPE\) with declarations"),
    "external entity": ('<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n{}', ":1: a document type"),
    "undefined entity": ("{}", r":\d+: not well-formed XML \(undefined entity\)"),
    "undefined entity with a document type": ('<!DOCTYPE x SYSTEM "x.dtd">\n{}', ":2: an entity"),
    "truncated": ("{}", r":1: not well-formed XML \((?:no element found|unclosed token)\)"),
    "deep": ("{}", ":1: more than 1,000 nested elements"),
    "another root": ("<html/>", ":1: <html> instead of <"),
    "long comment": ("{}", ":1: a tag or a comment of more than 1,048,576 bytes"),
    "bad bytes": ("{}", ":1: not well-formed XML"),
}
CONTENTS = {"truncated": "", "deep": "<g>" * 1100, "long comment": f"<!-- {'x' * 3_000_000} -->", "bad bytes": "\udcff"}


@pytest.mark.parametrize("suffix", ROOTS)
@pytest.mark.parametrize("case", XML)
def test_xml_that_is_damaged_or_not_safe_is_refused_with_its_line(tmp_path: Path, case: str, suffix: str) -> None:
    template, message = XML[case]
    content = template.replace("{}", ROOTS[suffix]).replace("{}", CONTENTS.get(case, "&x;"))
    content = content[:20] if case == "truncated" else content
    file = tmp_path / f"a{suffix}"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(CorpusError, match=rf"a{suffix}{message}"):
        read_all(file)


def test_a_document_type_without_declarations_is_not_loaded(tmp_path: Path) -> None:
    file = tmp_path / "a.tmx"
    file.write_text('<!DOCTYPE tmx SYSTEM "http://localhost:1/tmx14.dtd">' + tmx(PAIRS).partition("?>")[2], "utf-8")
    assert read_all(file).kept == len(PAIRS)


def damage(kind: str, content: bytes) -> bytes:
    middle = len(content) // 2
    flipped = bytes(255 - byte for byte in content[middle : middle + 40])
    return {"truncated": content[:middle], "flipped": content[:middle] + flipped + content[middle + 40 :]}[kind]


@pytest.mark.parametrize("kind", ["truncated", "flipped"])
@pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESSORS if suffix])
def test_a_damaged_compressed_file_is_an_error_with_its_line(tmp_path: Path, suffix: str, kind: str) -> None:
    file = tmp_path / f"a.tsv{suffix}"
    noise = random.Random(1).randbytes(20_000).hex().encode()
    file.write_bytes(damage(kind, COMPRESSORS[suffix](tsv(PAIRS).encode() + noise)))
    with pytest.raises(CorpusError, match=rf"a\.tsv{suffix}:\d+: damaged .* Copy the file again and test it with "):
        read_all(file)


FILES: dict[str, tuple[str, bytes, dict[str, int]]] = {
    "byte order mark and CRLF": ("a.csv", b"\xef\xbb\xbfa,b\r\nc,d\r\n", {}),
    "zero bytes": ("a.tsv", b"a\0\tb\nc\td\n", {}),
    "zero bytes in CSV": ("a.csv", b"a\0,b\n\0\n", {"no-column": 1}),
    "empty": ("a.csv", b"", {}),
    "empty PO": ("a.po", b"", {}),
    "unterminated quote": ("a.csv", b'a,b\n"c,d\ne,f\n', {"unterminated-quote": 1}),
    "tabs in CSV": ("a.csv", b"a\tb\nc\td\n", {}),
    "string without a keyword": ("a.po", b'"a"\n\nmsgid "a"\nmsgstr "b"\n', {"bad-entry": 1}),
    "message without its end": ("a.po", b'msgid "a"\nmsgstr "b"\n\nmsgid "c"\n', {"bad-entry": 1}),
}


@pytest.mark.parametrize("case", FILES)
def test_odd_files_are_read_and_bad_records_dropped(tmp_path: Path, case: str) -> None:
    name, content, dropped = FILES[case]
    (tmp_path / name).write_bytes(content)
    assert read_all(tmp_path / name).dropped == dropped


REFUSED: dict[str, tuple[str, bytes, str]] = {
    "not MO": ("a.mo", b"text", "not an MO file"),
    "MO with strings outside": ("a.mo", b"\xde\x12\x04\x95" + b"\xff\xff\xff\x00" * 6, "damaged"),
    "not Parquet": ("a.parquet", b"PAR1" + b"x" * 40 + b"PAR1", "damaged Parquet"),
    "binary": ("a.tsv", bytes(range(256)) * 9, "a binary file, not text"),
    "MO named PO": ("a.po", b"\xde\x12\x04\x95" + bytes(30), "MO by its content. Rename it: mv "),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_files_are_refused(tmp_path: Path, case: str) -> None:
    name, content, message = REFUSED[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        read_all(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_and_a_folder_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.tsv")
    with pytest.raises(CorpusError, match=r"a\.tsv: not a regular file\. Save its content in a file\."):
        read_all(tmp_path / "a.tsv")
    (tmp_path / "b.tmx").mkdir()
    with pytest.raises(CorpusError, match="a folder, not a file"):
        read_texts([tmp_path / "b.tmx"], Ledger(None))


LONG = 3 * MAX_RECORD_BYTES
LONG_RECORDS: dict[str, tuple[str, Callable[[str], str]]] = {
    "TSV": ("a.tsv", lambda text: f"a\tb\n{text}\tx\nc\td\n"),
    "CSV": ("a.csv", lambda text: f"a,b\n{text},x\nc,d\n"),
    "quoted CSV": ("a.csv", lambda text: f'a,b\n"{text}",x\nc,d\n'),
    "JSON lines": (
        "a.jsonl",
        lambda text: "\n".join(json.dumps({"source": source, "target": "b"}) for source in ("a", text, "c")),
    ),
    "TMX": ("a.tmx", lambda text: tmx([("a", "b"), (text, "x"), ("c", "d")])),
    "PO": ("a.po", lambda text: f'msgid "a"\nmsgstr "b"\n\nmsgid "c"\nmsgstr "{text}"\n\nmsgid "c"\nmsgstr "d"\n'),
    "XLIFF": (
        "a.xlf",
        lambda text: (
            "<xliff>"
            + "".join(f"<segment><source>{t}</source><target>b</target></segment>" for t in ("a", text, "c"))
            + "</xliff>"
        ),
    ),
}


@pytest.mark.parametrize("case", LONG_RECORDS)
def test_a_record_that_is_too_long_is_dropped_without_filling_the_memory(tmp_path: Path, case: str) -> None:
    name, write = LONG_RECORDS[case]
    file = tmp_path / f"{name}.gz"
    file.write_bytes(gzip.compress(write("x" * 6 * LONG).encode(), 1))
    tracemalloc.start()
    ledger = read_all(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert ledger.dropped == {"too-long-line": 1}
    assert ledger.kept == 2
    assert peak < 4 * LONG


def mutations(seed: int, count: int, folder: Path) -> Iterator[Path]:
    """Yield files of each format with bytes changed, removed, repeated or cut off."""
    rng = random.Random(seed)
    names = [*TEXT_WRITERS, *TEXT_WRITERS, *TEXT_WRITERS, *BINARY_WRITERS]
    originals = {name: write_corpus(folder, name, PAIRS[:12]) for name in names}
    contents = {name: (path.name, path.read_bytes()) for name, path in originals.items()}
    marks = b'" \n \t \0 < & ]]> \xff <!-- \\ , <tu> msgid \xef\xbb\xbf &#0; ""'.split(b" ")
    for _ in range(count):
        name, content = contents[rng.choice(names)]
        raw = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            start = rng.randrange(len(raw) + 1)
            end = min(len(raw), start + rng.choice([0, 1, 1, 2, 20, 400]))
            replacement = [b"", rng.randbytes(rng.randint(1, 3)), rng.choice(marks), bytes(raw[start:end]) * 2]
            raw[start:end] = rng.choice(replacement)
        compression = rng.choice(["", "", "", ".gz", ".bz2", ".xz"])
        packed = {"": bytes, ".gz": lambda b: gzip.compress(b, 1), ".bz2": bz2.compress, ".xz": lzma.compress}
        file = folder / f"{name}{compression}"
        file.write_bytes(packed[compression](bytes(raw)))
        yield file


def check_mutations(seed: int, count: int, folder: Path) -> None:
    rng = random.Random(seed)
    for file in mutations(seed, count, folder):
        try:
            read_all(file, rng.choice(["utf-8", "utf-8", "auto", "cp949", "utf-16"]))
        except CorpusError as error:
            assert str(file) in str(error)
            assert ". " in str(error)


def test_damaged_files_of_each_format_end_with_a_sentence_or_a_ledger(tmp_path: Path) -> None:
    check_mutations(1, 250, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_damaged_files_of_each_format(tmp_path: Path, seed: int) -> None:
    check_mutations(seed, 10_000, tmp_path)


def test_zstandard_without_its_package_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.tsv.zst"
    file.write_bytes(zstandard().compress(tsv(PAIRS).encode()))
    assert read_all(file).kept == len(PAIRS)

    def fail(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", fail)
    with pytest.raises(CorpusError, match=r"Zstandard needs a package\. Install it: pip install backports\.zstd"):
        read_all(file)


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_the_size_of_a_compressed_file_is_right_or_not_known(tmp_path: Path, compression: str) -> None:
    path = tmp_path / f"c.tsv{compression}"
    for content in (tsv(PAIRS).encode(), os.urandom(5000)):  # random bytes grow
        path.write_bytes(COMPRESSORS[compression](content))
        is_known = not compression or (compression == ".gz" and path.stat().st_size < len(content))
        assert decompressed_size(path) == (len(content) if is_known else None)
    path.write_bytes(b"")
    assert decompressed_size(path) == (None if compression else 0)
