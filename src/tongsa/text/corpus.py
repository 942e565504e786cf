"""Files to pairs, streamed. A bad line goes to the ledger; a bad file stops with a sentence."""

import gzip
import json
import sys
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, BinaryIO

from tongsa.errors import InputError
from tongsa.text.ledger import Ledger, Pair
from tongsa.text.normalise import normalise

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class CorpusError(InputError):
    """A file of text that cannot be used."""


class _BadLineError(Exception):
    """Why a line is dropped: reason and detail, as the ledger writes them."""

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
    """The pairs of `files`, normalised, in the order of the files and their lines.

    Names that end in .tsv or .jsonl (and .gz after that) hold pairs. The other files are taken two by two,
    source then target, line beside line; one left over is read as TSV. `columns` of TSV are counted from 1,
    as `cut -f` counts; there is no quoting; with `header` the first line of each names the columns. JSON
    lines have the keys source and target, or the two `languages`, at the top or in "translation".
    """
    if min(columns) < 1:
        raise CorpusError(f"columns {columns[0]} and {columns[1]}: columns are counted from 1")
    paths = [Path(file) for file in files]
    for path in paths:
        _check_file(path)  # all before the first line, not after hours
    return chain.from_iterable(
        _parallel(unit[0], unit[1], ledger)
        if len(unit) == 2
        else _one_file(unit[0], ledger, columns=columns, languages=languages, header=header)
        for unit in _units(paths)
    )


def read_texts(files: Sequence[str | Path], ledger: Ledger) -> Iterator[Pair]:
    """Texts by themselves, one a line, or under the key text in JSON lines: the target of an empty source."""
    paths = [Path(file) for file in files]
    for path in paths:
        _check_file(path)
    return chain.from_iterable(_texts(path, ledger) for path in paths)


def _texts(path: Path, ledger: Ledger) -> Iterator[Pair]:
    file, holds_json = str(path), _form(path) == ".jsonl"
    for number, raw in enumerate(_raw_lines(path), start=1):
        ledger.saw(file)
        try:
            line = _text(raw)
            pair = Pair("", normalise(_text_of(line) if holds_json and line.strip() else line), file, number)
            if not pair.target:
                raise _BadLineError("empty")
        except _BadLineError as bad:
            ledger.drop(file, number, bad.reason, bad.detail)
            continue
        ledger.keep(pair)
        yield pair


def read_lines(source: str | Path | BinaryIO) -> Iterator[str]:
    """Each line of a file, of standard input ("-") or of a binary stream, as it stands: empty lines too."""
    if source == "-":
        source = sys.stdin.buffer
    name = str(source) if isinstance(source, str | Path) else getattr(source, "name", "input")
    raw_lines = _raw_lines(Path(source)) if isinstance(source, str | Path) else _plain(source)
    for number, raw in enumerate(raw_lines, start=1):
        yield decoded(raw, f"{name}:{number}")


def decoded(raw: bytes, where: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{where}: not UTF-8 ({error.reason} at byte {error.start + 1}); "
            "convert the text, for example with iconv -t UTF-8"
        ) from None


def _units(paths: Sequence[Path]) -> Iterator[tuple[Path, ...]]:
    """A file of pairs alone, two parallel sides together."""
    waiting: Path | None = None
    for path in paths:
        if _form(path) in (".tsv", ".jsonl"):
            yield (path,)
        elif waiting is None:
            waiting = path
        else:
            yield waiting, path
            waiting = None
    if waiting is not None:
        yield (waiting,)


def _form(path: Path) -> str:
    """The ending that says how a file is written: .tsv for x.tsv and x.tsv.gz."""
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return plain.suffix.lower()


def check_files(files: Sequence[str | Path]) -> None:
    """A sentence about the first that cannot be opened: before the first line, not after hours."""
    for file in files:
        _check_file(Path(file))


def _check_file(path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise CorpusError(unreadable(path, error)) from None


def unreadable(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{path}: no such file; check the name and the folder it is counted from"
    if isinstance(error, IsADirectoryError):
        return f"{path}: is a folder; name the files in it"
    return f"{path}: cannot be read ({error.strerror or error}); check its permissions and the disk"


def _raw_lines(path: Path) -> Iterator[bytes]:
    """Lines without their ends, split at line feeds only: U+2028, form feeds and the like stay inside."""
    number = 0
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            for number, raw in enumerate(_plain(stream), start=1):
                if number == 1 and raw.startswith(_UTF16):
                    raise CorpusError(f"{path}:1: is UTF-16; convert it: iconv -f UTF-16 -t UTF-8")
                yield raw
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        what = f"{path}:{number + 1}: damaged gzip ({error})"
        raise CorpusError(f"{what}; copy it again and test it with gzip -t") from None
    except OSError as error:
        raise CorpusError(unreadable(path, error)) from None


def _plain(stream: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    return (unended(raw, number) for number, raw in enumerate(stream))


def unended(raw: bytes, number: int) -> bytes:
    """A line without its end; the first (number 0) without a byte order mark too."""
    line = raw.removesuffix(b"\n").removesuffix(b"\r")
    return line.removeprefix(_BOM) if number == 0 else line


def _parallel(source_path: Path, target_path: Path, ledger: Ledger) -> Iterator[Pair]:
    """Line beside line; a bad side drops the pair once, under the source's name."""
    file, number = str(source_path), 0
    sides = zip_longest(_raw_lines(source_path), _raw_lines(target_path))
    for number, (source, target) in enumerate(sides, start=1):
        if source is None or target is None:
            shorter, longer = number - 1, number + sum(1 for _ in sides)
            counts = (shorter, longer) if source is None else (longer, shorter)
            raise CorpusError(
                f"{source_path} has {counts[0]:,} lines, {target_path} has {counts[1]:,}: "
                "line n of one must translate line n of the other; find where they part"
            )
        ledger.saw(file)
        try:
            texts = _text(source, str(source_path)), _text(target, str(target_path))
            pair = _pair(*texts, file, number)
        except _BadLineError as bad:
            ledger.drop(file, number, bad.reason, bad.detail)
            continue
        ledger.keep(pair)
        yield pair


def _one_file(
    path: Path, ledger: Ledger, *, columns: tuple[int, int], languages: tuple[str, str], header: bool
) -> Iterator[Pair]:
    file, holds_json = str(path), _form(path) == ".jsonl"
    for number, raw in enumerate(_raw_lines(path), start=1):
        ledger.saw(file)
        try:
            line = _text(raw)
            if not line.strip():
                raise _BadLineError("empty")
            if header and not holds_json:
                header = False
                raise _BadLineError("header")
            source, target = _from_json(line, languages) if holds_json else _from_columns(line, columns)
            pair = _pair(source, target, file, number)
        except _BadLineError as bad:
            ledger.drop(file, number, bad.reason, bad.detail)
            continue
        ledger.keep(pair)
        yield pair


def _text(raw: bytes, where: str = "") -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        place = f"byte {error.start + 1}" + (f" of {where}" if where else "")
        raise _BadLineError("not-utf8", f"{error.reason} at {place}") from None


def _pair(source: str, target: str, file: str, number: int) -> Pair:
    pair = Pair(normalise(source), normalise(target), file, number)
    if not pair.source or not pair.target:
        sides = [side for side, text in (("source", pair.source), ("target", pair.target)) if not text]
        raise _BadLineError("empty", " and ".join(sides))
    return pair


def _from_columns(line: str, columns: tuple[int, int]) -> tuple[str, str]:
    cells = line.split("\t")
    if len(cells) < max(columns):
        raise _BadLineError("no-tab", f"column {max(columns)} wanted, {len(cells)} found")
    return cells[columns[0] - 1], cells[columns[1] - 1]


def _object(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _BadLineError("bad-json", str(error)) from None
    if not isinstance(record, dict):
        raise _BadLineError("bad-json", "not an object")
    return record


def _text_of(line: str) -> str:
    text = _object(line).get("text")
    if not isinstance(text, str):
        raise _BadLineError("missing-key", "text must be a string")
    return text


def _from_json(line: str, languages: tuple[str, str]) -> tuple[str, str]:
    record = _object(line)
    names = [("source", "target"), *([languages] if all(languages) else [])]
    for place in (record, record.get("translation")):
        for source, target in names:
            if not isinstance(place, dict) or source not in place or target not in place:
                continue
            if isinstance(place[source], str) and isinstance(place[target], str):
                return place[source], place[target]
            raise _BadLineError("missing-key", f"{source} and {target} must be strings")
    raise _BadLineError("missing-key", " or ".join(f"{source} and {target}" for source, target in names))
