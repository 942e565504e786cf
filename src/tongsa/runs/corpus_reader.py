"""Reader of the data files of a run: planner, distillation and training read each file once."""

import os
from collections.abc import Sequence
from pathlib import Path

from tongsa.data.corpus import CorpusError, check_files, group_files, read_pairs, read_texts, uses_languages
from tongsa.data.ledger import Ledger, Pair
from tongsa.interface import Task
from tongsa.runs.recipe import DataConfig


class CorpusReader:
    """Reader that caches each file, or two parallel files: the planner, distillation and training share the pairs."""

    def __init__(self) -> None:
        self._cache: dict[tuple[object, ...], tuple[list[Pair], Ledger]] = {}

    def read(self, config: DataConfig, task: Task, files: Sequence[str], ledger: Ledger) -> list[Pair]:
        """Return the pairs of files and record their lines in the ledger."""
        paths = config.paths(files)
        units = [(path,) for path in paths] if task == "language_model" else list(group_files(paths))
        keys = [_format_key(config, task, unit) for unit in units]
        unread = [path for unit, key in zip(units, keys, strict=True) if key not in self._cache for path in unit]
        check_files(unread, config.encoding)
        pairs: list[Pair] = []
        for unit, key in zip(units, keys, strict=True):
            if key not in self._cache:
                unit_ledger = Ledger(None)
                try:
                    self._cache[key] = _read_unit(config, task, unit, unit_ledger), unit_ledger
                except CorpusError:
                    ledger.include(unit_ledger)  # the lines dropped before the error
                    raise
            unit_pairs, unit_ledger = self._cache[key]
            pairs += unit_pairs
            ledger.include(unit_ledger)
        return pairs


def _format_key(config: DataConfig, task: Task, paths: Sequence[Path]) -> tuple[object, ...]:
    """Return everything that determines the pairs of some files."""
    languages = (config.source_language, config.target_language) if any(map(uses_languages, paths)) else ()
    return task, tuple(map(os.path.realpath, paths)), config.columns, languages, config.header, config.encoding


def _read_unit(config: DataConfig, task: Task, paths: Sequence[Path], ledger: Ledger) -> list[Pair]:
    read = read_texts if task == "language_model" else read_pairs
    languages, header, encoding = (config.source_language, config.target_language), config.header, config.encoding
    return list(read(paths, ledger, columns=config.columns, languages=languages, header=header, encoding=encoding))
