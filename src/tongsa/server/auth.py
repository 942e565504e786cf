"""Who may ask: a file with names and hashes of keys. The keys themselves are shown once, when they are made."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tongsa import storage
from tongsa.errors import InputError

KEY_PREFIX = "tongsa_"
"""So that a key in the wrong place is recognised as one."""
_KEY_LINE = re.compile(r"(?P<name>\S+)\t(?P<digest>[0-9a-f]{64})")
FILE_HEADER = "# tongsa: name<TAB>sha256 of the key; a line taken out is a key that opens nothing any more\n"


class APIKey(NamedTuple):
    name: str
    digest: str


def hash_key(key: str) -> str:
    """Keys hold 256 random bits: a plain hash cannot be turned back, and needs no salt."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


class APIKeys:
    """The keys of a file; without a file everybody may ask."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.entries = read_keys(path) if path else []

    @property
    def required(self) -> bool:
        return self.path is not None

    def reload(self) -> None:
        """Read the file again; what is no file of keys any more changes nothing."""
        if self.path:
            self.entries = read_keys(self.path)

    def find_owner(self, key: str) -> str | None:
        """Whose key this is. Every one is compared, in a time that tells nothing."""
        given, found = hash_key(key), None
        for one in self.entries:
            if hmac.compare_digest(one.digest, given):
                found = one.name
        return found


def read_keys(path: Path) -> list[APIKey]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(
            f"{path}: cannot be read; make a key with: tongsa serve --keys {path} --new-key NAME"
        ) from None
    found: dict[str, APIKey] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _KEY_LINE.fullmatch(line)
        if not match or match["name"] in found:
            why = "a name that is there already" if match else "not name<TAB>sha256"
            raise InputError(f"{path}:{number}: {why}; make keys with: tongsa serve --keys {path} --new-key NAME")
        found[match["name"]] = APIKey(match["name"], match["digest"])
    return list(found.values())


def create_key(path: Path, name: str) -> str:
    """A new key, whose hash is in the file from now on."""
    known: Sequence[APIKey] = read_keys(path) if path.exists() else []
    if not re.fullmatch(r"[^\s#]\S{0,63}", name):
        raise InputError(f"--new-key {name!r}: give a name without spaces, such as alice")
    if name in (one.name for one in known):
        raise InputError(f"{path}: {name!r} has a key already; take its line out first, or choose another name")
    key = KEY_PREFIX + secrets.token_urlsafe(32)
    rows = [*known, APIKey(name, hash_key(key))]
    storage.write_text(path, FILE_HEADER + "".join(f"{one.name}\t{one.digest}\n" for one in rows))
    path.chmod(0o600)
    return key
