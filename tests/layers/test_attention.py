"""Fused, spelt out for a search, or watched: one formula."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from tongsa.layers.attention import FEW, SHORT, KeysValues, attend, watching


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("slots", [1, 2, SHORT, SHORT + 1, 20])
@pytest.mark.parametrize("queries", [1, 2, FEW, FEW + 1])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("scale", [None, 1.0])
def test_a_search_and_a_lesson_see_the_same(queries: int, slots: int, masked: bool, scale: float | None) -> None:
    query, read = drawn(3, 2, queries, 8), KeysValues(drawn(3, 2, slots, 8), drawn(3, 2, slots, 4))
    mask = (torch.arange(slots) < torch.tensor([[slots], [(slots + 1) // 2], [1]]))[:, None, None] if masked else None
    fused = F.scaled_dot_product_attention(query, *read, attn_mask=mask, scale=scale)
    assert_close(attend(query, read, mask, "cross", scale=scale), fused)
    with torch.inference_mode():
        assert_close(attend(query, read, mask, "cross", scale=scale), fused)
    with torch.inference_mode(), watching() as seen:
        assert_close(attend(query, read, mask, "cross", scale=scale), fused)
    assert seen["cross"][0].shape == (3, 2, queries, slots)


def test_a_search_that_looks_at_the_past_alone_sees_it_in_any_layout() -> None:
    """Slots may stand before rows in memory, as they do where one is appended at each step."""
    query, keys, values = drawn(5, 2, 1, 8), drawn(12, 5, 2, 8), drawn(12, 5, 2, 8)
    for slots in (SHORT, 12):
        read = KeysValues(keys[:slots].permute(1, 2, 0, 3), values[:slots].permute(1, 2, 0, 3))
        with torch.inference_mode():
            assert_close(attend(query, read, None, "decoder"), F.scaled_dot_product_attention(query, *read))
