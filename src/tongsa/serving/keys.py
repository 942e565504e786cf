"""Who may ask: a file with names and hashes of keys. The keys themselves are shown once, when they are made."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tongsa import files
from tongsa.errors import InputError

PREFIX = "tongsa_"
"""So that a key in the wrong place is recognised as one."""
_LINE = re.compile(r"(?P<name>\S+)\t(?P<digest>[0-9a-f]{64})")
HEADER = "# tongsa: name<TAB>sha256 of the key; a line taken out is a key that opens nothing any more\n"


class Key(NamedTuple):
    name: str
    digest: str


def digest(key: str) -> str:
    """Keys hold 256 random bits: a plain hash cannot be turned back, and needs no salt."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


class Keys:
    """The keys of a file; without a file everybody may ask."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known = read(path) if path else []

    @property
    def wanted(self) -> bool:
        return self.path is not None

    def again(self) -> None:
        """Read the file again; what is no file of keys any more changes nothing."""
        if self.path:
            self.known = read(self.path)

    def owner(self, key: str) -> str | None:
        """Whose key this is. Every one is compared, in a time that tells nothing."""
        given, found = digest(key), None
        for one in self.known:
            if hmac.compare_digest(one.digest, given):
                found = one.name
        return found


def read(path: Path) -> list[Key]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(
            f"{path}: cannot be read; make a key with: tongsa serve --keys {path} --new-key NAME"
        ) from None
    found: dict[str, Key] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if not match or match["name"] in found:
            why = "a name that is there already" if match else "not name<TAB>sha256"
            raise InputError(f"{path}:{number}: {why}; make keys with: tongsa serve --keys {path} --new-key NAME")
        found[match["name"]] = Key(match["name"], match["digest"])
    return list(found.values())


def new(path: Path, name: str) -> str:
    """A new key, whose hash is in the file from now on."""
    known: Sequence[Key] = read(path) if path.exists() else []
    if not re.fullmatch(r"[^\s#]\S{0,63}", name):
        raise InputError(f"--new-key {name!r}: give a name without spaces, such as alice")
    if name in (one.name for one in known):
        raise InputError(f"{path}: {name!r} has a key already; take its line out first, or choose another name")
    key = PREFIX + secrets.token_urlsafe(32)
    rows = [*known, Key(name, digest(key))]
    files.write_text(path, HEADER + "".join(f"{one.name}\t{one.digest}\n" for one in rows))
    path.chmod(0o600)
    return key
