"""How often one client may ask: a bucket that fills with time, for each key or each address."""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

from tongsa.serving.refusal import Refusal

MOST = 50_000
"""Clients that are remembered; of more, those seen longest ago are forgotten."""
LONGEST = 64
"""Characters of what is no address: a proxy may pass on whatever it was sent."""


class Rates:
    """So many requests a minute, all of them at once if a client likes; 0 sets no limit."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic, most: int = MOST) -> None:
        self.rate, self.clock, self.most = rate, clock, most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> None:
        """Count a request, or refuse it."""
        if not self.rate:
            return
        now, full = self.clock(), max(1.0, self.rate)
        left, since = self._left.pop(client, (full, now))
        left = min(full, left + (now - since) * self.rate / 60)
        self._left[client] = (left - 1 if left >= 1 else left, now)
        while len(self._left) > self.most:
            self._left.popitem(last=False)
        if left < 1:
            wait = (1 - left) * 60 / self.rate
            raise Refusal(
                429, "too_many", f"more than {self.rate:g} requests a minute; wait {wait:.0f} s", again=wait + 0.5
            )


def network(address: str) -> str:
    """Who is behind an address: with IPv6 everybody has 2^64 of them, but for the one that is IPv4's own."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:LONGEST]
    own = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else found  # ::ffff:192.0.2.1 is 192.0.2.1
    return str(own or ipaddress.ip_network((found, 64), strict=False))
