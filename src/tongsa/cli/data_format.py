"""Format of the files that `evaluate` and `shortlist` read for a trained model: columns, header, languages."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from tongsa import config
from tongsa.bundle import Bundle
from tongsa.cli.model_arguments import parse_tables


@dataclass(frozen=True, kw_only=True)
class DataFormat:
    """The settings of [data] that say how a file of pairs is read."""

    columns: tuple[int, int] = (1, 2)
    header: bool = False
    encoding: str = "utf-8"
    source_language: str = ""
    target_language: str = ""
    tag: str = ""


def data_format(options: argparse.Namespace, loaded: Bundle | None, tables: Sequence[str] = ("data",)) -> DataFormat:
    """Return the format of the files, with the languages of the model, if there is one, unless `--set` changes them.

    `tables` are those that `--set` of the command accepts.
    """
    settings = parse_tables(options.set, tables)["data"]
    names = ("source_language", "target_language")
    languages = {name: getattr(loaded, name) for name in names} if loaded else {}
    flags = {name: value for name in ("columns", "tag") if (value := getattr(options, name, None))}
    return config.build_config(
        DataFormat, languages | settings | flags | ({"header": True} if options.header else {}), "data"
    )
