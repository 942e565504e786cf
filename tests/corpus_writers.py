"""Writers of the corpus formats, for tests: pairs → the bytes of a file."""

import bz2
import csv
import gzip
import html
import importlib
import io
import json
import lzma
import re
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

Pairs = Sequence[tuple[str, str]]
LANGUAGES = ("en", "ko")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def xml_text(text: str) -> str:
    return html.escape(_NOT_XML.sub("", text), quote=False).replace("\r", "&#13;")


def csv_text(pairs: Pairs, delimiter: str = ",", *, quoted: bool = False) -> str:
    stream = io.StringIO()
    quoting: Literal[0, 1] = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    csv.writer(stream, delimiter=delimiter, quoting=quoting).writerows(pairs)
    return stream.getvalue()


def tsv(pairs: Pairs) -> str:
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


def json_lines(pairs: Pairs) -> str:
    return "".join(json.dumps({"source": source, "target": target}) + "\n" for source, target in pairs)


def tmx(pairs: Pairs) -> str:
    units = "".join(
        f'<tu tuid="{i}">\n<tuv xml:lang="KO-kr"><seg>{xml_text(target)}</seg></tuv>\n'
        f'<tuv xml:lang="en-US"><seg>{xml_text(source)}</seg></tuv></tu>\n'
        for i, (source, target) in enumerate(pairs)
    )
    return f'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en"/><body>\n{units}</body></tmx>\n'


def xliff1(pairs: Pairs) -> str:
    units = "".join(
        f'<trans-unit id="{i}"><source>{xml_text(source)}</source>\n<target>{xml_text(target)}</target></trans-unit>\n'
        for i, (source, target) in enumerate(pairs)
    )
    return (
        '<?xml version="1.0"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
        f"<file><body>{units}</body></file></xliff>"
    )


def xliff2(pairs: Pairs) -> str:
    units = "".join(
        f'<unit id="{i}"><segment><source>{xml_text(source)}</source>'
        f"<target>{xml_text(target)}</target></segment></unit>"
        for i, (source, target) in enumerate(pairs)
    )
    return f'<xliff version="2.1" xmlns="urn:oasis:names:tc:xliff:document:2.0"><file>{units}</file></xliff>'


def po_string(text: str) -> str:
    for character, name in (("\\", "\\"), ('"', '"'), ("\n", "n"), ("\r", "r"), ("\t", "t")):
        text = text.replace(character, f"\\{name}")
    return f'"{text}"'


def po(pairs: Pairs) -> str:
    return "".join(
        f"#: a.c:{i}\nmsgid {po_string(source)}\nmsgstr {po_string(target)}\n\n"
        for i, (source, target) in enumerate(pairs)
    )


def mo(pairs: Pairs) -> bytes:
    strings = [text.encode() for pair in pairs for text in pair]
    start = 28 + 8 * len(strings)
    spans, content = list[tuple[int, int]](), b""
    for string in strings:
        spans.append((len(string), start + len(content)))
        content += string + b"\0"
    tables = [struct.pack("<II", *span) for span in (*spans[::2], *spans[1::2])]
    header = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 28 + 16 * len(pairs))
    return header + b"".join(tables) + content


def parquet(pairs: Pairs) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"source": [source for source, _ in pairs], "target": [target for _, target in pairs]})
    stream = io.BytesIO()
    importlib.import_module("pyarrow.parquet").write_table(table, stream)
    return stream.getvalue()


def arrow(pairs: Pairs) -> bytes:
    """Return a stream of batches, as `save_to_disk` writes it."""
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"source": [source for source, _ in pairs], "target": [target for _, target in pairs]})
    stream = io.BytesIO()
    with pyarrow.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    return stream.getvalue()


TEXT_WRITERS: dict[str, tuple[str, Callable[[Pairs], str]]] = {
    "TSV": (".tsv", tsv),
    "CSV": (".csv", csv_text),
    "CSV with semicolons": (".csv", lambda pairs: csv_text(pairs, ";")),
    "CSV with tabs": (".csv", lambda pairs: csv_text(pairs, "\t", quoted=True)),
    "JSON lines": (".jsonl", json_lines),
    "TMX": (".tmx", tmx),
    "XLIFF 1.2": (".xliff", xliff1),
    "XLIFF 2.1": (".xlf", xliff2),
    "PO": (".po", po),
}
"""Format → end of the name, and the writer of its text."""


BINARY_WRITERS: dict[str, tuple[str, Callable[[Pairs], bytes]]] = {
    "MO": (".mo", mo),
    "Parquet": (".parquet", parquet),
    "Arrow": (".arrow", arrow),
}


def zstandard() -> Any:
    """Return the module for Zstandard; skip the test if it is not installed."""
    return pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def compress_zstandard(content: bytes) -> bytes:
    """Return the content as the command zstd writes it, with a checksum."""
    module = zstandard()
    return bytes(module.compress(content, options={module.CompressionParameter.checksum_flag: 1}))


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: compress_zstandard(content),
}


def write_corpus(
    folder: Path, format_name: str, pairs: Pairs, *, encoding: str = "utf-8", compression: str = ""
) -> Path:
    """Write pairs in a format, an encoding and a compression; return the file."""
    if format_name in BINARY_WRITERS:
        suffix, write_binary = BINARY_WRITERS[format_name]
        content = write_binary(pairs)
    else:
        suffix, write_text = TEXT_WRITERS[format_name]
        content = write_text(pairs).encode(encoding)
    path = folder / f"corpus{suffix}{compression}"
    path.write_bytes(COMPRESSORS[compression](content))
    return path
