"""How often one client may ask: a bucket that fills with time, for each key or each address."""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

from tongsa.server.errors import APIError

MAX_CLIENTS = 50_000
"""Clients that are remembered; of more, those seen longest ago are forgotten."""
MAX_CLIENT_CHARACTERS = 64
"""Characters of what is no address: a proxy may pass on whatever it was sent."""


class RateLimiter:
    """So many requests a minute, all of them at once if a client likes; 0 sets no limit."""

    def __init__(
        self, requests_per_minute: float, clock: Callable[[], float] = time.monotonic, max_clients: int = MAX_CLIENTS
    ) -> None:
        self.requests_per_minute, self.clock, self.max_clients = requests_per_minute, clock, max_clients
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> None:
        """Count a request, or refuse it."""
        if not self.requests_per_minute:
            return
        now, full = self.clock(), max(1.0, self.requests_per_minute)
        left, since = self._buckets.pop(client, (full, now))
        left = min(full, left + (now - since) * self.requests_per_minute / 60)
        self._buckets[client] = (left - 1 if left >= 1 else left, now)
        while len(self._buckets) > self.max_clients:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = (1 - left) * 60 / self.requests_per_minute
            raise APIError(
                429,
                "too_many",
                f"more than {self.requests_per_minute:g} requests a minute; wait {wait:.0f} s",
                retry_after=wait + 0.5,
            )


def network(address: str) -> str:
    """Who is behind an address: with IPv6 everybody has 2^64 of them, but for the one that is IPv4's own."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:MAX_CLIENT_CHARACTERS]
    own = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else found  # ::ffff:192.0.2.1 is 192.0.2.1
    return str(own or ipaddress.ip_network((found, 64), strict=False))
