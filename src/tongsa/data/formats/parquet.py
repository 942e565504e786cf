"""Parquet tables, read in batches of rows by pyarrow (the extra `parquet`)."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from tongsa.data.compression import compression_of
from tongsa.data.formats.table_rows import (
    BATCH_ROWS,
    TableColumns,
    choose_columns,
    describe_error,
    pair_records,
    text_records,
)
from tongsa.data.records import CorpusError, ReadOptions, Record
from tongsa.data.source_file import SourceFile


def read_parquet_pairs(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    """Yield the pairs of the columns with known names, else of the columns by number."""
    with _open_table(file) as table:
        columns = choose_columns(file, table.schema_arrow, options)
        yield from pair_records(_rows(table, columns), columns, options)


def read_parquet_texts(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    with _open_table(file) as table:
        columns = choose_columns(file, table.schema_arrow, options)
        yield from text_records(_rows(table, columns), columns, options)


def _rows(table: Any, columns: TableColumns) -> Iterator[dict[str, Any]]:
    for batch in table.iter_batches(batch_size=BATCH_ROWS, columns=columns.names, use_threads=False):
        yield from batch.to_pylist()


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
        with seekable(file) as stream, parquet.ParquetFile(stream) as table:
            yield table
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError, KeyError) as error:
        raise CorpusError(f"{file}: damaged Parquet ({describe_error(error)}). Copy the file again.") from None


@contextmanager
def seekable(file: SourceFile) -> Iterator[BinaryIO]:
    """Open a file with random access; of a compressed one a temporary copy."""
    if not compression_of(file.path):
        with file.path.open("rb") as stream:
            yield stream
        return
    with tempfile.TemporaryFile() as copy, file.open_bytes() as stream:
        shutil.copyfileobj(stream, copy)
        copy.seek(0)
        yield cast(BinaryIO, copy)
