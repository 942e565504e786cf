"""Garbage collection, which stops all threads of the server while it looks through objects."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pauses = 0
_was_enabled = True
"""Before the first of the pauses: a server in a thread (background.py) shares the process with other programs."""


def freeze_objects() -> None:
    """Leave models and libraries out of garbage collection: looking through them takes 0.1 s."""
    gc.unfreeze()  # of the models before a reload
    gc.collect()
    gc.freeze()


@contextmanager
def paused_collection() -> Iterator[None]:
    """Collect nothing meanwhile: a parser makes a million objects, and looking through them takes a second."""
    global _pauses, _was_enabled
    with _lock:
        if not _pauses:
            _was_enabled = gc.isenabled()
        _pauses += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if not _pauses and _was_enabled:
                gc.enable()
