"""Rows of tables with named columns (Parquet, Arrow) as records: the columns by name, else by number."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tongsa.data.formats.json_lines import find_pair, find_text, pair_keys
from tongsa.data.records import BadRecordError, CorpusError, ReadOptions, Record, dropped_record
from tongsa.data.source_file import SourceFile

BATCH_ROWS = 1_024


class TableColumns(NamedTuple):
    """Columns to read, and two of them if they are chosen by number."""

    names: list[str]
    by_number: list[str]


def describe_error(error: Exception) -> str:
    """Return the first line of a message of pyarrow; it may quote bytes of the file."""
    line = str(error).partition("\n")[0][:200]
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in line)


def pair_records(rows: Iterable[dict[str, Any]], columns: TableColumns, options: ReadOptions) -> Iterator[Record]:
    """Yield a pair for each row."""
    for number, row in enumerate(rows, start=1):
        try:
            by_number = columns.by_number
            record = Record(number, *(_by_number(row, by_number) if by_number else find_pair(row, options.languages)))
        except BadRecordError as bad:
            record = dropped_record(number, bad.reason, bad.detail)
        yield record


def text_records(rows: Iterable[dict[str, Any]], columns: TableColumns, options: ReadOptions) -> Iterator[Record]:
    """Yield a text for each row."""
    for number, row in enumerate(rows, start=1):
        try:
            by_number = columns.by_number
            text = _by_number(row, by_number)[1] if by_number else find_text(row, options.languages)
            yield Record(number, "", text)
        except BadRecordError as bad:
            yield dropped_record(number, bad.reason, bad.detail)


def _by_number(row: dict[str, Any], names: Sequence[str]) -> tuple[str, str]:
    source, target = (row[name] for name in names)
    if source is None or target is None:
        raise BadRecordError("empty", "null")
    return str(source), str(target)


def choose_columns(file: SourceFile, schema: Any, options: ReadOptions) -> TableColumns:
    """Return the columns with known names, else those of the options."""
    known_names = {name for pair in pair_keys(options.languages) for name in pair} | {"translation"}
    known = [name for name in schema.names if name in known_names]
    if any({*pair} <= {*known} for pair in pair_keys(options.languages)) or {"translation", "text"} & {*known}:
        return TableColumns(known, [])
    if max(options.columns) > len(schema.names):
        listed = ", ".join(schema.names)[:80]
        raise CorpusError(f"{file}: no column {max(options.columns)} (it has {listed}). Correct data.columns.")
    chosen = [schema.names[number - 1] for number in options.columns]
    source = schema.field(chosen[0]).type
    if str(source) not in ("string", "large_string", "string_view"):
        raise CorpusError(
            f"{file}: column {options.columns[0]} ({chosen[0]}) is {source}, not text. Set --columns SOURCE TARGET"
        )
    return TableColumns(list(dict.fromkeys(chosen)), chosen)
