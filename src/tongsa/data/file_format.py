"""Recognition of files that are not read as a corpus, each with a command or a sentence that says what to do."""

import json
import shlex
from pathlib import Path

from tongsa.data.compression import COMPRESSIONS, compression_of, format_suffix
from tongsa.data.encoding import (
    AUTO,
    HEAD_BYTES,
    MIN_BAD_LINES,
    is_utf8,
    is_utf8_name,
    marked_encoding,
    recognized_encoding,
    unicode_encoding,
)
from tongsa.data.formats import FORMATS, PLAIN_TEXT
from tongsa.data.ledger import Ledger
from tongsa.data.records import CorpusError
from tongsa.data.source_file import DECLARING_SUFFIXES, SourceFile

MAX_SNIFFED_LINES, MIN_SEPARATOR_SHARE = 200, 0.9
"""Lines in which the separator of columns is counted, and the share of lines that must have it."""
MIN_CONTROL_SHARE = 0.1
"""Share of control characters in the head of a file that is no text."""

_FROM_JSON = "import json, sys; [print(json.dumps(row)) for row in json.load(open(sys.argv[1]))]"
_SPREADSHEET = "In the spreadsheet program, save the sheet as comma-separated text in UTF-8 (.csv)"
_DOCUMENT = "Write its text in UTF-8, one source<TAB>target (or one text) per line"
_UNPACKERS = {
    ".zip": "unzip {file}",
    ".7z": "7z x {file}",
    ".tar": "tar -xf {file}",
    ".tgz": "tar -xf {file}",
}
"""Archives, which may hold several files → command."""
_DOCUMENTS = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), ("a spreadsheet", _SPREADSHEET)),
    **dict.fromkeys((".pdf", ".doc", ".docx", ".odt", ".rtf"), ("a document", _DOCUMENT)),
    **dict.fromkeys((".srt", ".vtt", ".html", ".htm", ".xml", ".sgm"), ("marked-up text", _DOCUMENT)),
}
_SIGNATURES = {
    b"PAR1\x15": ".parquet",
    b"%PDF-": ".pdf",
    b"7z\xbc\xaf": ".7z",
    b"\xd0\xcf\x11\xe0": ".xls",
    b"\xde\x12\x04\x95": ".mo",
    b"\x95\x04\x12\xde": ".mo",
}
_SED_SEPARATORS = {" ||| ": ("|||", " ||| "), "\\t": ("a backslash and t", r"\\t"), "    ": ("spaces", "    *")}
"""Separator of columns → its name, and the regular expression of `sed` for it."""
_CONTROL_BYTES = bytes({*range(32)} - {*b"\t\n\r\f\v\x1b"})


def _quote(path: Path) -> str:
    return shlex.quote(str(path))


def _print_command(path: Path) -> str:
    """Return the command that prints a file, decompressed."""
    compression = compression_of(path)
    return f"{compression.command if compression else 'cat'} {_quote(path)}"


def _converted_path(path: Path, mark: str, suffix: str = "") -> str:
    """Return the quoted name of a converted file: without a compression, with a mark if the name would be the same."""
    plain = path.with_suffix("") if compression_of(path) else path
    return _quote(plain.with_name(f"{plain.stem}{mark}{suffix or plain.suffix}"))


def explain_format(file: SourceFile) -> str:
    """Return what is wrong with a file and the remedy, as `what. What to do.`; "" if it can be read."""
    path = file.path
    with path.open("rb") as stream:
        raw = stream.read(HEAD_BYTES)
    compression = compression_of(path)
    if compression and raw and not raw.startswith(compression.signature):
        return f"not {compression.name}. Rename it: mv {_quote(path)} {_quote(path.with_suffix(''))}"
    for suffix, other in COMPRESSIONS.items():
        is_text = suffix == ".bz2" and raw[4:10] != b"1AY&SY"  # a text may begin with BZh
        if not compression and raw.startswith(other.signature) and not is_text:
            return f"{other.name} without {suffix} in its name. Rename it: mv {_quote(path)} {_quote(path)}{suffix}"
    try:
        head = file.head if compression else raw
    except CorpusError:
        return ""  # damaged: reading it says in which line
    return (
        _explain_suffix(path, _true_suffix(path, head), head)
        or _explain_encoding(file, head)
        or _explain_binary(file, head)
        or _explain_line_ends(file, head)
    )


def _true_suffix(path: Path, head: bytes) -> str:
    """Return the suffix by the signature of the content, else by the name."""
    suffix = format_suffix(path)
    if head.startswith(b"PK\x03\x04") and suffix not in _DOCUMENTS:
        return ".xlsx" if b"xl/" in head else ".docx" if b"word/" in head else ".zip"
    return next((known for start, known in _SIGNATURES.items() if head.startswith(start)), suffix)


def _explain_suffix(path: Path, suffix: str, head: bytes) -> str:
    if suffix == ".json" and _holds_json_lines(head):
        return f"JSON lines. Rename it: mv {_quote(path)} {_converted_path(path, '', '.jsonl')}"
    if suffix == ".json":
        return f"JSON is not read. Convert it: {_json_command(path)}"
    if suffix in _UNPACKERS:
        return f"an archive ({suffix}). Unpack it: {_UNPACKERS[suffix].format(file=_quote(path))}"
    if suffix in _DOCUMENTS:
        name, remedy = _DOCUMENTS[suffix]
        return f"{name} ({suffix}), not lines of text. {remedy}."
    if suffix in FORMATS and FORMATS[suffix].is_binary and suffix != format_suffix(path):
        return f"{suffix[1:].upper()} by its content. Rename it: mv {_quote(path)} {_quote(path.with_suffix(suffix))}"
    return ""


def _json_command(path: Path) -> str:
    target = _converted_path(path, "", ".jsonl")
    if compression_of(path):
        return f'{_print_command(path)} | python3 -X utf8 -c "{_FROM_JSON}" /dev/stdin > {target}'
    return f'python3 -X utf8 -c "{_FROM_JSON}" {_quote(path)} > {target}'


def _explain_encoding(file: SourceFile, head: bytes) -> str:
    """Return how to read a file that is not in the encoding of the settings; "" if it is."""
    suffix = format_suffix(file.path)
    if FORMATS.get(suffix, PLAIN_TEXT).is_binary or file.encoding == AUTO:
        return ""
    encoding = file.text_encoding
    if is_utf8_name(encoding):
        recognized = recognized_encoding(head, MIN_BAD_LINES)
        return f"{recognized}, not UTF-8. Convert it while reading: --set data.encoding={recognized}" * bool(recognized)
    if suffix in DECLARING_SUFFIXES or marked_encoding(head):
        return ""  # named in the file
    is_wide = encoding.upper().startswith(("UTF-16", "UTF-32", "UTF16", "UTF32"))
    whole_lines = head.rpartition(b"\n")[0] or head
    if is_utf8(whole_lines) and (b"\0" not in head if is_wide else not head.isascii()):
        return f"UTF-8, not {file.encoding}. Recognize the encoding of each file: --set data.encoding=auto"
    return ""


def output_encoding_message(path: Path) -> str:
    """Return the encoding of a text file that must be UTF-8, and the command that converts it; "" for UTF-8."""
    encoding = recognized_encoding(SourceFile(path).head, MIN_BAD_LINES)
    command = f"{_print_command(path)} | iconv -f {encoding} -t UTF-8 > {_converted_path(path, '-utf8')}"
    return f"{encoding}, not UTF-8. Convert it: {command}" if encoding else ""


def _explain_binary(file: SourceFile, head: bytes) -> str:
    is_text = not FORMATS.get(format_suffix(file.path), PLAIN_TEXT).is_binary and is_utf8_name(file.text_encoding)
    if not is_text or not head or unicode_encoding(head):
        return ""
    control_share = (len(head) - len(head.translate(None, _CONTROL_BYTES))) / len(head)
    if control_share < MIN_CONTROL_SHARE or is_utf8(head.rpartition(b"\n")[0] or head):
        return ""
    return "a binary file, not text. Give a text file, or see the formats in docs/guide.md."


def _explain_line_ends(file: SourceFile, head: bytes) -> str:
    suffix = format_suffix(file.path)
    has_lines = FORMATS.get(suffix, PLAIN_TEXT).has_lines or suffix in (".csv", ".po")
    if not has_lines or head.count(b"\r") < max(MIN_BAD_LINES, 2 * head.count(b"\n")):
        return ""
    target = _converted_path(file.path, "-lines")
    return f"lines end in CR only. Convert it: {_print_command(file.path)} | tr '\\r' '\\n' > {target}"


def is_binary(path: Path) -> bool:
    """Return whether a file is a spreadsheet, a document or another format that is no text in any encoding."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    suffixes = (".xlsx", ".xls", ".ods", ".pdf", ".doc", ".docx", ".odt", ".parquet")
    is_known = path.suffix.lower() in suffixes or head.startswith((b"PK\x03\x04", *_SIGNATURES))
    is_compressed = any(head.startswith(other.signature) for other in COMPRESSIONS.values()) and b"\0" in head
    return is_known or (is_compressed and not compression_of(path)) or (b"\0" in head and not unicode_encoding(head))


def explain_separator(path: Path, head: bytes) -> str:
    """Return what separates the columns of a text file instead of tabs, and the remedy; "" if it is not clear."""
    lines = [line for line in head.decode("utf-8", "replace").splitlines() if line.strip()][:MAX_SNIFFED_LINES]
    if not lines:
        return "no text. Give a file with source<TAB>target lines."

    def share(separator: str) -> float:
        return sum(separator in line for line in lines) / len(lines)

    if share("\t") > 0.5:
        return ""
    if _holds_json_lines(head):
        return f"JSON lines. Rename it: mv {_quote(path)} {_other_name(path, '.jsonl')}"
    for separator, (name, expression) in _SED_SEPARATORS.items():
        if share(separator) > MIN_SEPARATOR_SHARE:
            command = f"{_print_command(path)} | sed 's/{expression}/\\t/' > {_converted_path(path, '-tabs', '.tsv')}"
            return f"columns separated by {name}. Convert it: {command}"
    delimiter = max((";", "|", ","), key=share)
    if share(delimiter) > MIN_SEPARATOR_SHARE and format_suffix(path) != ".csv":
        return f"columns separated by {delimiter!r}. Rename it: mv {_quote(path)} {_other_name(path, '.csv')}"
    return ""


def _other_name(path: Path, suffix: str) -> str:
    plain = path.with_suffix("") if compression_of(path) else path
    return _quote(plain.with_suffix(suffix + (path.suffix if compression_of(path) else "")))


def no_pairs_message(file: str | Path, ledger: Ledger, remedy: str) -> str:
    """Return why no line of a file can be used: the separator of its columns, else the first dropped line."""
    path = Path(file)
    head = SourceFile(path).head if path.is_file() else b""
    if (
        path.is_file()
        and set(ledger.dropped) <= {"no-tab", "no-column", "empty"}
        and (explanation := explain_separator(path, head))
    ):
        return f"{path}: no usable pair: {explanation}"
    return f"{path}: no usable pair: {ledger.counts()}{ledger.first_dropped and f'; {ledger.first_dropped}'}. {remedy}"


def _holds_json_lines(head: bytes) -> bool:
    """Return whether the first line is a JSON object."""
    try:
        return isinstance(json.loads(head.split(b"\n", 1)[0]), dict)
    except (ValueError, RecursionError):
        return False
