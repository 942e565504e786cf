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
def test_an_epoch_holds_every_pair_once_within_the_budget(
    pairs: np.ndarray, budget: int, seed: int, epoch: int
) -> None:
    batches = epoch_order(pairs, batch_tokens=budget, seed=seed, epoch=epoch)
    assert Counter(np.concatenate(batches).tolist()) == Counter(range(len(pairs)))
    for batch in batches:
        assert len(batch) == 1 or pairs[batch].max() * len(batch) <= budget


@given(lengths)
def test_the_order_is_a_pure_function_of_lengths_seed_and_epoch(pairs: np.ndarray) -> None:
    once, again = (epoch_order(pairs, batch_tokens=90, seed=3, epoch=4) for _ in range(2))
    assert [batch.tolist() for batch in once] == [batch.tolist() for batch in again]


def test_epochs_and_seeds_differ() -> None:
    pairs = np.random.default_rng(0).integers(1, 30, (500, 2))
    plans = [epoch_order(pairs, batch_tokens=200, seed=seed, epoch=epoch) for seed, epoch in ((1, 0), (1, 1), (2, 0))]
    firsts = {tuple(batches[0].tolist()) for batches in plans}
    assert len(firsts) == 3


def captions(spread: float) -> np.ndarray:
    """Sentences as long as those of a caption corpus: a normal length, the target near the source."""
    generator = np.random.default_rng(0)
    source = np.clip(generator.normal(14, 4.5, 29_000), 3, 50)
    target = np.clip(source * generator.normal(1.02, spread, 29_000), 3, 50)
    return np.stack([source, target], axis=1).astype(int)


def test_sorting_in_pools_leaves_little_padding() -> None:
    pairs = captions(spread=0.13)
    batches = epoch_order(pairs, batch_tokens=2048, seed=1, epoch=0)
    places = sum(pairs[batch].max(axis=0).sum() * len(batch) for batch in batches)
    assert 1 - pairs.sum() / places < 0.05


def test_neighbours_take_about_equally_long() -> None:
    """Who computes one batch of an update waits for who computes the next."""
    pairs, generator = captions(spread=0.2), np.random.default_rng(0)
    batches = epoch_order(pairs, batch_tokens=2048, seed=1, epoch=0)
    places = np.array([pairs[batch].max(axis=0).sum() * len(batch) for batch in batches])

    def waiting(order: np.ndarray) -> float:
        couples = order[: len(order) // 2 * 2].reshape(-1, 2)
        return float(1 - couples.mean() / couples.max(axis=1).mean())

    assert waiting(places) < waiting(generator.permutation(places)) / 2
    assert waiting(places[1:]) < waiting(generator.permutation(places)) / 2, "wherever an update begins"
    lengths = np.array([pairs[batch].mean() for batch in batches])
    assert abs(np.corrcoef(lengths[1:], lengths[:-1])[0, 1]) < 0.3, "long and short ones still come in turn"


@given(st.lists(st.lists(st.integers(4, 99), max_size=9), min_size=1, max_size=9))
def test_padded_rows_come_back(rows: list[list[int]]) -> None:
    batch = pad(rows)
    assert [row[:length].tolist() for row, length in zip(batch.tokens, batch.lengths, strict=True)] == rows
    assert int(batch.mask.sum()) == sum(map(len, rows))
    ragged = Ragged(rows)
    assert [ragged[at].tolist() for at in range(len(rows))] == rows


def test_a_batch_shifts_its_target_behind_the_beginning() -> None:
    batch = Examples(Ragged([[7, 8], [9]]), Ragged([[5], [6, 4, 7]])).batch(np.array([1, 0]))
    assert batch.source.tokens.tolist() == [[9, EOS, 0], [7, 8, EOS]]
    assert batch.decoder_input.tokens.tolist() == [[BOS, 6, 4, 7], [BOS, 5, 0, 0]]
    assert batch.target.tokens.tolist() == [[6, 4, 7, EOS], [5, EOS, 0, 0]]


@given(st.integers(0, 30))
def test_a_stream_goes_on_from_any_of_its_positions(stop: int) -> None:
    generator = random.Random(1)
    rows = [[4] * generator.randint(1, 9) for _ in range(40)]
    examples = Examples(Ragged(rows), Ragged(rows))
    whole = iterate_batches(lambda _: examples, batch_tokens=60, seed=1, start=DataPosition())
    seen = [next(whole) for _ in range(stop + 1)]
    expected = next(whole)
    position, batch = next(iterate_batches(lambda _: examples, batch_tokens=60, seed=1, start=seen[-1][0]))
    assert position == expected[0]
    assert torch.equal(batch.source.tokens, expected[1].source.tokens)


def test_one_pair_longer_than_the_budget_is_a_batch_of_its_own() -> None:
    pairs = np.array([[50, 2], [3, 3], [3, 3]])
    assert [batch.tolist() for batch in batch_by_tokens(pairs, np.arange(3), 10)] == [[0], [1, 2]]
