"""JSON lines: one object per line, with the texts under known keys."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tongsa.data.records import BadRecordError, ReadOptions, Record
from tongsa.data.source_file import SourceFile


def read_json_pairs(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    return file.line_records(lambda line: find_pair(_parse_object(line), options.languages))


def read_json_texts(file: SourceFile, options: ReadOptions) -> Iterator[Record]:
    return file.line_records(lambda line: ("", find_text(_parse_object(line), options.languages)))


def _parse_object(line: str) -> dict[str, Any]:
    if not line.strip():
        raise BadRecordError("empty")
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRecordError("bad-json", str(error)) from None
    if not isinstance(record, dict):
        raise BadRecordError("bad-json", "not an object")
    return record


def pair_keys(languages: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the names under which the texts of a pair may stand."""
    return [("source", "target"), *([languages] if all(languages) else []), ("text", "label")]


def find_pair(record: Mapping[str, Any], languages: tuple[str, str]) -> tuple[str, str]:
    """Return the texts of a record, whose keys may also be inside "translation". A label may be a number."""
    names = pair_keys(languages)
    for table in (record, record.get("translation")):
        for source, target in names:
            if not isinstance(table, Mapping) or source not in table or target not in table:
                continue
            texts = table[source], table[target]
            if target == "label" and type(texts[1]) is int:
                texts = texts[0], str(texts[1])
            if all(isinstance(text, str) for text in texts):
                return texts
            raise BadRecordError("missing-key", f"{source} and {target} must be strings")
    raise BadRecordError("missing-key", f"expected {_join_names(names[:-1])}, got {', '.join(record)[:80] or 'none'}")


def find_text(record: Mapping[str, Any], languages: tuple[str, str]) -> str:
    """Return the text of a record for a language model."""
    names = ["text", "target", *filter(None, languages[1:])]
    for table in (record, record.get("translation")):
        for name in names:
            if isinstance(table, Mapping) and isinstance(table.get(name), str):
                return str(table[name])
    raise BadRecordError("missing-key", "text must be a string")


def _join_names(names: Sequence[tuple[str, str]]) -> str:
    return " or ".join(f"{source} and {target}" for source, target in names)
