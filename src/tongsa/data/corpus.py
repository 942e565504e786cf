"""Streaming readers of parallel text: TSV, JSON lines, parallel files, gzip. Bad lines go to the ledger."""

import gzip
import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, BinaryIO

from tongsa.data.file_format import explain_format, guess_encoding
from tongsa.data.language_id import LANGUAGE_NAMES
from tongsa.data.ledger import Ledger, Pair
from tongsa.data.normalize import normalize
from tongsa.errors import InputError

_BOM = b"\xef\xbb\xbf"


class CorpusError(InputError):
    """A file that cannot be read as a corpus."""


class _BadLineError(Exception):
    """A line to be dropped, with reason and detail for the ledger."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


def read_pairs(
    files: Sequence[str | Path],
    ledger: Ledger,
    *,
    columns: tuple[int, int] = (1, 2),
    languages: tuple[str, str] = ("", ""),
    header: bool = False,
) -> Iterator[Pair]:
    """Return the normalized pairs of files, in the order of the files and their lines.

    Files named *.tsv or *.jsonl, optionally with .gz, hold pairs. Other files are parallel: source file, then target
    file. A single remaining file is read as TSV.

    Args:
        files: Paths of the files.
        ledger: Receives each line as read, and as kept or dropped.
        columns: TSV columns of source and target, counted from 1 as `cut -f` does. There is no quoting.
        languages: Language codes that may be keys of JSON lines, instead of "source" and "target". The keys may be at
            the top level or in "translation".
        header: True if the first line of each TSV file names the columns.

    """
    if min(columns) < 1:
        raise CorpusError(f"data.columns {list(columns)}: columns are counted from 1. Write 1 or more.")
    paths = [Path(file) for file in files]
    for path in paths:
        _check_file(path)  # all files before the first line is read
    return chain.from_iterable(
        _read_parallel_files(unit[0], unit[1], ledger)
        if len(unit) == 2
        else _read_pair_file(unit[0], ledger, columns=columns, languages=languages, header=header)
        for unit in group_files(paths)
    )


def read_texts(files: Sequence[str | Path], ledger: Ledger) -> Iterator[Pair]:
    """Return monolingual texts as pairs with an empty source: one per line, or the key "text" of JSON lines."""
    paths = [Path(file) for file in files]
    for path in paths:
        _check_file(path)
    return chain.from_iterable(_read_text_file(path, ledger) for path in paths)


def _read_text_file(path: Path, ledger: Ledger) -> Iterator[Pair]:
    file, holds_json = str(path), _format_suffix(path) == ".jsonl"
    for number, raw in enumerate(raw_lines(path), start=1):
        ledger.count_read(file)
        try:
            line = _decode_or_drop(raw)
            pair = Pair("", normalize(_parse_json_text(line) if holds_json and line.strip() else line), file, number)
            if not pair.target:
                raise _BadLineError("empty")
        except _BadLineError as bad:
            ledger.drop(file, number, bad.reason, bad.detail)
            continue
        ledger.keep(pair)
        yield pair


def read_lines(source: str | Path | BinaryIO) -> Iterator[str]:
    """Yield the lines of a file, of standard input ("-") or of a binary stream, unchanged; empty lines included."""
    if source == "-":
        source = standard_input()
    name = str(source) if isinstance(source, str | Path) else getattr(source, "name", "input")
    lines = raw_lines(Path(source)) if isinstance(source, str | Path) else _strip_line_ends(source)
    for number, raw in enumerate(lines, start=1):
        yield decode_line(raw, f"{name}:{number}")


def standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise CorpusError("standard input: closed. Give a file, or redirect the input.")
    return sys.stdin.buffer


def decode_line(raw: bytes, location: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        encoding = guess_encoding(raw)
        raise CorpusError(
            f"{location}: not UTF-8 ({error.reason} at byte {error.start + 1}). "
            f"Convert the file with iconv -f {encoding or 'ITS_ENCODING'} -t UTF-8."
        ) from None


def group_files(paths: Sequence[Path]) -> Iterator[tuple[Path, ...]]:
    """Yield a file of pairs alone, and two parallel files together."""
    source: Path | None = None
    for path in paths:
        if _format_suffix(path) in (".tsv", ".jsonl"):
            yield (path,)
        elif source is None:
            source = path
        else:
            yield source, path
            source = None
    if source is not None:
        yield (source,)


def _format_suffix(path: Path) -> str:
    """Return the suffix without .gz: .tsv for x.tsv and x.tsv.gz."""
    uncompressed = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return uncompressed.suffix.lower()


def language_suffixes(paths: Sequence[Path]) -> tuple[str, str]:
    """Return the language codes that name all parallel files, such as ("de", "en") for train.de and train.en.gz.

    Both are "" unless all files are parallel and agree.
    """
    units = list(group_files(paths))
    suffixes = {tuple(_format_suffix(path)[1:] for path in unit) for unit in units}
    codes = suffixes.pop() if len(suffixes) == 1 else ()
    is_known = len(codes) == 2 and codes[0] != codes[1] and all(code in LANGUAGE_NAMES for code in codes)
    return (codes[0], codes[1]) if is_known else ("", "")


def check_files(files: Sequence[str | Path]) -> None:
    """Raise CorpusError for the first file that cannot be opened or has a format that is not read."""
    for file in files:
        _check_file(Path(file))


def _check_file(path: Path) -> None:
    try:
        with path.open("rb"):
            explanation = explain_format(path) if path.is_file() else ""  # a pipe can be read only once
    except OSError as error:
        raise CorpusError(unreadable_message(path, error)) from None
    if explanation:
        raise CorpusError(f"{path}: {explanation}")


def unreadable_message(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{path}: no such file. Check the name and the folder."
    if isinstance(error, IsADirectoryError):
        return f"{path}: a folder, not a file. Give the files in it."
    return f"{path}: cannot be read ({error.strerror or error}). Check its permissions and the disk."


def raw_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file without line ends. Only a line feed ends a line, not U+2028 or a form feed."""
    number = 0
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            for raw in _strip_line_ends(stream):
                number += 1
                yield raw
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        location = f"{path}:{number + 1}: damaged gzip ({error})"
        raise CorpusError(f"{location}. Copy the file again and test it with gzip -t.") from None
    except OSError as error:
        raise CorpusError(unreadable_message(path, error)) from None


def _strip_line_ends(stream: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    return (strip_line_end(raw, number) for number, raw in enumerate(stream))


def strip_line_end(raw: bytes, line_index: int) -> bytes:
    """Remove the line end, and from the first line (index 0) the byte order mark."""
    line = raw.removesuffix(b"\n").removesuffix(b"\r")
    return line.removeprefix(_BOM) if line_index == 0 else line


def _read_parallel_files(source_path: Path, target_path: Path, ledger: Ledger) -> Iterator[Pair]:
    """Yield the pairs of two parallel files. A bad side drops the pair, under the name of the source file."""
    file, number = str(source_path), 0
    sides = zip_longest(raw_lines(source_path), raw_lines(target_path))
    for number, (source, target) in enumerate(sides, start=1):
        if source is None or target is None:
            shorter, longer = number - 1, number + sum(1 for _ in sides)
            counts = (shorter, longer) if source is None else (longer, shorter)
            raise CorpusError(
                f"{source_path}, {target_path}: not parallel ({counts[0]:,} and {counts[1]:,} lines). "
                "Find the missing line: line n of one file must translate line n of the other."
            )
        ledger.count_read(file)
        try:
            texts = _decode_or_drop(source, str(source_path)), _decode_or_drop(target, str(target_path))
            pair = _make_pair(*texts, file, number)
        except _BadLineError as bad:
            ledger.drop(file, number, bad.reason, bad.detail)
            continue
        ledger.keep(pair)
        yield pair


def _read_pair_file(
    path: Path, ledger: Ledger, *, columns: tuple[int, int], languages: tuple[str, str], header: bool
) -> Iterator[Pair]:
    file, holds_json = str(path), _format_suffix(path) == ".jsonl"
    for number, raw in enumerate(raw_lines(path), start=1):
        ledger.count_read(file)
        try:
            line = _decode_or_drop(raw)
            if not line.strip():
                raise _BadLineError("empty")
            if header and not holds_json:
                header = False
                raise _BadLineError("header")
            source, target = _parse_json_pair(line, languages) if holds_json else _parse_tsv(line, columns)
            pair = _make_pair(source, target, file, number)
        except _BadLineError as bad:
            ledger.drop(file, number, bad.reason, bad.detail)
            continue
        ledger.keep(pair)
        yield pair


def _decode_or_drop(raw: bytes, path: str = "") -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        position = f"byte {error.start + 1}" + (f" of {path}" if path else "")
        encoding = guess_encoding(raw)
        raise _BadLineError(
            "not-utf8", f"{error.reason} at {position}" + (f"; probably {encoding}" if encoding else "")
        ) from None


def _make_pair(source: str, target: str, file: str, line: int) -> Pair:
    pair = Pair(normalize(source), normalize(target), file, line)
    if not pair.source or not pair.target:
        sides = [side for side, text in (("source", pair.source), ("target", pair.target)) if not text]
        raise _BadLineError("empty", " and ".join(sides))
    return pair


def _parse_tsv(line: str, columns: tuple[int, int]) -> tuple[str, str]:
    cells = line.split("\t")
    if len(cells) < max(columns):
        raise _BadLineError("no-tab", f"expected column {max(columns)}, got {len(cells)}")
    return cells[columns[0] - 1], cells[columns[1] - 1]


def _parse_json_object(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _BadLineError("bad-json", str(error)) from None
    if not isinstance(record, dict):
        raise _BadLineError("bad-json", "not an object")
    return record


def _parse_json_text(line: str) -> str:
    text = _parse_json_object(line).get("text")
    if not isinstance(text, str):
        raise _BadLineError("missing-key", "text must be a string")
    return text


def _parse_json_pair(line: str, languages: tuple[str, str]) -> tuple[str, str]:
    record = _parse_json_object(line)
    names = [("source", "target"), *([languages] if all(languages) else [])]
    for table in (record, record.get("translation")):
        for source, target in names:
            if not isinstance(table, dict) or source not in table or target not in table:
                continue
            if isinstance(table[source], str) and isinstance(table[target], str):
                return table[source], table[target]
            raise _BadLineError("missing-key", f"{source} and {target} must be strings")
    expected = " or ".join(f"{source} and {target}" for source, target in names)
    raise _BadLineError("missing-key", f"expected {expected}, got {', '.join(record)[:80] or 'none'}")
