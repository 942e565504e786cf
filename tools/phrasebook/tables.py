"""Readers of the data files beside the code: tab-separated tables and TOML."""

import csv
import tomllib
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def read_rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a TSV file by column name; a missing cell at the end is empty."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", restval="", quoting=csv.QUOTE_NONE))


def read_toml(name: str) -> dict[str, Any]:
    with (DATA / name).open("rb") as file:
        return tomllib.load(file)


def split_names(names: str) -> list[str]:
    """Return the names of a list written with commas."""
    return [name.strip() for name in names.split(",") if name.strip()]
