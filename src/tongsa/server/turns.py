"""Turns of the models: they share the machine's threads, first come, first served."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction


class TicketLock:
    """First-come, first-served lock on shares of the machine: of all, or of one worker of an engine."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._next_ticket, self._now_serving = 0, 0
        self._free = Fraction(1)

    @contextmanager
    def acquire(self, share: Fraction = Fraction(1)) -> Iterator[None]:
        """Wait until all earlier tickets have been served and `share` of the machine is free."""
        with self._condition:
            ticket, self._next_ticket = self._next_ticket, self._next_ticket + 1
            self._condition.wait_for(lambda: self._now_serving == ticket and self._free >= share)
            self._now_serving += 1
            self._free -= share
            self._condition.notify_all()
        try:
            yield
        finally:
            with self._condition:
                self._free += share
                self._condition.notify_all()
