"""Prefetching: the same batches in the same order, errors in their turn, and no thread left behind."""

import threading
from collections.abc import Iterator

import pytest

from tiny import sentence
from tongsa.batch import Examples, Ragged
from tongsa.training.data_loader import PREFETCH_BATCHES, PREFETCH_THREAD_NAME, iterate_batches, prefetch
from tongsa.training.loop import DataPosition


def prefetch_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith(PREFETCH_THREAD_NAME)]


def test_all_items_come_in_order() -> None:
    for count in (0, 1, PREFETCH_BATCHES, 5 * PREFETCH_BATCHES):
        assert list(prefetch(iter(range(count)))) == list(range(count))
    assert prefetch_threads() == []


def test_items_are_computed_ahead_in_one_other_thread() -> None:
    thread_ids, is_ahead = set[int](), threading.Event()

    def numbers() -> Iterator[int]:
        for number in range(100):
            thread_ids.add(threading.get_ident())
            if number == PREFETCH_BATCHES:  # computed as soon as the first item has been taken
                is_ahead.set()
            yield number

    items = prefetch(numbers())
    assert next(items) == 0
    assert is_ahead.wait(timeout=300)
    items.close()  # type: ignore[attr-defined]
    assert len(thread_ids) == 1
    assert thread_ids != {threading.get_ident()}


def test_an_error_is_raised_at_its_item_and_not_before() -> None:
    def numbers() -> Iterator[int]:
        yield 0
        yield 1
        raise ZeroDivisionError("no batch")

    items = prefetch(numbers())
    assert [next(items), next(items)] == [0, 1]
    with pytest.raises(ZeroDivisionError, match="no batch"):
        next(items)
    assert prefetch_threads() == []


def test_a_closed_or_deleted_iterator_leaves_no_thread() -> None:
    rows = Ragged([sentence(3 + row % 5, row)[:-1] for row in range(40)])

    def open_iterator() -> Iterator[object]:
        return iterate_batches(lambda *_: Examples(rows, rows), batch_tokens=30, seed=1, start=DataPosition())

    closed, deleted = open_iterator(), open_iterator()
    next(closed), next(deleted)
    assert len(prefetch_threads()) == 2
    closed.close()  # type: ignore[attr-defined]
    assert len(prefetch_threads()) == 1
    del deleted
    assert prefetch_threads() == []
    open_iterator()
    assert prefetch_threads() == [], "no thread before the first batch is taken"
