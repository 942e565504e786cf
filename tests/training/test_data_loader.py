"""Batches made ahead: the same ones in the same order, faults told, and nobody left behind."""

import threading
from collections.abc import Iterator

import pytest

from tiny import sentence
from tongsa.batch import Examples, Ragged
from tongsa.training.data_loader import PREFETCH_BATCHES, iterate_batches, prefetch
from tongsa.training.loop import DataPosition


def waiting() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("ahead")]


def test_items_come_in_order_and_to_the_last() -> None:
    for count in (0, 1, PREFETCH_BATCHES, 5 * PREFETCH_BATCHES):
        assert list(prefetch(iter(range(count)))) == list(range(count))
    assert waiting() == []


def test_they_are_made_in_one_other_thread_before_they_are_asked_for() -> None:
    makers, enough = set[int](), threading.Event()

    def numbers() -> Iterator[int]:
        for number in range(100):
            makers.add(threading.get_ident())
            if number == PREFETCH_BATCHES:  # the first is asked for, so this one is made
                enough.set()
            yield number

    made = prefetch(numbers())
    assert next(made) == 0
    assert enough.wait(timeout=30)
    made.close()  # type: ignore[attr-defined]
    assert len(makers) == 1
    assert makers != {threading.get_ident()}


def test_a_fault_comes_up_where_its_batch_is_asked_for_and_not_before() -> None:
    def numbers() -> Iterator[int]:
        yield 0
        yield 1
        raise ZeroDivisionError("no batch")

    made = prefetch(numbers())
    assert [next(made), next(made)] == [0, 1]
    with pytest.raises(ZeroDivisionError, match="no batch"):
        next(made)
    assert waiting() == []


def test_a_stream_that_is_closed_or_forgotten_leaves_no_thread() -> None:
    lines = Ragged([sentence(3 + at % 5, at)[:-1] for at in range(40)])

    def opened() -> Iterator[object]:
        return iterate_batches(lambda _: Examples(lines, lines), batch_tokens=30, seed=1, start=DataPosition())

    closed, forgotten = opened(), opened()
    next(closed), next(forgotten)
    assert len(waiting()) == 2
    closed.close()  # type: ignore[attr-defined]
    assert len(waiting()) == 1
    del forgotten
    assert waiting() == []
    opened()
    assert waiting() == [], "none before the first batch is asked for"
