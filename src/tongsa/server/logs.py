"""Log lines as JSON on stderr, written by a thread of their own.

Whoever reads the log may stop reading, and a disk may be full. The event loop, which serves all clients, must not wait
for either: lines go into a queue of limited length, and those that do not fit are counted and dropped.
"""

import json
import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import UnsupportedOperation
from typing import Any

MAX_WAITING_LINES = 5000
"""Lines that wait to be written, of some 200 bytes each; later ones are dropped."""
CLOSE_SECONDS = 2.0
"""Time for the last lines when the server ends."""


class JSONLogFormatter(logging.Formatter):
    """Log lines as JSON objects."""

    EXTRA_FIELDS = (
        "model",
        "reason",
        "kind",
        "location",
        "request",
        "route",
        "status",
        "ms",
        "key",
        "address",
        "count",
    )

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line |= {name: value for name in self.EXTRA_FIELDS if (value := getattr(record, name, None)) is not None}
        return json.dumps(line, ensure_ascii=False)


class ThreadedHandler(logging.Handler):
    """Handler whose thread writes the lines to stderr."""

    def __init__(self) -> None:
        super().__init__()
        self.stream = sys.stderr
        self._lines: deque[str] = deque()
        self._dropped = 0
        self._is_closing = False
        self._condition = threading.Condition()
        self._thread = threading.Thread(target=self._write_lines, name="tongsa log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        with self._condition:
            if len(self._lines) >= MAX_WAITING_LINES:
                self._dropped += 1
                return
            self._lines.append(line)
            self._condition.notify()

    def close(self) -> None:
        """Write what waits, unless nobody reads it."""
        with self._condition:
            self._is_closing = True
            self._condition.notify()
        self._thread.join(CLOSE_SECONDS)
        super().close()

    def _write_lines(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._lines or self._is_closing)
                if not self._lines:
                    return
                text = "".join(f"{line}\n" for line in self._lines)
                self._lines.clear()
                if self._dropped:
                    record = logging.LogRecord("tongsa.server", logging.WARNING, "", 0, "log lines dropped", (), None)
                    record.count = self._dropped
                    text, self._dropped = text + self.format(record) + "\n", 0
            with suppress(OSError, ValueError):  # a full disk, a closed pipe: the server goes on
                self._write(text)

    def _write(self, text: str) -> None:
        """Write to the file, not to the stream: the interpreter would wait at its end for the stream's lock."""
        try:
            file = self.stream.fileno()
        except UnsupportedOperation:
            self.stream.write(text)
            return
        data = text.encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(file, data) :]


@contextmanager
def log_to_stderr() -> Iterator[None]:
    """Log to stderr: our events from INFO, those of uvicorn and asyncio from WARNING. Restore the loggers at exit."""
    handler = ThreadedHandler()
    handler.setFormatter(JSONLogFormatter())
    levels = {
        logging.getLogger("tongsa.server"): logging.INFO,
        logging.getLogger("uvicorn"): logging.WARNING,
        logging.getLogger("asyncio"): logging.WARNING,
    }
    before = [(logger, logger.handlers, logger.propagate, logger.level) for logger in levels]
    for logger, level in levels.items():
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    try:
        yield
    finally:  # the caller may close the stream that was stderr
        for logger, handlers, propagate, level in before:
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
        handler.close()
