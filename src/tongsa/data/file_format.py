"""Recognition of files that are not UTF-8 TSV, JSON lines or plain text, each with the command that converts them."""

import codecs
import gzip
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tongsa.data.ledger import Ledger

HEAD_BYTES = 1 << 16
"""Bytes at the start of a file by which its format is recognized."""
MIN_BAD_LINES, MIN_BAD_SHARE = 10, 0.9
"""Lines that are not UTF-8 in the head of a file that is refused, and their share of the non-ASCII lines."""
MAX_SNIFFED_LINES, MIN_SEPARATOR_SHARE = 200, 0.9
"""Lines in which the separator of columns is counted, and the share of lines that must have it."""
MIN_SCRIPT_SHARE = 0.7
"""Share of the decoded non-ASCII characters that must be common letters in the script of an encoding."""

_CELLS = "' '.join(cell.split())"
_PYTHON = "python3 -X utf8 -c "
_FROM_CSV = (
    f"import csv, sys; [print(*({_CELLS} for cell in row), sep='\\t') "
    "for row in csv.reader(open(sys.argv[1], encoding='utf-8-sig', newline=''), delimiter='DELIMITER')]"
)
_FROM_JSON = "import json, sys; [print(json.dumps(row)) for row in json.load(open(sys.argv[1]))]"
_FROM_TMX = (
    "import sys, xml.etree.ElementTree as tree; [print(*(' '.join(''.join(seg.itertext()).split()) "
    "for seg in unit.iter('seg')), sep='\\t') for unit in tree.parse(sys.argv[1]).iter('tu')]"
)
_FROM_XLIFF = (
    "import sys, xml.etree.ElementTree as tree; [print(*(' '.join(''.join(unit.find('{*}' + side).itertext()).split()) "
    "for side in ('source', 'target')), sep='\\t') for unit in tree.parse(sys.argv[1]).iter() "
    "if unit.find('{*}source') is not None and unit.find('{*}target') is not None]"
)
_FROM_PO = (
    "import ast, re, sys; [print(*(' '.join(''.join(map(ast.literal_eval, text.splitlines())).split()) "
    "for text in entry), sep='\\t') for entry in "
    "re.findall(r'(?m)^msgid ((?:\\x22.*\\x22\\n)+)msgstr ((?:\\x22.*\\x22\\n?)+)', open(sys.argv[1]).read())]"
)
_FROM_PARQUET = "import pandas, sys; print(pandas.read_parquet(sys.argv[1]).to_json(orient='records', lines=True))"
_SPREADSHEET = "In the spreadsheet program, save the sheet as tab-separated text in UTF-8 (.tsv)"
_DOCUMENT = "Write its text in UTF-8, one source<TAB>target (or one text) per line"

_CONVERTERS = {
    ".json": ("JSON", _FROM_JSON, ".jsonl"),
    ".tmx": ("TMX", _FROM_TMX, ".tsv"),
    ".xliff": ("XLIFF", _FROM_XLIFF, ".tsv"),
    ".xlf": ("XLIFF", _FROM_XLIFF, ".tsv"),
    ".po": ("gettext PO", _FROM_PO, ".tsv"),
    ".parquet": ("Parquet", _FROM_PARQUET, ".jsonl"),
}
"""Suffix → name of the format, Python code that converts it, suffix of the result."""
_UNPACKERS = {
    ".bz2": "bunzip2 -k {file}",
    ".xz": "unxz -k {file}",
    ".zst": "unzstd {file}",
    ".zip": "unzip {file}",
    ".7z": "7z x {file}",
    ".tar": "tar -xf {file}",
    ".tgz": "tar -xf {file}",
}
_DOCUMENTS = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), ("a spreadsheet", _SPREADSHEET)),
    **dict.fromkeys((".pdf", ".doc", ".docx", ".odt", ".rtf"), ("a document", _DOCUMENT)),
    **dict.fromkeys((".srt", ".vtt", ".html", ".htm", ".xml", ".sgm"), ("marked-up text", _DOCUMENT)),
}
_SIGNATURES = {
    b"PAR1\x15": ".parquet",
    b"%PDF-": ".pdf",
    b"BZh91AY": ".bz2",
    b"\xfd7zXZ": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"7z\xbc\xaf": ".7z",
    b"\xd0\xcf\x11\xe0": ".xls",
}
_BINARY_SUFFIXES = (".xlsx", ".xls", ".ods", ".pdf", ".doc", ".docx", ".odt", ".parquet")
_SED_SEPARATORS = {" ||| ": ("|||", " ||| "), "\\t": ("a backslash and t", r"\\t"), "    ": ("spaces", "    *")}
"""Separator of columns → its name, and the regular expression of `sed` for it."""
_ENCODINGS = {
    "CP949": ("[가-힣]", "iso2022_kr"),
    "SHIFT_JIS": ("[ぁ-ヾ一-鿿]", "shift_jis"),
    "EUC-JP": ("[ぁ-ヾ一-鿿]", "shift_jis"),
    "CP1251": ("[А-я]", "cp1251"),
    "GB18030": ("[一-鿿]", "gb2312"),
    "BIG5": ("[一-鿿]", "big5"),
}
"""Encoding → letters of its script, and a character set of the common ones. The first of two that fit alike wins."""


def convert_command(path: Path, code: str, suffix: str) -> str:
    """Return the shell command that converts a file with Python code, next to the file."""
    return f'{_PYTHON}"{code}" {_quote(path)} > {_quote(path.with_suffix(suffix))}'


def delimiter_command(path: Path, delimiter: str) -> str:
    """Return the command that converts delimited text with quotes into TSV without quotes."""
    target = path.with_suffix(".tsv") if path.suffix != ".tsv" else path.with_name(f"{path.stem}-unquoted.tsv")
    code = _FROM_CSV.replace("DELIMITER", "\\t" if delimiter == "\t" else delimiter)
    return f'{_PYTHON}"{code}" {_quote(path)} > {_quote(target)}'


def encoding_command(path: Path, encoding: str) -> str:
    return f"iconv -f {encoding} -t UTF-8 {_quote(path)} > {_quote(path.with_name(f'{path.stem}-utf8{path.suffix}'))}"


def _quote(path: Path) -> str:
    return shlex.quote(str(path))


def explain_format(path: Path) -> str:
    """Return what is wrong with a file and the remedy, as `what. What to do.`; "" if it can be read."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    suffix = path.suffix.lower()
    if suffix == ".gz":
        is_gzip = not head or head.startswith(b"\x1f\x8b")
        return "" if is_gzip else f"not gzip. Rename it: mv {_quote(path)} {_quote(path.with_suffix(''))}"
    if head.startswith(b"\x1f\x8b"):
        return f"gzip without .gz in its name. Rename it: mv {_quote(path)} {_quote(path)}.gz"
    signature = next((known for start, known in _SIGNATURES.items() if head.startswith(start)), suffix)
    if head.startswith(b"PK\x03\x04") and suffix not in _DOCUMENTS:
        signature = ".xlsx" if b"xl/" in head else ".docx" if b"word/" in head else ".zip"
    return _explain_suffix(path, signature, head) or explain_encoding(path, head) or _explain_line_ends(path, head)


def is_binary(path: Path) -> bool:
    """Return whether a file is a spreadsheet, a document or another format that is no text in any encoding."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    is_known = path.suffix.lower() in _BINARY_SUFFIXES or head.startswith((b"PK\x03\x04", *_SIGNATURES))
    return is_known or (b"\0" in head and not _unicode_encoding(head))


def _explain_suffix(path: Path, suffix: str, head: bytes) -> str:
    if suffix in (".csv", ".po") and (explanation := explain_encoding(path, head)):
        return explanation  # first: the converters read UTF-8
    if suffix == ".csv":
        return explain_separator(path, head) or f"CSV is not read. Convert it: {delimiter_command(path, ',')}"
    if suffix == ".json" and _holds_json_lines(head):
        return f"JSON lines. Rename it: mv {_quote(path)} {_quote(path.with_suffix('.jsonl'))}"
    if suffix in _CONVERTERS:
        name, code, result_suffix = _CONVERTERS[suffix]
        return f"{name} is not read. Convert it: {convert_command(path, code, result_suffix)}"
    if suffix in _UNPACKERS:
        return f"an archive ({suffix}). Unpack it: {_UNPACKERS[suffix].format(file=_quote(path))}"
    if suffix in _DOCUMENTS:
        name, remedy = _DOCUMENTS[suffix]
        return f"{name} ({suffix}), not lines of text. {remedy}."
    return ""


def explain_separator(path: Path, head: bytes) -> str:
    """Return what separates the columns of a text file instead of tabs, and the remedy; "" if it is not clear."""
    lines = [line for line in head.decode("utf-8", "replace").splitlines() if line.strip()][:MAX_SNIFFED_LINES]
    if not lines:
        return "no text. Give a file with source<TAB>target lines."

    def share(separator: str) -> float:
        return sum(separator in line for line in lines) / len(lines)

    if share("\t") > 0.5:
        rename = f"mv {_quote(path)} {_quote(path.with_suffix('.tsv'))}"
        return f"TSV by its content. Rename it: {rename}" if path.suffix.lower() == ".csv" else ""
    if _holds_json_lines(head):
        return f"JSON lines. Rename it: mv {_quote(path)} {_quote(path.with_suffix('.jsonl'))}"
    for separator, (name, expression) in _SED_SEPARATORS.items():
        if share(separator) > MIN_SEPARATOR_SHARE:
            target = _quote(path.with_name(f"{path.stem}-tabs.tsv"))
            return f"columns separated by {name}. Convert it: sed 's/{expression}/\\t/' {_quote(path)} > {target}"
    delimiter = max((";", "|", ","), key=share)
    if share(delimiter) > MIN_SEPARATOR_SHARE:
        return f"columns separated by {delimiter!r}. Convert it: {delimiter_command(path, delimiter)}"
    return ""


def no_pairs_message(file: str | Path, ledger: Ledger, remedy: str) -> str:
    """Return why no line of a file can be used: the separator of its columns, else the first dropped line."""
    path = Path(file)
    head = b""
    if path.is_file():
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
    if set(ledger.dropped) <= {"no-tab", "empty"} and (explanation := explain_separator(path, head)):
        return f"{path}: no usable pair: {explanation}"
    return f"{path}: no usable pair: {ledger.counts()}{ledger.first_dropped and f'; {ledger.first_dropped}'}. {remedy}"


def _holds_json_lines(head: bytes) -> bool:
    """Return whether the first line is a JSON object."""
    try:
        return isinstance(json.loads(head.split(b"\n", 1)[0]), dict)
    except (ValueError, RecursionError):
        return False


def explain_encoding(path: Path, head: bytes) -> str:
    """Return the encoding of a file that is not UTF-8, and the command that converts it; "" for UTF-8."""
    encoding = _unicode_encoding(head)
    if not encoding:
        bad_lines = [line for line in _complete_lines(head) if not _is_utf8(line)]
        non_ascii = sum(not line.isascii() for line in _complete_lines(head))
        if len(bad_lines) < max(MIN_BAD_LINES, MIN_BAD_SHARE * non_ascii):
            return ""  # iconv would damage the lines that are UTF-8
        encoding = guess_encoding(b"\n".join(bad_lines))
    return f"{encoding}, not UTF-8. Convert it: {encoding_command(path, encoding)}" if encoding else ""


def _unicode_encoding(head: bytes) -> str:
    """Return UTF-16 or UTF-32 by the byte order mark or by the zero bytes."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "UTF-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16"
    line_ends = head.count(b"\n")  # in UTF-16 an ASCII character such as a line end has a zero byte
    if head.count(b"\0") < max(MIN_BAD_LINES, len(head) / 8):
        return ""
    if head.count(b"\n\0") >= line_ends - 1:
        return "UTF-16LE"
    return "UTF-16BE" if head.count(b"\0\n") == line_ends else ""


def _complete_lines(head: bytes) -> Iterator[bytes]:
    lines = head.split(b"\n")
    yield from lines[:-1] if len(head) == HEAD_BYTES else lines


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def guess_encoding(raw: bytes) -> str:
    """Return the encoding in which most non-ASCII characters are common letters of its script; "" if none fits."""
    if unicode_encoding := _unicode_encoding(raw):
        return unicode_encoding
    runs = re.findall(rb"[\x80-\xff]+", raw)
    if sum(len(run) == 1 for run in runs) > len(runs) / 2:  # accented letters in ASCII words
        return "CP1252"
    shares = {encoding: _common_letter_share(raw, encoding) for encoding in _ENCODINGS}
    best = max(shares, key=lambda encoding: round(shares[encoding], 1))
    return best if shares[best] >= MIN_SCRIPT_SHARE else ""


def _common_letter_share(raw: bytes, encoding: str) -> float:
    """Return the share of common letters of the script among the non-ASCII characters; 0 if it cannot be decoded."""
    letters, character_set = _ENCODINGS[encoding]
    try:
        decoded = "".join(character for character in raw.decode(encoding) if ord(character) > 0x7F)
    except UnicodeDecodeError:
        return 0.0
    common = decoded.encode(character_set, "ignore").decode(character_set)
    return len(re.findall(letters, common)) / max(1, len(decoded))


def _explain_line_ends(path: Path, head: bytes) -> str:
    if head.count(b"\r") < max(MIN_BAD_LINES, 2 * head.count(b"\n")):
        return ""
    target = _quote(path.with_name(f"{path.stem}-lines{path.suffix}"))
    return f"lines end in CR only. Convert it: tr '\\r' '\\n' < {_quote(path)} > {target}"
