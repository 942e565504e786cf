"""Reader of the data files of a run: planner, distillation and training read each file once."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tongsa import storage
from tongsa.data.array_files import ArrayFiles
from tongsa.data.compression import decompressed_size
from tongsa.data.corpus import CorpusError, check_files, group_files, read_pairs, read_texts, uses_languages
from tongsa.data.ledger import Ledger, Pair
from tongsa.data.prepared_folder import content_key
from tongsa.data.text_store import PairStore, StoredPairs, open_pairs, write_pairs
from tongsa.interface import Task
from tongsa.runs.preparation import Preparation
from tongsa.runs.recipe import DataConfig

MIN_STORED_BYTES = 1 << 24
"""Smaller data files are read into memory each time, unless data.cache names a folder."""
LEDGER_FILE, LEDGER_ENTRIES = "ledger.json", "ledger.jsonl"


class CorpusReader:
    """Reader that keeps each file, or two parallel files: the planner, distillation and training share the pairs.

    Large files are kept in the folder of `preparation`, for other runs too; small ones in memory.
    """

    def __init__(self, preparation: Preparation | None = None) -> None:
        self.preparation = preparation or Preparation()
        self._cache: dict[tuple[object, ...], tuple[StoredPairs, Ledger]] = {}

    def read(self, config: DataConfig, task: Task, files: Sequence[str], ledger: Ledger) -> PairStore:
        """Return the pairs of files and record their lines in the ledger."""
        paths = config.paths(files)
        units = [(path,) for path in paths] if task == "language_model" else list(group_files(paths))
        keys = [_format_key(config, task, unit) for unit in units]
        unread = [path for unit, key in zip(units, keys, strict=True) if key not in self._cache for path in unit]
        check_files(unread, config.encoding)
        parts: list[StoredPairs] = []
        for unit, key in zip(units, keys, strict=True):
            if key not in self._cache:
                unit_ledger = Ledger(None)
                try:
                    self._cache[key] = self._read_unit(config, task, unit, unit_ledger)
                except CorpusError:
                    ledger.include(unit_ledger)  # the lines dropped before the error
                    raise
            stored, unit_ledger = self._cache[key]
            parts.append(stored)
            ledger.include(unit_ledger)
        return PairStore(parts)

    def _read_unit(
        self, config: DataConfig, task: Task, paths: Sequence[Path], ledger: Ledger
    ) -> tuple[StoredPairs, Ledger]:
        pairs = _iterate_pairs(config, task, paths, ledger)
        preparation = self.preparation.with_cache(config.cache)
        if preparation.folder is None or not (config.cache or _are_large(paths)):
            arrays = ArrayFiles()
            return open_pairs(arrays, write_pairs(pairs, arrays)), ledger
        key = _content_key(config, task, paths)

        def fill(arrays: ArrayFiles) -> None:
            arrays.restore_progress()  # an interrupted file is read again from its first line
            files = self._write_pairs(pairs, arrays, paths)
            record = {"names": [*map(str, paths)], "files": files, "ledger": ledger.to_record()}
            arrays.append(LEDGER_FILE, json.dumps(record).encode())
            for line in ledger.entry_lines():
                arrays.append(LEDGER_ENTRIES, line)

        arrays = preparation.prepare(f"texts-{key}", fill)
        record = json.loads(arrays.read(LEDGER_FILE, "u1").tobytes())
        names = dict(zip(record["names"], map(str, paths), strict=True))
        files = [(row, names.get(name, name)) for row, name in record["files"]]
        return open_pairs(arrays, files, key), Ledger.from_record(record["ledger"], arrays.lines(LEDGER_ENTRIES), names)

    def _write_pairs(self, pairs: Iterable[Pair], arrays: ArrayFiles, paths: Sequence[Path]) -> list[tuple[int, str]]:
        sizes = [*map(decompressed_size, paths)]
        total = sum(filter(None, sizes)) if all(sizes) else None
        with self.preparation.display.for_steps(total, 0) as display:
            return write_pairs(
                pairs, arrays, lambda count, size: display.show(size, f"reading {paths[0].name}", f"{count:,} pairs")
            )


def _are_large(paths: Sequence[Path]) -> bool:
    return all(path.is_file() for path in paths) and sum(path.stat().st_size for path in paths) >= MIN_STORED_BYTES


def _format_key(config: DataConfig, task: Task, paths: Sequence[Path]) -> tuple[object, ...]:
    """Return everything that determines the pairs of some files."""
    languages = config.languages if any(map(uses_languages, paths)) else ()
    files, tag = tuple(map(os.path.realpath, paths)), (config.tag,) if config.tag else ()
    return task, files, config.columns, languages, config.header, config.encoding, *tag


def _content_key(config: DataConfig, task: Task, paths: Sequence[Path]) -> str:
    """Return a hash like `_format_key`, with the content of the files instead of their paths."""
    _, _, *format_settings = _format_key(config, task, paths)
    files = [("".join(path.suffixes).lower(), storage.file_sha256(path)) for path in paths]
    return content_key("texts", task == "language_model", format_settings, files)


def _iterate_pairs(config: DataConfig, task: Task, paths: Sequence[Path], ledger: Ledger) -> Iterator[Pair]:
    read = read_texts if task == "language_model" else read_pairs
    header, encoding = config.header, config.encoding
    pairs = read(paths, ledger, columns=config.columns, languages=config.languages, header=header, encoding=encoding)
    return (pair._replace(source=f"{config.tag} {pair.source}") for pair in pairs) if config.tag else pairs
