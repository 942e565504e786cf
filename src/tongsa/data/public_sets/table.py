"""The table of public data sets, `sets.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

from tongsa.errors import InputError

DATA_FOLDER = "data"
"""Folder of the sets, in the current directory: each in a folder of its name."""


@dataclass(frozen=True, kw_only=True)
class SetFile:
    """A file of a data set: the joined text of its parts."""

    name: str
    """Name in the folder; a name that ends in .gz is compressed."""
    parts: tuple[str, ...]
    """Addresses, or ADDRESS#MEMBER of a tar file."""
    convert: str = ""
    """A key of `CONVERTERS`, or "" for text that is kept as it is."""
    sha256: str = ""
    """Checksum of the text, decompressed; "" if it is not known."""


@dataclass(frozen=True, kw_only=True)
class PublicSet:
    name: str
    title: str
    home: str
    license: str
    size: int
    """Bytes to download; 0 if not known."""
    files: tuple[SetFile, ...]
    archives: Mapping[str, str] = field(default_factory=dict)
    """Address of a tar file → checksum of its bytes, "" if it is not known."""

    @property
    def size_text(self) -> str:
        return f"{self.size / 1e6:,.1f} MB" if self.size else "size not known"

    @property
    def unknown_checksums(self) -> list[str]:
        """Return the names of files that no known checksum covers."""
        covered = {address for address, sha256 in self.archives.items() if sha256}
        unknown = [file for file in self.files if not file.sha256]
        return [file.name for file in unknown if not covered.issuperset(map(address_of, file.parts))]


def address_of(part: str) -> str:
    return part.partition("#")[0]


def member_of(part: str) -> str:
    """Return the name of the member of a tar file, or "" if the part is a file of its own."""
    return part.partition("#")[2]


def download_name(address: str) -> str:
    """Return the last name of the path of an address."""
    return urlsplit(address).path.rpartition("/")[2]


@cache
def public_sets() -> dict[str, PublicSet]:
    """Return all sets by name."""
    table = tomllib.loads(files(__package__).joinpath("sets.toml").read_text(encoding="utf-8"))
    return {name: _parse_set(name, values) for name, values in table.items()}


def _parse_set(name: str, values: dict[str, object]) -> PublicSet:
    parsed = [SetFile(**file | {"parts": tuple(file["parts"])}) for file in values.pop("files")]  # type: ignore[attr-defined]
    return PublicSet(name=name, files=tuple(parsed), **values)  # type: ignore[arg-type]


def find_set(name: str) -> PublicSet:
    if name not in public_sets():
        raise InputError(f"{name}: unknown data set. Choose one of: {', '.join(public_sets())}.")
    return public_sets()[name]
