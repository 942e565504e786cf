"""HTTP connections with a deadline for the head of a request.

The parser is h11, which limits the size of headers; httptools, which uvicorn prefers if it is installed, does not.
uvicorn closes an idle connection after a response. A client that has sent nothing yet, or sends its headers byte by
byte, would keep its connection for ever, and with enough of them nobody else could connect.
"""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class Connection(H11Protocol):
    """Connection that is closed when no complete head of a request has arrived in time."""

    head_seconds: ClassVar[float]
    """Seconds from the opening of the connection, or from the first byte after a response, to the end of a head."""
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        super().connection_lost(exc)

    def _watch_head(self) -> None:
        """Start the timer while no request is handled; bytes that arrive do not start it again."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._cancel_head_timer()
        elif self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def connection_class(head_seconds: float) -> type[asyncio.Protocol]:
    """Return the class of the connections of a server."""
    attributes: dict[str, Any] = {"head_seconds": head_seconds}
    return type("Connection", (Connection,), attributes)
