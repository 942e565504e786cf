"""Every text is in one batch, and no batch is larger than there is room for."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tongsa.decoding.batches import MAX_SCORES_PER_STEP, Capacity, assign_to_threads, make_batches


@given(
    lengths=st.lists(st.integers(1, 60), max_size=80),
    places=st.integers(1, 300),
    each=st.integers(1, 40),
    threads=st.integers(1, 4),
)
@example(lengths=[3] * 1000, places=4096, each=100, threads=2)  # short texts, a wide beam, many pieces
def test_every_text_once_longest_first_and_never_more_than_there_is_room_for(
    lengths: list[int], places: int, each: int, threads: int
) -> None:
    """With `each` sentences to a step."""
    sizes = np.array(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    found = make_batches(sizes, order, Capacity.for_candidates(places, MAX_SCORES_PER_STEP // each), threads=threads)
    assert [row for batch in found for row in batch] == list(order)
    for batch in found:
        assert 1 <= len(batch) <= MAX_SCORES_PER_STEP // (MAX_SCORES_PER_STEP // each)
        assert len(batch) == 1 or len(batch) * sizes[batch].max() <= places


def test_a_few_texts_are_shared_out_evenly_among_threads() -> None:
    sizes = np.full(100, 10)
    found = make_batches(sizes, np.arange(100), Capacity.for_candidates(600, 1), threads=2)
    assert [len(batch) for batch in found] == [50, 50]  # not 60 and 40


def test_the_thread_with_a_very_long_text_gets_little_else() -> None:
    sizes = np.array([1000] + [16] * 4000)
    parts = make_batches(sizes, np.arange(4001), Capacity.for_candidates(4096, 1).divide(4), threads=8)
    shares = assign_to_threads(parts, sizes, 8)
    assert sorted(row for share in shares for part in share for row in part) == list(range(4001))
    assert len(shares) == 8 and len(shares[0]) == 1
    counts = [sum(map(len, share)) for share in shares[1:]]
    assert max(counts) - min(counts) <= 64


def test_a_single_text_of_very_many_candidates_still_goes_through() -> None:
    assert (
        len(
            make_batches(
                np.array([5, 5]), np.arange(2), Capacity.for_candidates(4096, 10 * MAX_SCORES_PER_STEP), threads=1
            )
        )
        == 2
    )
