"""Whoever waits comes in as soon as there is room, and never before."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from table import Prefixes
from tongsa.batch import Padded, pad
from tongsa.decoding.batches import Capacity
from tongsa.decoding.continuous_batching import MAX_ACTIVE_BATCHES, MAX_PADDING_RATIO, ContinuousBatcher
from tongsa.tokenization.special import EOS


def begun(part: Padded) -> tuple[Prefixes, Tensor]:
    return Prefixes([]), part.lengths


parts = st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=5), min_size=1, max_size=8)


@given(parts=parts, places=st.integers(1, 90), sentences=st.integers(1, 8), data=st.data())
def test_all_come_in_order_and_never_more_than_there_is_room_for(
    parts: list[list[int]], places: int, sentences: int, data: st.DataObject
) -> None:
    flow = ContinuousBatcher(
        [pad([[EOS] * length for length in part]) for part in parts],
        Capacity(places, sentences),
        begun,
    )
    order = [length for part in parts for length in part]
    numbers = itertools.count()
    there: dict[int, int] = {}
    came: tuple[Prefixes, Tensor] | None = flow.next_batch()
    while came or there or flow.waiting:
        if came:
            there |= {next(numbers): length for length in came[1].tolist()}
            if len(came[1]) < len(there):
                assert sum(there.values()) <= places and len(there) <= sentences
                assert len(there) * max(there.values()) <= MAX_PADDING_RATIO * places
        assert list(there.values()) == [order[at] for at in there]
        gone = data.draw(st.sets(st.sampled_from(sorted(there)), min_size=1)) if there else set()
        there = {at: length for at, length in there.items() if at not in gone}
        came = flow(list(there))
    assert next(numbers) == len(order)


def test_stragglers_of_many_parts_are_waited_for() -> None:
    flow = ContinuousBatcher([pad([[EOS] * 2] * 2)] * (MAX_ACTIVE_BATCHES + 3), Capacity(1000, 1000), begun)
    flow.next_batch()
    alive = [0]
    while flow(alive) is not None:
        alive.append(2 * len(alive))  # of each part one is still there
    assert len(alive) == MAX_ACTIVE_BATCHES
    assert flow(alive[1:]) is not None


def test_a_long_text_does_not_keep_the_short_ones_waiting() -> None:
    flow = ContinuousBatcher(
        [pad([[EOS] * 60]), *(pad([[EOS] * 5] * 4) for _ in range(3))],
        Capacity(100, 100),
        begun,
    )
    flow.next_batch()
    assert flow([0]) is not None
    assert flow([0, 1, 2, 3, 4]) is None, "beside the long one, four more would be mostly padding"
