import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tongsa.visualize.head_patterns import HeadSummary, attention_mask, pattern_masks, summarize_head

from .readings import causal


def named(role: str, weights: NDArray[np.float64]) -> HeadSummary:
    return summarize_head(weights, attention_mask(role, *weights.shape), pattern_masks(role, *weights.shape))


def onto(keys: list[int], count: int) -> NDArray[np.float64]:
    """Each query puts 0.9 on one key and shares the rest out."""
    rows = np.full((len(keys), count), 0.1 / (count - 1))
    rows[np.arange(len(keys)), keys] = 0.9
    return rows


@pytest.mark.parametrize(
    ("role", "keys", "kind"),
    [
        ("encoder", [0, 1, 2, 3, 4, 5], "itself"),
        ("encoder", [3, 0, 1, 2, 3, 4], "previous"),
        ("encoder", [1, 2, 3, 4, 5, 2], "next"),
        ("encoder", [0, 0, 0, 0, 0, 0], "first"),
        ("encoder", [5, 5, 5, 5, 5, 5], "last"),
        ("encoder", [3, 5, 0, 1, 2, 2], "focused"),
        ("cross", [0, 1, 2, 3, 4, 5], "diagonal"),
        ("cross", [5, 4, 1, 2, 1, 0], "focused"),
        ("hops", [0, 0, 0, 0, 0, 0], "first"),
    ],
)
def test_a_head_is_named_by_where_its_weight_falls(role: str, keys: list[int], kind: str) -> None:
    found = named(role, onto(keys, 6))
    assert (found.pattern, round(found.value, 6)) == (kind, 0.9)


def test_a_decoder_head_on_the_latest_piece_is_previous() -> None:
    found = named("decoder", np.eye(5))
    assert (found.pattern, found.value, found.entropy) == ("previous", 1.0, 0.0)
    assert "itself" not in found.patterns


def test_equal_weights_have_all_the_entropy_there_is() -> None:
    found = named("cross", np.full((3, 8), 1 / 8))
    assert found.pattern == "broad"
    assert_allclose([found.entropy, found.normalized_entropy, found.confidence], [3.0, 1.0, 1 / 8])


def test_agreement_by_chance_names_no_head() -> None:
    assert named("encoder", np.full((2, 2), 0.5)).pattern == "broad"


def test_equal_weights_fall_on_every_place_as_chance_has_it() -> None:
    lengths = np.arange(1, 7)[:, None]
    found = named("decoder", np.tril(np.ones((6, 6))) / lengths)
    for place in found.patterns.values():
        assert_allclose(place.share, place.uniform_share)


def test_a_query_with_one_key_to_read_does_not_count() -> None:
    with_first = named("decoder", causal(1, 5)[0])
    rows = causal(1, 5)[0][1:]
    entropy = -(rows * np.log2(np.where(rows > 0, rows, 1))).sum(axis=1).mean()
    assert_allclose(with_first.entropy, entropy)


def test_a_single_slot_is_fixed() -> None:
    assert named("cross", np.ones((3, 1))).pattern == "fixed"
