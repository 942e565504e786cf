"""Translated files that wait to be fetched (LibreTranslate's /translate_file).

They are kept in memory under random names, limited in number and bytes, and removed when they expire. Nothing is
written to the disk. Who knows the name may fetch the file: LibreTranslate's clients send no key with that request.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

from tongsa.server.errors import busy_error, too_long_error


class TranslatedFile(NamedTuple):
    name: str
    """Name for the user; it is no path of this machine."""
    content: bytes
    expires_at: float


class TranslatedFiles:
    """Files by random token; only the event loop's thread uses it."""

    def __init__(
        self, max_files: int, max_bytes: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.max_files, self.max_bytes, self.seconds, self.clock = max_files, max_bytes, seconds, clock
        self._files: dict[str, TranslatedFile] = {}
        """Oldest first."""

    @property
    def num_bytes(self) -> int:
        return sum(len(file.content) for file in self._files.values())

    def __len__(self) -> int:
        return len(self._files)

    def add(self, name: str, content: bytes) -> str:
        """Keep a file and return its token. Raise 503 if there is no room: files of other clients are not removed."""
        self.remove_expired()
        if len(content) > self.max_bytes:
            raise too_long_error(f"{name}: the translation has {len(content):,} bytes. Send a smaller file.")
        if len(self._files) >= self.max_files or self.num_bytes + len(content) > self.max_bytes:
            wait = next(iter(self._files.values())).expires_at - self.clock()
            raise busy_error("Too many translated files wait to be fetched. Send it again later.", retry_after=wait)
        token = secrets.token_urlsafe(32)
        self._files[token] = TranslatedFile(name, content, self.clock() + self.seconds)
        # also if no other request comes
        asyncio.get_running_loop().call_later(self.seconds + 1, self.remove_expired)
        return token

    def get(self, token: str) -> TranslatedFile | None:
        self.remove_expired()
        return self._files.get(token)

    def remove_expired(self) -> None:
        now = self.clock()
        for token in [token for token, file in self._files.items() if file.expires_at <= now]:
            del self._files[token]
