"""Batches: every pair once within the token budget, in an order that depends only on its arguments."""

import random
from collections import Counter

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from tongsa.batch import Examples, Ragged, batch_by_tokens, epoch_order, pad
from tongsa.tokenization.special import BOS, EOS
from tongsa.training.data_loader import iterate_batches
from tongsa.training.loop import DataPosition

lengths = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=80).map(np.array)


@given(lengths, st.integers(1, 200), st.integers(0, 5), st.integers(0, 5))
def test_an_epoch_has_every_pair_once_within_batch_tokens(
    pairs: np.ndarray, batch_tokens: int, seed: int, epoch: int
) -> None:
    batches = epoch_order(pairs, batch_tokens=batch_tokens, seed=seed, epoch=epoch)
    assert Counter(np.concatenate(batches).tolist()) == Counter(range(len(pairs)))
    for batch in batches:
        assert len(batch) == 1 or pairs[batch].max() * len(batch) <= batch_tokens


@given(lengths)
def test_the_order_is_a_pure_function_of_lengths_seed_and_epoch(pairs: np.ndarray) -> None:
    first, second = (epoch_order(pairs, batch_tokens=90, seed=3, epoch=4) for _ in range(2))
    assert [batch.tolist() for batch in first] == [batch.tolist() for batch in second]


def test_epochs_and_seeds_differ() -> None:
    pairs = np.random.default_rng(0).integers(1, 30, (500, 2))
    orders = [epoch_order(pairs, batch_tokens=200, seed=seed, epoch=epoch) for seed, epoch in ((1, 0), (1, 1), (2, 0))]
    firsts = {tuple(batches[0].tolist()) for batches in orders}
    assert len(firsts) == 3


def captions(spread: float) -> np.ndarray:
    """Return lengths as in a caption corpus: normally distributed, the target close to the source."""
    generator = np.random.default_rng(0)
    source = np.clip(generator.normal(14, 4.5, 29_000), 3, 50)
    target = np.clip(source * generator.normal(1.02, spread, 29_000), 3, 50)
    return np.stack([source, target], axis=1).astype(int)


def test_sorting_in_pools_leaves_little_padding() -> None:
    pairs = captions(spread=0.13)
    batches = epoch_order(pairs, batch_tokens=2048, seed=1, epoch=0)
    padded_size = sum(pairs[batch].max(axis=0).sum() * len(batch) for batch in batches)
    assert 1 - pairs.sum() / padded_size < 0.05


def test_consecutive_batches_are_of_similar_size() -> None:
    """Batches of one update run in parallel: an update waits for the largest."""
    pairs, generator = captions(spread=0.2), np.random.default_rng(0)
    batches = epoch_order(pairs, batch_tokens=2048, seed=1, epoch=0)
    sizes = np.array([pairs[batch].max(axis=0).sum() * len(batch) for batch in batches])

    def waiting_fraction(order: np.ndarray) -> float:
        updates = order[: len(order) // 2 * 2].reshape(-1, 2)
        return float(1 - updates.mean() / updates.max(axis=1).mean())

    assert waiting_fraction(sizes) < waiting_fraction(generator.permutation(sizes)) / 2
    assert waiting_fraction(sizes[1:]) < waiting_fraction(generator.permutation(sizes)) / 2, (
        "for updates that begin at an odd batch"
    )
    lengths = np.array([pairs[batch].mean() for batch in batches])
    assert abs(np.corrcoef(lengths[1:], lengths[:-1])[0, 1]) < 0.3, "long and short batches still alternate"


@given(st.lists(st.lists(st.integers(4, 99), max_size=9), min_size=1, max_size=9))
def test_padding_and_ragged_arrays_keep_all_rows(rows: list[list[int]]) -> None:
    batch = pad(rows)
    assert [row[:length].tolist() for row, length in zip(batch.tokens, batch.lengths, strict=True)] == rows
    assert int(batch.mask.sum()) == sum(map(len, rows))
    ragged = Ragged(rows)
    assert [ragged[row].tolist() for row in range(len(rows))] == rows


def test_the_decoder_input_is_the_target_shifted_right() -> None:
    batch = Examples(Ragged([[7, 8], [9]]), Ragged([[5], [6, 4, 7]])).batch(np.array([1, 0]))
    assert batch.source.tokens.tolist() == [[9, EOS, 0], [7, 8, EOS]]
    assert batch.decoder_input.tokens.tolist() == [[BOS, 6, 4, 7], [BOS, 5, 0, 0]]
    assert batch.target.tokens.tolist() == [[6, 4, 7, EOS], [5, EOS, 0, 0]]


@given(st.integers(0, 30))
def test_a_data_loader_resumes_from_any_position(stop: int) -> None:
    generator = random.Random(1)
    rows = [[4] * generator.randint(1, 9) for _ in range(40)]
    examples = Examples(Ragged(rows), Ragged(rows))
    loader = iterate_batches(lambda *_: examples, batch_tokens=60, seed=1, start=DataPosition())
    seen = [next(loader) for _ in range(stop + 1)]
    expected = next(loader)
    position, batch = next(iterate_batches(lambda *_: examples, batch_tokens=60, seed=1, start=seen[-1][0]))
    assert position == expected[0]
    assert torch.equal(batch.source.tokens, expected[1].source.tokens)


def test_a_pair_longer_than_batch_tokens_is_a_batch_alone() -> None:
    pairs = np.array([[50, 2], [3, 3], [3, 3]])
    assert [batch.tolist() for batch in batch_by_tokens(pairs, np.arange(3), 10)] == [[0], [1, 2]]
