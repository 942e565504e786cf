"""Restricted self-attention (Vaswani et al. 2017, section 4) sees a neighbourhood, and costs no more than that."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from tiny import padded, sentence
from tongsa.interface import Memory
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.nn.attention import KeyValue, attend, build_attention, record_attention
from tongsa.nn.local_attention import blockwise_local_attention, causal_window, centered_window, masked_local_attention

spans = pytest.mark.parametrize("span", [centered_window, causal_window])
HEADS, WIDTH = 2, 3


def queries_and_slots(length: int, rows: int = 2) -> tuple[Tensor, KeyValue]:
    torch.manual_seed(length)
    query, keys, values = (torch.randn(rows, HEADS, length, WIDTH, requires_grad=True) for _ in range(3))
    return query, KeyValue(keys, values)


@spans
@pytest.mark.parametrize("comparison", ["scaled-dot", "dot", "additive"])
@settings(max_examples=25)
@given(length=st.integers(1, 20), size=st.integers(1, 9), there=st.integers(1, 20))
def test_blocks_compute_what_the_mask_says(span: Any, comparison: Any, length: int, size: int, there: int) -> None:
    """In every place, padding too; and so do their gradients."""
    query, read = queries_and_slots(length)
    places = torch.arange(length) < torch.tensor([[length], [min(there, length)]])
    weigh = partial(build_attention(comparison, HEADS, WIDTH), role="encoder")
    found, slopes = [], []
    for restricted in (blockwise_local_attention, masked_local_attention):
        torch.manual_seed(0)
        context = restricted(query, read, places, span(size), weigh)
        found.append(context)
        slopes.append(torch.autograd.grad(context.square().sum(), (query, *read)))
    assert_close(*found)
    assert_close(*slopes)


@pytest.mark.parametrize(
    ("span", "size", "seen"),
    [
        (centered_window, 1, {6}),
        (centered_window, 3, {5, 6, 7}),
        (centered_window, 4, {4, 5, 6, 7}),
        (causal_window, 1, {6}),
        (causal_window, 4, {3, 4, 5, 6}),
    ],
)
def test_a_query_sees_exactly_its_neighbourhood(span: Any, size: int, seen: set[int]) -> None:
    query, read = queries_and_slots(12, rows=1)
    with record_attention() as sightings:
        masked_local_attention(
            query, read, torch.ones(1, 12, dtype=torch.bool), span(size), partial(attend, role="encoder")
        )
    assert set(sightings["encoder"][0][0, 0, 6].nonzero().flatten().tolist()) == seen


class Largest(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """How many elements the largest tensor has that is made in this block."""

    elements = 0

    def __torch_dispatch__(self, function: Any, _types: Any, values: Any = (), named: Any = None) -> Any:
        results = function(*values, **(named or {}))
        for result in results if isinstance(results, tuple) else (results,):
            if isinstance(result, Tensor):
                self.elements = max(self.elements, result.numel())
        return results


def cost(run: Callable[[], object]) -> tuple[int, int]:
    """Multiplications and additions, and elements of the largest tensor; nothing fused, so that all is counted."""
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        with FlopCounterMode(display=False) as count:
            run()
        with Largest() as largest:  # type: ignore[no-untyped-call]
            run()
    return count.get_total_flops(), largest.elements


def costs(neighbourhood: int, side: str) -> list[tuple[int, int]]:
    """Of a whole encoder or decoder, at 128, 256 and 512 places."""
    config = TransformerConfig(
        width=8, ffn_width=8, heads=2, attention_window=neighbourhood, encoder_layers=1, decoder_layers=1
    )
    model, memory = config.build(9, 9).eval(), Memory(torch.zeros(1, 1, 8), torch.ones(1, 1, dtype=torch.bool))
    found = []
    for length in (128, 256, 512):
        text = padded([5] * length)
        found.append(cost(partial(model.encoder, text) if side == "encoder" else partial(model.decoder, text, memory)))
    return found


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_cost_grows_with_the_length_and_not_with_its_square(side: str) -> None:
    one, two, four = costs(16, side)
    assert four[0] - two[0] == 2 * (two[0] - one[0])  # what the memory costs is the same for all lengths
    assert (two[1], four[1]) == pytest.approx((2 * one[1], 4 * one[1]), rel=0.05)  # windows overlap at the ends
    one, two, four = costs(0, side)
    assert four[1] == 4 * two[1] == 16 * one[1], "without a neighbourhood the largest tensor is n·n"
    assert four[0] - two[0] > 3 * (two[0] - one[0]), "and so is the work"


def test_cost_grows_with_the_neighbourhood() -> None:
    """Twice the r, twice the part of the work that is not linear layers: 2r - 1 keys for each query."""
    query, read = queries_and_slots(256, rows=1)
    places = torch.ones(1, 256, dtype=torch.bool)
    for size in (4, 8, 16):
        flops, _ = cost(
            lambda: blockwise_local_attention(
                query, read, places, centered_window(size), partial(attend, role="encoder")
            )
        )  # noqa: B023
        assert flops == 2 * 2 * 256 * (2 * size - 1) * HEADS * WIDTH  # two products, two operations each


def test_a_step_keeps_no_more_than_the_neighbourhood() -> None:
    config = TransformerConfig(width=8, ffn_width=8, heads=2, attention_window=3, encoder_layers=1, decoder_layers=1)
    model = config.build(17, 17).eval()
    state = model.decoder.start(model.encoder(padded(sentence(5))))
    for piece in sentence(9):
        _, state = model.decoder.step(torch.tensor([piece]), state)
    assert (state.length, state.cache[0].keys.shape[2], state.cache[0].values.shape[2]) == (9, 3, 3)
