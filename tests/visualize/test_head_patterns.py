"""Names of attention heads: entropy, positional patterns, and that short sentences name nothing by chance."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tongsa.visualize.head_patterns import (
    MAX_CHANCE,
    HeadSummary,
    chance_bound,
    common_pattern,
    pattern_masks,
    summarize_head,
)
from tongsa.visualize.mechanism import CAUSAL, UNMASKED

from .examples import causal_weights

ROLES = ("encoder", "decoder", "cross", "hops")
POSITIONAL = {"itself", "previous", "next", "earlier", "first", "last", "diagonal"}
DRAWS = 400


def allowed_cells(role: str, queries: int, keys: int) -> NDArray[np.bool_]:
    return (CAUSAL if role == "decoder" else UNMASKED).allowed_cells(queries, keys)


def summarize(role: str, weights: NDArray[np.float64]) -> HeadSummary:
    return summarize_head(weights, allowed_cells(role, *weights.shape), pattern_masks(role, *weights.shape))


def peaked_rows(role: str, keys: list[int], count: int, weight: float = 0.9) -> NDArray[np.float64]:
    """Return rows with `weight` on one key each, the rest uniform over the other allowed keys."""
    rows = np.full((len(keys), count), (1 - weight) / (count - 1))
    rows[np.arange(len(keys)), keys] = weight
    rows = rows * allowed_cells(role, len(keys), count)
    normalized: NDArray[np.float64] = rows / rows.sum(axis=1, keepdims=True)
    return normalized


def random_head(role: str, length: int, concentration: float, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return rows drawn from a symmetric Dirichlet distribution over the allowed keys: sharp below 1, broad above."""
    mask, weights = allowed_cells(role, length, length), np.zeros((length, length))
    for row in range(length):
        weights[row, mask[row]] = generator.dirichlet(np.full(mask[row].sum(), concentration))
    return weights


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("length", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("concentration", [0.05, 0.5, 2.0])
def test_random_heads_of_short_sentences_are_hardly_ever_named(role: str, length: int, concentration: float) -> None:
    generator = np.random.default_rng(length)
    names = [summarize(role, random_head(role, length, concentration, generator)).pattern for _ in range(DRAWS)]
    assert sum(name in POSITIONAL for name in names) <= 0.05 * DRAWS


@pytest.mark.parametrize("weight", [0.6, 0.9, 1.0])
@pytest.mark.parametrize(
    ("role", "keys", "pattern"),
    [
        ("encoder", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], "itself"),
        ("encoder", [0, 0, 1, 2, 3, 4, 5, 6, 7, 8], "previous"),
        ("encoder", [1, 2, 3, 4, 5, 6, 7, 8, 9, 9], "next"),
        ("encoder", [0] * 10, "first"),
        ("encoder", [9] * 10, "last"),
        ("encoder", [7, 4, 0, 9, 1, 8, 2, 3, 5, 6], "focused"),
        ("decoder", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], "previous"),
        ("decoder", [0, 0, 1, 2, 3, 4, 5, 6, 7, 8], "earlier"),
        ("decoder", [0] * 10, "first"),
        ("cross", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], "diagonal"),
        ("cross", [0] * 10, "first"),
        ("cross", [9] * 10, "last"),
        ("cross", [9, 8, 7, 6, 0, 9, 3, 2, 1, 0], "focused"),
        ("hops", [0] * 10, "first"),
    ],
)
def test_head_that_follows_a_pattern_in_ten_tokens_is_named(
    role: str, keys: list[int], pattern: str, weight: float
) -> None:
    summary = summarize(role, peaked_rows(role, keys, 10, weight))
    assert summary.pattern == pattern
    assert summary.value >= weight - 1e-9


@pytest.mark.parametrize("role", ["encoder", "decoder", "cross"])
def test_three_words_are_too_short_for_any_pattern(role: str) -> None:
    """With </s> they are four tokens. Even a head that follows a pattern exactly could do so by chance."""
    diagonal = list(range(4))
    for keys in (diagonal, [0, 0, 1, 2], [0] * 4, [1, 2, 3, 3], [3] * 4):
        if role != "decoder" or all(key <= query for query, key in enumerate(keys)):
            assert summarize(role, peaked_rows(role, keys, 4)).pattern == "too_short"


def test_five_words_are_enough_only_if_all_rows_agree() -> None:
    assert summarize("cross", peaked_rows("cross", [0, 1, 2, 3, 4, 5], 6)).pattern == "diagonal"
    assert summarize("cross", peaked_rows("cross", [0, 1, 2, 1, 4, 5], 6)).pattern == "focused"


def test_first_and_last_row_are_no_evidence_of_a_diagonal() -> None:
    """They are also "first" and "last"; in a sentence of three words they are half of the rows."""
    keys = [0, 4, 1, 5, 2, 5]
    assert summarize("cross", peaked_rows("cross", keys, 6)).pattern == "focused"


def test_many_target_tokens_on_few_source_tokens_are_no_evidence_of_a_diagonal() -> None:
    keys = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]
    assert summarize("cross", peaked_rows("cross", keys, 3)).pattern not in POSITIONAL


@pytest.mark.parametrize("weight", [0.4, 0.7, 1.0])
def test_chance_bound_is_at_least_the_exact_probability(weight: float) -> None:
    """All permutations of three rows of four weights are enumerated; the pattern has one or two cells in a row."""
    rows = peaked_rows("cross", [0, 1, 2], 4, weight)
    cells = np.array([[True, False, False, False], [True, True, False, False], [False, False, True, False]])
    orders = np.array(list(permutations(range(4))))
    sums = [(row[orders] * cell).sum(axis=1) for row, cell in zip(rows, cells, strict=True)]
    totals = sums[0][:, None, None] + sums[1][None, :, None] + sums[2][None, None, :]
    exact = float((totals >= (rows * cells).sum() - 1e-9).mean())
    bound = chance_bound(rows, np.ones((3, 4), dtype=np.bool_), cells)
    assert exact - 1e-9 <= bound <= 1.0
    assert weight < 1 or bound == pytest.approx(exact, rel=1e-6)


def test_chance_bound_of_random_heads_is_seldom_small() -> None:
    generator, mask = np.random.default_rng(1), np.ones((6, 6), dtype=np.bool_)
    bounds = [chance_bound(random_head("cross", 6, 0.3, generator), mask, np.eye(6) > 0) for _ in range(2000)]
    assert np.mean(np.array(bounds) <= MAX_CHANCE) <= MAX_CHANCE


def test_decoder_head_on_the_latest_token_is_previous() -> None:
    summary = summarize("decoder", np.eye(6))
    assert (summary.pattern, summary.value, summary.entropy) == ("previous", 1.0, 0.0)
    assert "itself" not in summary.patterns


def test_uniform_weights_have_the_maximum_entropy() -> None:
    summary = summarize("cross", np.full((3, 8), 1 / 8))
    assert summary.pattern == "broad"
    assert_allclose([summary.entropy, summary.normalized_entropy, summary.confidence], [3.0, 1.0, 1 / 8])


def test_uniform_weights_have_the_uniform_share_of_each_pattern() -> None:
    lengths = np.arange(1, 7)[:, None]
    summary = summarize("decoder", np.tril(np.ones((6, 6))) / lengths)
    for pattern in summary.patterns.values():
        assert_allclose(pattern.share, pattern.uniform_share)


def test_queries_with_a_single_key_do_not_count() -> None:
    weights = causal_weights(1, 5)[0]
    rows = weights[1:]
    entropy = -(rows * np.log2(np.where(rows > 0, rows, 1))).sum(axis=1).mean()
    assert_allclose(summarize("decoder", weights).entropy, entropy)


def test_head_with_a_single_key_is_fixed() -> None:
    assert summarize("cross", np.ones((3, 1))).pattern == "fixed"


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["previous", "previous", "mixed"], ("previous", 2, 3)),
        (["previous", "mixed"], ("varies", 1, 2)),
        (["previous", "too_short", "fixed"], ("previous", 1, 1)),
        (["too_short", "too_short"], ("too_short", 2, 2)),
        (["a", "b", "b", "c"], ("varies", 2, 4)),
    ],
)
def test_a_head_is_named_after_most_of_the_sentences_that_are_long_enough(
    patterns: list[str], expected: tuple[str, int, int]
) -> None:
    assert tuple(common_pattern(patterns).values()) == expected
