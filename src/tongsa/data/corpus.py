"""Readers of corpora: files of any format → normalized pairs or texts. Bad records go to the ledger."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from tongsa.data.compression import format_suffix, unreadable_message
from tongsa.data.encoding import AUTO, UTF_8, guess_encoding, is_text_encoding, is_utf8_name
from tongsa.data.file_format import explain_format, output_encoding_message
from tongsa.data.file_patterns import expand_patterns
from tongsa.data.formats import FORMATS, PLAIN_TEXT, Format
from tongsa.data.formats.parallel_text import read_parallel_files
from tongsa.data.formats.tmx import choose_languages
from tongsa.data.language_id import LANGUAGE_NAMES
from tongsa.data.ledger import Ledger, Pair
from tongsa.data.normalize import is_blank, normalize
from tongsa.data.records import MAX_RECORD_BYTES, ReadOptions, Record, too_long_record
from tongsa.data.records import CorpusError as CorpusError
from tongsa.data.source_file import SourceFile, capped_lines


def read_pairs(
    files: Sequence[str | Path],
    ledger: Ledger,
    *,
    columns: tuple[int, int] = (1, 2),
    languages: tuple[str, str] = ("", ""),
    header: bool = False,
    encoding: str = UTF_8,
) -> Iterator[Pair]:
    """Return the normalized pairs of files, in the order of the files and their records.

    Files whose names end as in `FORMATS`, optionally followed by that of a compression, hold pairs. Other files are
    parallel: source file, then target file. A single remaining file is read as TSV. A name may be a pattern.

    Args:
        files: Paths of the files.
        ledger: Receives each record as read, and as kept or dropped.
        columns: Columns of source and target in CSV, TSV and Parquet, counted from 1 as `cut -f` does.
        languages: Language codes: languages of TMX, and keys of JSON lines or columns of Parquet instead of "source"
            and "target". The keys may be at the top level or in "translation".
        header: True if the first line of each CSV or TSV file names the columns.
        encoding: Encoding of the files, or "auto" to recognize that of each file.

    """
    raw = read_raw_pairs(files, ledger, columns=columns, languages=languages, header=header, encoding=encoding)
    return map(_normalize_pair, raw)


def read_raw_pairs(
    files: Sequence[str | Path],
    ledger: Ledger,
    *,
    columns: tuple[int, int] = (1, 2),
    languages: tuple[str, str] = ("", ""),
    header: bool = False,
    encoding: str = UTF_8,
) -> Iterator[Pair]:
    """Return the pairs of `read_pairs` with their texts as they are in the files, for repairs."""
    options = _checked_options(columns, languages, header=header)
    paths = [Path(name) for name in expand_patterns(files)]
    check_files(paths, encoding)  # all files before the first record is read
    return chain.from_iterable(_read_unit(unit, options, encoding, ledger) for unit in group_files(paths))


def read_texts(
    files: Sequence[str | Path],
    ledger: Ledger,
    *,
    columns: tuple[int, int] = (1, 2),
    languages: tuple[str, str] = ("", ""),
    header: bool = False,
    encoding: str = UTF_8,
) -> Iterator[Pair]:
    """Return monolingual texts as pairs with an empty source; the arguments are those of `read_pairs`.

    A file without a format has one text per line. JSON lines and Parquet have "text". A table has one column, or the
    target column. Of the other formats the targets are read.
    """
    raw = read_raw_texts(files, ledger, columns=columns, languages=languages, header=header, encoding=encoding)
    return map(_normalize_pair, raw)


def read_raw_texts(
    files: Sequence[str | Path],
    ledger: Ledger,
    *,
    columns: tuple[int, int] = (1, 2),
    languages: tuple[str, str] = ("", ""),
    header: bool = False,
    encoding: str = UTF_8,
) -> Iterator[Pair]:
    """Return the texts of `read_texts` as they are in the files, for repairs."""
    options = _checked_options(columns, languages, header=header)
    sources = [SourceFile(Path(name), encoding) for name in expand_patterns(files, parallel=False)]
    check_files([source.path for source in sources], encoding)
    return chain.from_iterable(
        _usable_pairs(source, _format(source.path).read_texts(source, options), ledger, has_source=False)
        for source in sources
    )


def _checked_options(columns: tuple[int, int], languages: tuple[str, str], *, header: bool) -> ReadOptions:
    if min(columns) < 1:
        raise CorpusError(f"data.columns {list(columns)}: columns are counted from 1. Write 1 or more.")
    return ReadOptions(columns=columns, languages=languages, header=header)


def _read_unit(unit: Sequence[Path], options: ReadOptions, encoding: str, ledger: Ledger) -> Iterator[Pair]:
    """Return the pairs of a file, or of two parallel files under the name of the source file."""
    sources = [SourceFile(path, encoding) for path in unit]
    for source in sources:
        _note_encoding(source, ledger)
    if len(sources) == 2:
        return _usable_pairs(sources[0], read_parallel_files(sources[0], sources[1]), ledger)
    return _usable_pairs(sources[0], _format(unit[0]).read_pairs(sources[0], options), ledger)


def _usable_pairs(
    source: SourceFile, records: Iterable[Record], ledger: Ledger, *, has_source: bool = True
) -> Iterator[Pair]:
    """Yield the raw pairs of the records to keep. Each record is counted as read, and as kept or dropped."""
    file = str(source)
    _note_encoding(source, ledger)
    for record in records:
        ledger.count_read(file)
        if len(record.source) + len(record.target) > MAX_RECORD_BYTES:
            record = too_long_record(record.line)
        if record.reason:
            ledger.drop(file, record.line, record.reason, record.detail)
            continue
        pair = Pair(record.source, record.target, file, record.line)
        if is_blank(pair.target) or (has_source and is_blank(pair.source)):
            sides = [side for side in ("source", "target")[not has_source :] if is_blank(getattr(pair, side))]
            ledger.drop(file, record.line, "empty", " and ".join(sides) if has_source else "")
            continue
        ledger.keep(pair)
        yield pair


def _normalize_pair(pair: Pair) -> Pair:
    return Pair(normalize(pair.source), normalize(pair.target), pair.file, pair.line)


def _note_encoding(file: SourceFile, ledger: Ledger) -> None:
    if file.encoding == AUTO and not _format(file.path).is_binary and not is_utf8_name(file.text_encoding):
        ledger.encodings[str(file)] = file.text_encoding


def _format(path: Path) -> Format:
    return FORMATS.get(format_suffix(path), PLAIN_TEXT)


def has_lines(path: Path) -> bool:
    """Return whether each line of a file is one record."""
    return _format(path).has_lines


def uses_languages(path: Path) -> bool:
    """Return whether the language codes of the settings choose the texts of a file."""
    return _format(path).uses_languages


def read_lines(source: str | Path | BinaryIO) -> Iterator[str]:
    """Yield the lines of a file, of standard input ("-") or of a binary stream, unchanged; empty lines included."""
    if source == "-":
        source = standard_input()
    name = str(source) if isinstance(source, str | Path) else getattr(source, "name", "input")
    lines = raw_lines(Path(source)) if isinstance(source, str | Path) else capped_lines(source)
    for number, raw in enumerate(lines, start=1):
        if len(raw) > MAX_RECORD_BYTES:
            raise CorpusError(f"{name}:{number}: a line of more than {MAX_RECORD_BYTES:,} bytes. Split it.")
        yield decode_line(raw, f"{name}:{number}")


def raw_lines(path: Path, encoding: str = UTF_8) -> Iterator[bytes]:
    """Return the lines of a file in UTF-8 without line ends, as `SourceFile.lines` does."""
    return SourceFile(path, encoding).lines()


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
        if format_suffix(path) in FORMATS:
            yield (path,)
        elif source is None:
            source = path
        else:
            yield source, path
            source = None
    if source is not None:
        yield (source,)


def language_suffixes(paths: Sequence[Path]) -> tuple[str, str]:
    """Return the language codes that name all parallel files, such as ("de", "en") for train.de and train.en.gz.

    Both are "" unless all files are parallel and agree.
    """
    units = list(group_files(paths))
    suffixes = {tuple(format_suffix(path)[1:] for path in unit) for unit in units}
    codes = suffixes.pop() if len(suffixes) == 1 else ()
    is_known = len(codes) == 2 and codes[0] != codes[1] and all(code in LANGUAGE_NAMES for code in codes)
    return (codes[0], codes[1]) if is_known else ("", "")


def declared_languages(paths: Sequence[Path], columns: tuple[int, int], languages: tuple[str, str]) -> tuple[str, str]:
    """Return the language codes of a TMX file; ("", "") for other files."""
    options = ReadOptions(columns=columns, languages=languages)
    for path in paths:
        if format_suffix(path) == ".tmx":
            return choose_languages(SourceFile(path), options)
    return "", ""


def check_files(files: Sequence[str | Path], encoding: str = UTF_8) -> None:
    """Raise CorpusError for the first file that cannot be opened or has a format that is not read."""
    if encoding != AUTO and not is_text_encoding(encoding):
        raise CorpusError(f'data.encoding {encoding}: unknown. Write "utf-8", "cp949" or another name, or "auto".')
    for file in files:
        _check_file(SourceFile(Path(file), encoding))


def check_outputs_file(path: Path) -> None:
    """Raise CorpusError for a file that is not one text per line in UTF-8."""
    if path.is_file() and (explanation := output_encoding_message(path)):
        raise CorpusError(f"{path}: {explanation}")
    check_files([path])


def _check_file(file: SourceFile) -> None:
    path = file.path
    try:
        is_special = path.exists() and not path.is_file() and not path.is_dir()
        if is_special:  # opening a pipe would wait for a process that writes to it
            raise CorpusError(f"{path}: not a regular file. Save its content in a file.")
        with path.open("rb"):
            pass
    except (OSError, ValueError) as error:
        os_error = error if isinstance(error, OSError) else OSError(str(error))
        raise CorpusError(unreadable_message(path, os_error)) from None
    if explanation := explain_format(file):
        raise CorpusError(f"{path}: {explanation}")
