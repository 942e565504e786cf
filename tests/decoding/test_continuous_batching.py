"""Continuous batching: batches start in order, as soon as there is room, and never before."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from table import Prefixes
from tongsa.batch import Padded, pad
from tongsa.decoding.batches import Capacity
from tongsa.decoding.continuous_batching import MAX_ACTIVE_BATCHES, MAX_PADDING_RATIO, ContinuousBatcher
from tongsa.tokenization.special import EOS


def start(batch: Padded) -> tuple[Prefixes, Tensor]:
    return Prefixes([]), batch.lengths


def make_batcher(batches: list[list[int]], capacity: Capacity) -> ContinuousBatcher[Prefixes]:
    return ContinuousBatcher([pad([[EOS] * length for length in lengths]) for lengths in batches], capacity, start)


@given(
    batches=st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=5), min_size=1, max_size=8),
    max_tokens=st.integers(1, 90),
    max_sentences=st.integers(1, 8),
    data=st.data(),
)
@settings(max_examples=50)
def test_all_sentences_start_in_order_and_never_exceed_the_capacity(
    batches: list[list[int]], max_tokens: int, max_sentences: int, data: st.DataObject
) -> None:
    batcher = make_batcher(batches, Capacity(max_tokens, max_sentences))
    lengths_in_order = [length for lengths in batches for length in lengths]
    numbers = itertools.count()
    alive: dict[int, int] = {}  # sentence number → source length
    started: tuple[Prefixes, Tensor] | None = batcher.next_batch()
    while started or alive or batcher.waiting:
        if started:
            alive |= {next(numbers): length for length in started[1].tolist()}
            if len(started[1]) < len(alive):
                assert sum(alive.values()) <= max_tokens and len(alive) <= max_sentences
                assert len(alive) * max(alive.values()) <= MAX_PADDING_RATIO * max_tokens
        assert list(alive.values()) == [lengths_in_order[number] for number in alive]
        finished = data.draw(st.sets(st.sampled_from(sorted(alive)), min_size=1)) if alive else set()
        alive = {number: length for number, length in alive.items() if number not in finished}
        started = batcher(list(alive))
    assert next(numbers) == len(lengths_in_order)


def test_the_number_of_batches_with_unfinished_sentences_is_limited() -> None:
    batcher = make_batcher([[2, 2]] * (MAX_ACTIVE_BATCHES + 3), Capacity(1000, 1000))
    batcher.next_batch()
    alive = [0]
    while batcher(alive) is not None:
        alive.append(2 * len(alive))  # one sentence of each batch is unfinished
    assert len(alive) == MAX_ACTIVE_BATCHES
    assert batcher(alive[1:]) is not None


def test_short_sentences_join_a_long_one_unless_they_would_be_mostly_padding() -> None:
    batcher = make_batcher([[60], *([5] * 4 for _ in range(3))], Capacity(100, 100))
    batcher.next_batch()
    assert batcher([0]) is not None
    assert batcher([0, 1, 2, 3, 4]) is None
