"""Tables as text: TSV without quotes, and CSV with quotes, whose delimiter is recognized (comma, semicolon, tab, bar).

A quoted cell may contain delimiters, line ends and doubled quotes (RFC 4180). A record with a cell whose quotes are
wrong is dropped. After a quote without its end, reading continues in the line after the one with the quote.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tongsa.data.records import MAX_RECORD_BYTES, BadRecordError, ReadOptions, Record, dropped_record
from tongsa.data.source_file import SourceFile

DELIMITERS = "\t|;,"
"""Delimiters of CSV files. The first of two that fit alike wins: commas are frequent in texts."""
MAX_SNIFFED_LINES = 200
"""Lines in which the delimiter is counted."""
_QUOTED = re.compile(r'"[^"]*"')


class Row(NamedTuple):
    line: int
    """Line where the row starts."""
    cells: Sequence[str]
    reason: str = ""
    detail: str = ""


def read_tsv_pairs(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    """Yield the pairs of the lines, without rows in between: most large corpora are TSV."""
    header, (source, target), last = options.header, options.columns, max(options.columns)

    def parse(line: str) -> tuple[str, str]:
        nonlocal header
        if not line or line.isspace():
            raise BadRecordError("empty")
        if header:
            header = False
            raise BadRecordError("header")
        cells = line.split("\t")
        if len(cells) < last:
            raise BadRecordError("no-tab", f"expected column {last}, got {len(cells)}")
        return cells[source - 1], cells[target - 1]

    return file.line_records(parse)


def read_tsv_texts(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    return _texts(_tsv_rows(file), options, "no-tab")


def read_csv_pairs(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    return _pairs(_csv_rows(file), options, "no-column")


def read_csv_texts(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    return _texts(_csv_rows(file), options, "no-column")


def _pairs(rows: Iterator[Row], options: ReadOptions, missing: str) -> Iterator[Record]:
    for row in _skip_header(rows, header=options.header):
        yield _record(row, options.columns, missing)


def _texts(rows: Iterator[Row], options: ReadOptions, missing: str) -> Iterator[Record]:
    """Yield the texts of the only column, or of the target column; the first row decides."""
    column = 0
    for row in _skip_header(rows, header=options.header):
        if not row.reason and not column:
            column = 1 if len(row.cells) == 1 else options.columns[1]
        record = _record(row, (column, column), missing)
        yield record._replace(source="")


def _skip_header(rows: Iterator[Row], *, header: bool) -> Iterator[Row]:
    for row in rows:
        if header and row.reason != "empty":
            header = False
            yield Row(row.line, (), "header")
        else:
            yield row


def _record(row: Row, columns: tuple[int, int], missing: str) -> Record:
    if row.reason:
        return dropped_record(row.line, row.reason, row.detail)
    if len(row.cells) < max(columns):
        return dropped_record(row.line, missing, f"expected column {max(columns)}, got {len(row.cells)}")
    return Record(row.line, row.cells[columns[0] - 1], row.cells[columns[1] - 1])


def _tsv_rows(file: SourceFile) -> Iterator[Row]:
    for row in _decoded_lines(file):
        yield row if row.reason else Row(row.line, row.cells[0].split("\t"))


def _decoded_lines(file: SourceFile) -> Iterator[Row]:
    """Yield each line as one cell; empty ones and those that cannot be decoded have a reason."""
    for number, raw in enumerate(file.lines(), start=1):
        try:
            line = file.decode(raw)
        except BadRecordError as bad:
            yield Row(number, (), bad.reason, bad.detail)
        else:
            yield Row(number, (line,), "" if line.strip() else "empty")


def find_delimiter(file: SourceFile) -> str:
    """Return the delimiter that occurs equally often in the most lines, outside quotes; a comma if there is none."""
    with file.open_utf8() as stream:
        head = stream.read(len(file.head)).decode("utf-8", "replace").removeprefix("\ufeff")
    lines = [line for line in _QUOTED.sub("x", head).split("\n") if line.strip()][:MAX_SNIFFED_LINES]

    def regularity(delimiter: str) -> tuple[int, bool]:
        counts = Counter(line.count(delimiter) for line in lines)
        del counts[0]
        return max(counts.values(), default=0), delimiter in lines[0]

    best = max(DELIMITERS, key=regularity) if lines else ","
    return best if lines and regularity(best)[0] else ","


def _csv_rows(file: SourceFile) -> Iterator[Row]:
    """Yield the rows; a record whose last quote is missing is dropped, and its further lines are read again."""
    delimiter = find_delimiter(file)
    lines, waiting = _decoded_lines(file), deque[Row]()
    while (line := waiting.popleft() if waiting else next(lines, None)) is not None:
        if line.reason:
            yield line
            continue
        row, further = _read_row(line, lines, waiting, delimiter)
        yield row
        waiting.extendleft(reversed(further))


def _read_row(line: Row, lines: Iterator[Row], waiting: deque[Row], delimiter: str) -> tuple[Row, list[Row]]:
    """Return the row that starts in a line, and the lines to read again if it is dropped."""
    cells, text, position, further = list[str](), line.cells[0], 0, list[Row]()
    while True:
        if text[position : position + 1] != '"':
            end = text.find(delimiter, position)
            cells.append(text[position:] if end < 0 else text[position:end])
            if end < 0:
                return Row(line.line, cells), []
            position = end + 1
            continue
        parts, start, size = list[str](), position + 1, len(text)
        while (match := _end_quote(text, start)) is None:  # the cell continues in the next line
            parts.append(text[start:])
            following = waiting.popleft() if waiting else next(lines, None)
            if following is not None:
                further.append(following)
                size += len(following.cells[0]) if following.cells else 1
            if following is None or size > MAX_RECORD_BYTES or (following.reason and following.reason != "empty"):
                detail = f"column {len(cells) + 1} has no closing quote"
                return Row(line.line, (), "unterminated-quote", detail), further
            text, start = following.cells[0], 0
        cells.append("\n".join([*parts, text[start:match]]).replace('""', '"'))
        position = match + 1
        if position == len(text):
            return Row(line.line, cells), []
        if text[position] != delimiter:
            detail = f"text after the closing quote of column {len(cells)}"
            return Row(line.line, (), "bad-quotes", detail), further
        position += 1


def _end_quote(text: str, start: int) -> int | None:
    """Return the position of the quote that ends a cell: the last of an odd number of quotes."""
    position = start
    while (position := text.find('"', position)) >= 0:
        if text[position + 1 : position + 2] != '"':
            return position
        position += 2
    return None
