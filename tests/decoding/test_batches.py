"""Batches for decoding: every text is in one batch, and no batch exceeds the capacity."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tongsa.decoding.batches import MAX_SCORES_PER_STEP, Capacity, assign_to_threads, make_batches


@given(
    lengths=st.lists(st.integers(1, 60), max_size=80),
    max_tokens=st.integers(1, 300),
    max_sentences=st.integers(1, 40),
    threads=st.integers(1, 4),
)
@example(lengths=[3] * 1000, max_tokens=4096, max_sentences=100, threads=2)  # short texts, a wide beam
def test_every_text_is_in_one_batch_longest_first_and_no_batch_exceeds_the_capacity(
    lengths: list[int], max_tokens: int, max_sentences: int, threads: int
) -> None:
    sizes = np.array(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    candidates_per_sentence = MAX_SCORES_PER_STEP // max_sentences
    capacity = Capacity.for_candidates(max_tokens, candidates_per_sentence)
    batches = make_batches(sizes, order, capacity, threads=threads)
    assert [row for batch in batches for row in batch] == list(order)
    for batch in batches:
        assert 1 <= len(batch) <= MAX_SCORES_PER_STEP // candidates_per_sentence
        assert len(batch) == 1 or len(batch) * sizes[batch].max() <= max_tokens


def test_few_texts_are_divided_evenly_among_threads() -> None:
    batches = make_batches(np.full(100, 10), np.arange(100), Capacity.for_candidates(600, 1), threads=2)
    assert [len(batch) for batch in batches] == [50, 50]  # not 60 and 40


def test_the_thread_with_a_very_long_text_gets_little_else() -> None:
    sizes = np.array([1000] + [16] * 4000)
    batches = make_batches(sizes, np.arange(4001), Capacity.for_candidates(4096, 1).divide(4), threads=8)
    shares = assign_to_threads(batches, sizes, 8)
    assert sorted(row for share in shares for batch in share for row in batch) == list(range(4001))
    assert len(shares) == 8 and len(shares[0]) == 1
    counts = [sum(map(len, share)) for share in shares[1:]]
    assert max(counts) - min(counts) <= 64


def test_a_text_with_too_many_candidates_is_a_batch_by_itself() -> None:
    capacity = Capacity.for_candidates(4096, 10 * MAX_SCORES_PER_STEP)
    assert len(make_batches(np.array([5, 5]), np.arange(2), capacity, threads=1)) == 2
