"""Garbage collection, which stops all threads of the server while it looks through objects."""

import gc

MIN_NEW_OBJECTS = 50_000
"""New objects before a collection. With Python's own number, 700, the objects of a large request are looked through
again and again."""


def freeze_objects() -> None:
    """Leave models and libraries out of garbage collection: looking through them takes 0.1 s. Collect rarely."""
    gc.unfreeze()  # of the models before a reload
    gc.collect()
    gc.freeze()
    gc.set_threshold(MIN_NEW_OBJECTS, *gc.get_threshold()[1:])
