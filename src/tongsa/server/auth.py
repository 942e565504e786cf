"""API keys and rate limits. The key file holds names and hashes; a key is shown once, when it is created."""

import hashlib
import hmac
import ipaddress
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request

from tongsa import storage
from tongsa.errors import InputError
from tongsa.program import format_command
from tongsa.server.errors import APIError

KEY_PREFIX = "tongsa_"
"""Makes a leaked key recognizable."""
_KEY_LINE = re.compile(r"(?P<name>\S+)\t(?P<digest>[0-9a-f]{64})")
FILE_HEADER = "# tongsa: name<TAB>sha256 of the key. Delete a line to revoke its key.\n"
MAX_CLIENTS = 50_000
"""Clients whose request rate is remembered; the least recently seen are dropped."""
MAX_CLIENT_CHARACTERS = 64
"""Characters kept of a client name that is not an IP address: a proxy may forward anything."""


class APIKey(NamedTuple):
    name: str
    digest: str


def hash_key(key: str) -> str:
    """Return the SHA-256 of a key. Keys hold 256 random bits, so no salt and no slow hash is needed."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


class APIKeys:
    """API keys of a file. Without a file no key is required."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.entries = read_keys(path) if path else []

    @property
    def required(self) -> bool:
        return self.path is not None

    def reload(self) -> None:
        """Read the file again. Raise InputError and change nothing if it is damaged."""
        if self.path:
            self.entries = read_keys(self.path)

    def find_owner(self, key: str) -> str | None:
        """Return the name of a key's owner. Compare with all keys, in constant time."""
        digest, owner = hash_key(key), None
        for entry in self.entries:
            if hmac.compare_digest(entry.digest, digest):
                owner = entry.name
        return owner


def read_keys(path: Path) -> list[APIKey]:
    remedy = f"Create a key with: {format_command('serve --keys {} --new-key NAME', path)}"
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: cannot be read. {remedy}") from None
    keys: dict[str, APIKey] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _KEY_LINE.fullmatch(line)
        if not match or match["name"] in keys:
            problem = f"the name {match['name']!r} occurs twice" if match else "not name<TAB>sha256"
            raise InputError(f"{path}:{number}: {problem}. Delete this line. {remedy}")
        keys[match["name"]] = APIKey(match["name"], match["digest"])
    return list(keys.values())


def create_key(path: Path, name: str) -> str:
    """Create a key, add its hash to the file and return the key."""
    entries: Sequence[APIKey] = read_keys(path) if path.exists() else []
    if not re.fullmatch(r"[^\s#]\S{0,63}", name):
        raise InputError(f"--new-key {name!r}: not a name. Give up to 64 characters without spaces, such as alice.")
    if name in (entry.name for entry in entries):
        raise InputError(f"{path}: {name!r} has a key already. Delete its line first, or choose another name.")
    key = KEY_PREFIX + secrets.token_urlsafe(32)
    rows = [*entries, APIKey(name, hash_key(key))]
    storage.write_text(path, FILE_HEADER + "".join(f"{entry.name}\t{entry.digest}\n" for entry in rows))
    path.chmod(0o600)
    return key


def key_from_headers(request: Request) -> str:
    """Return the key of `Authorization: Bearer KEY` or `X-API-Key: KEY`."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")


class RateLimiter:
    """Token bucket per client: `requests_per_minute` requests, also in one burst. 0 means no limit."""

    def __init__(
        self, requests_per_minute: float, clock: Callable[[], float] = time.monotonic, max_clients: int = MAX_CLIENTS
    ) -> None:
        self.requests_per_minute, self.clock, self.max_clients = requests_per_minute, clock, max_clients
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Client → requests left, and the time of that count."""

    def take(self, client: str) -> None:
        """Count a request. Raise 429 if the client has no requests left."""
        if not self.requests_per_minute:
            return
        now, capacity = self.clock(), max(1.0, self.requests_per_minute)
        left, since = self._buckets.pop(client, (capacity, now))
        left = min(capacity, left + (now - since) * self.requests_per_minute / 60)
        self._buckets[client] = (left - 1 if left >= 1 else left, now)
        while len(self._buckets) > self.max_clients:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = (1 - left) * 60 / self.requests_per_minute
            message = f"More than {self.requests_per_minute:g} requests per minute. Wait {wait:.0f} s."
            raise APIError(429, "too_many", message, retry_after=wait + 0.5)


def client_network(address: str) -> str:
    """Return the network that counts as one client: an IPv4 address, or the IPv6 /64 network of one user."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:MAX_CLIENT_CHARACTERS]
    # ::ffff:192.0.2.1 is the IPv4 address 192.0.2.1
    ipv4 = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else parsed
    return str(ipv4 or ipaddress.ip_network((parsed, 64), strict=False))
