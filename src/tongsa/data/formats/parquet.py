"""Parquet tables, read in batches of rows by pyarrow (the extra `parquet`)."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from tongsa.data.compression import compression_of
from tongsa.data.formats.json_lines import find_pair, find_text, pair_keys
from tongsa.data.records import BadRecordError, CorpusError, ReadOptions, Record, dropped_record
from tongsa.data.source_file import SourceFile

BATCH_ROWS = 1_024


def read_parquet_pairs(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    """Yield the pairs of the columns with known names, else of the columns by number."""
    for number, row, names in _rows(file, options):
        try:
            record = Record(number, *(find_pair(row, options.languages) if not names else _by_number(row, names)))
        except BadRecordError as bad:
            record = dropped_record(number, bad.reason, bad.detail)
        yield record


def read_parquet_texts(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    for number, row, names in _rows(file, options):
        try:
            text = find_text(row, options.languages) if not names else _by_number(row, names)[1]
            yield Record(number, "", text)
        except BadRecordError as bad:
            yield dropped_record(number, bad.reason, bad.detail)


def _by_number(row: dict[str, Any], names: Sequence[str]) -> tuple[str, str]:
    source, target = (row[name] for name in names)
    if source is None or target is None:
        raise BadRecordError("empty", "null")
    return str(source), str(target)


def _rows(file: SourceFile, options: ReadOptions) -> Iterator[tuple[int, dict[str, Any], Sequence[str]]]:
    """Yield each row with its number, and the names of two columns if none has a known name."""
    with _open_table(file) as table:
        columns, by_number = _choose_columns(file, table, options)
        number = 0
        for batch in table.iter_batches(batch_size=BATCH_ROWS, columns=columns, use_threads=False):
            for row in batch.to_pylist():
                number += 1
                yield number, row, by_number


@contextmanager
def _open_table(file: SourceFile) -> Iterator[Any]:
    """Open a table; of a compressed file a temporary copy. Errors of pyarrow are a CorpusError."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise CorpusError(
            f"{file}: Parquet needs a package. Install it: pip install -e '.[parquet]' -c constraints.txt"
        ) from None
    try:
        with _seekable(file) as stream, parquet.ParquetFile(stream) as table:
            yield table
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError, KeyError) as error:
        reason = str(error).partition("\n")[0][:200]
        raise CorpusError(f"{file}: damaged Parquet ({reason}). Copy the file again.") from None


@contextmanager
def _seekable(file: SourceFile) -> Iterator[BinaryIO]:
    if not compression_of(file.path):
        with file.path.open("rb") as stream:
            yield stream
        return
    with tempfile.TemporaryFile() as copy, file.open_bytes() as stream:
        shutil.copyfileobj(stream, copy)
        copy.seek(0)
        yield cast(BinaryIO, copy)


def _choose_columns(file: SourceFile, table: Any, options: ReadOptions) -> tuple[list[str], list[str]]:
    """Return the columns to read, and two of them if they are chosen by number."""
    schema = table.schema_arrow
    known_names = {name for pair in pair_keys(options.languages) for name in pair} | {"translation"}
    known = [name for name in schema.names if name in known_names]
    if any({*pair} <= {*known} for pair in pair_keys(options.languages)) or {"translation", "text"} & {*known}:
        return known, []
    if max(options.columns) > len(schema.names):
        listed = ", ".join(schema.names)[:80]
        raise CorpusError(f"{file}: no column {max(options.columns)} (it has {listed}). Correct data.columns.")
    chosen = [schema.names[number - 1] for number in options.columns]
    source = schema.field(chosen[0]).type
    if str(source) not in ("string", "large_string", "string_view"):
        raise CorpusError(
            f"{file}: column {options.columns[0]} ({chosen[0]}) is {source}, not text. Set --columns SOURCE TARGET"
        )
    return list(dict.fromkeys(chosen)), chosen
