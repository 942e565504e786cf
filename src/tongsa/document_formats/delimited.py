"""CSV and TSV: the cells of chosen columns are segments. Quotes, separators and line ends are kept."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from tongsa.config import did_you_mean
from tongsa.document_formats.limits import MAX_COLUMNS, DocumentFormatError
from tongsa.document_formats.plain_text import raw_text, split_lines
from tongsa.document_formats.segment import MarkedText, ParsedDocument, Segment, Slot, make_segment
from tongsa.document_formats.text_encoding import decode_text

DELIMITERS = ",;\t|"
MAX_COLUMN_NAMES_SHOWN = 12
_LINE_END = re.compile(r"\r\n|\r|\n")


class Cell(NamedTuple):
    start: int
    end: int
    """End of the cell without its delimiter or line end."""
    text: str
    """The text without quotes."""
    is_quoted: bool
    is_last: bool
    """The last cell of its row."""


def parse_csv(content: bytes, name: str, columns: Sequence[str] = ()) -> ParsedDocument:
    return _parse(content, name, columns, "")


def parse_tsv(content: bytes, name: str, columns: Sequence[str] = ()) -> ParsedDocument:
    return _parse(content, name, columns, "\t")


def _parse(content: bytes, name: str, columns: Sequence[str], delimiter: str) -> ParsedDocument:
    decoded = decode_text(content, name)
    text = decoded.text
    delimiter = delimiter or _guess_delimiter(text)
    rows = list(_rows(text, delimiter))
    chosen, has_header = _choose_columns(name, [cell.text.strip() for cell in rows[0]] if rows else [], columns)
    parts, end = list[str | Slot](), 0
    for row in rows[has_header:]:
        for index, cell in enumerate(row[:MAX_COLUMNS]):
            if index in chosen and cell.text.strip():
                raw = text[cell.start : cell.end]
                render = partial(_write_cell, delimiter=delimiter, is_quoted=cell.is_quoted)
                parts += [text[end : cell.start], Slot(make_segment(split_lines(cell.text)), raw, render)]
                end = cell.end
    parts.append(text[end:])
    return ParsedDocument([MarkedText(parts)], lambda texts: decoded.encode(texts[0]))


def _guess_delimiter(text: str) -> str:
    """Return the delimiter that occurs most often in the first line, outside quotes; a comma if there is none."""
    first_line = re.sub(r'"[^"]*"', "", text.lstrip("\r\n").partition("\n")[0])
    return max(DELIMITERS, key=first_line.count)


def _rows(text: str, delimiter: str) -> Iterator[list[Cell]]:
    row, position = list[Cell](), 0
    while position < len(text) or row:
        cell = _read_cell(text, position, delimiter)
        row.append(cell)
        position = cell.end
        if not cell.is_last:
            position += 1
            continue
        yield row
        row = []
        line_end = _LINE_END.match(text, position)
        position = line_end.end() if line_end else len(text)


def _read_cell(text: str, start: int, delimiter: str) -> Cell:
    stop = re.compile(rf"[{re.escape(delimiter)}\r\n]|$(?!\n)")
    quoted = re.compile(r'"((?:[^"]|"")*+)"').match(text, start)
    if quoted and (end := stop.match(text, quoted.end())):
        return Cell(start, quoted.end(), quoted[1].replace('""', '"'), True, end[0] != delimiter)
    end = stop.search(text, start)
    assert end  # noqa: S101 - the end of the text matches
    return Cell(start, end.start(), text[start : end.start()], False, end[0] != delimiter)


def _choose_columns(name: str, first_row: Sequence[str], columns: Sequence[str]) -> tuple[set[int], bool]:
    """Return the indices of the columns, and whether the first row is a header: it is if columns are named."""
    if not columns or not first_row:
        return set(range(min(len(first_row), MAX_COLUMNS)) if not columns else ()), False
    chosen, has_header = set[int](), False
    for column in columns:
        if column in first_row:
            has_header = True
            chosen.add(first_row.index(column))
        elif column.isascii() and column.isdigit() and 1 <= int(column[:9]) <= len(first_row):
            chosen.add(int(column) - 1)
        else:
            shown = ", ".join(header for header in first_row[:MAX_COLUMN_NAMES_SHOWN] if header)
            hint = did_you_mean(column, [header for header in first_row if header])
            raise DocumentFormatError(
                f"{name}: no column {column!r}; {hint} Give a number from 1 to {len(first_row)}, "
                f"or a name of the first row: {shown}."
            )
    return chosen, has_header


def _write_cell(segment: Segment, *, delimiter: str, is_quoted: bool) -> str:
    text = raw_text(segment)
    separators = DELIMITERS if delimiter != "\t" else "\t"
    if is_quoted or text.startswith('"') or any(separator in text for separator in f"{separators}\r\n"):
        return '"' + text.replace('"', '""') + '"'
    return text
