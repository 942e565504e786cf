"""Format of the files that `evaluate`, `shortlist` and `data` read: columns, header, encoding, languages."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from tongsa import config
from tongsa.cli.model_arguments import parse_tables

if TYPE_CHECKING:
    from tongsa.bundle import Bundle


@dataclass(frozen=True, kw_only=True)
class DataFormat:
    """The settings of [data] that say how a file of pairs is read."""

    columns: tuple[int, int] = (1, 2)
    header: bool = False
    encoding: str = "utf-8"
    source_language: str = ""
    target_language: str = ""
    tag: str = ""

    @property
    def reading(self) -> "Reading":
        """The arguments of `read_pairs` and `read_texts`."""
        languages = self.source_language, self.target_language
        return {"columns": self.columns, "header": self.header, "encoding": self.encoding, "languages": languages}


class Reading(TypedDict):
    columns: tuple[int, int]
    header: bool
    encoding: str
    languages: tuple[str, str]


def data_format(options: argparse.Namespace, loaded: "Bundle | None", tables: Sequence[str] = ("data",)) -> DataFormat:
    """Return the format of the files, with the languages of the model, if there is one, unless `--set` changes them.

    `tables` are those that `--set` of the command accepts; tables inside [data] are left to the command.
    """
    settings = {name: value for name, value in parse_tables(options.set, tables)["data"].items() if name != "noise"}
    names = ("source_language", "target_language")
    languages = {name: getattr(loaded, name) for name in names} if loaded else {}
    flags = {name: value for name in ("columns", "tag") if (value := getattr(options, name, None))}
    return config.build_config(
        DataFormat, languages | settings | flags | ({"header": True} if options.header else {}), "data"
    )
