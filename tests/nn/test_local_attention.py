"""Local self-attention (Vaswani et al. 2017, section 4) sees only its window, and costs no more than that."""

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

from tiny import padded_batch, sentence
from tongsa.interface import Memory
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.nn.attention import DotProductAttention, KeyValue, build_attention, record_attention
from tongsa.nn.local_attention import blockwise_local_attention, causal_window, centered_window, masked_local_attention

windows = pytest.mark.parametrize("window", [centered_window, causal_window])
HEADS, WIDTH = 2, 3


def queries_and_slots(length: int, rows: int = 2) -> tuple[Tensor, KeyValue]:
    torch.manual_seed(length)
    query, keys, values = (torch.randn(rows, HEADS, length, WIDTH, requires_grad=True) for _ in range(3))
    return query, KeyValue(keys, values)


@windows
@pytest.mark.parametrize("score", ["scaled-dot", "dot", "additive"])
@settings(max_examples=25)
@given(length=st.integers(1, 20), size=st.integers(1, 9), tokens=st.integers(1, 20))
def test_blocks_equal_the_full_matrix(window: Any, score: Any, length: int, size: int, tokens: int) -> None:
    """At every position, padding included; gradients too."""
    query, kv = queries_and_slots(length)
    padding_mask = torch.arange(length) < torch.tensor([[length], [min(tokens, length)]])
    attention = partial(build_attention(score, HEADS, WIDTH), role="encoder")
    contexts, gradients = [], []
    for local_attention in (blockwise_local_attention, masked_local_attention):
        torch.manual_seed(0)
        context = local_attention(query, kv, padding_mask, window(size), attention)
        contexts.append(context)
        gradients.append(torch.autograd.grad(context.square().sum(), (query, *kv)))
    assert_close(*contexts)
    assert_close(*gradients)


@pytest.mark.parametrize(
    ("window", "size", "seen"),
    [
        (centered_window, 1, {6}),
        (centered_window, 3, {5, 6, 7}),
        (centered_window, 4, {4, 5, 6, 7}),
        (causal_window, 1, {6}),
        (causal_window, 4, {3, 4, 5, 6}),
    ],
)
def test_a_query_sees_exactly_its_window(window: Any, size: int, seen: set[int]) -> None:
    query, kv = queries_and_slots(12, rows=1)
    with record_attention() as recorded:
        masked_local_attention(
            query, kv, torch.ones(1, 12, dtype=torch.bool), window(size), partial(DotProductAttention(), role="encoder")
        )
    assert set(recorded["encoder"][0][0, 0, 6].nonzero().flatten().tolist()) == seen


class LargestTensor(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Count the elements of the largest tensor that is created inside this block."""

    elements = 0

    def __torch_dispatch__(self, function: Any, _types: Any, values: Any = (), named: Any = None) -> Any:
        results = function(*values, **(named or {}))
        for result in results if isinstance(results, tuple) else (results,):
            if isinstance(result, Tensor):
                self.elements = max(self.elements, result.numel())
        return results


def cost(run: Callable[[], object]) -> tuple[int, int]:
    """Return FLOPs, and the elements of the largest tensor. Nothing is fused, so that all is counted."""
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        with FlopCounterMode(display=False) as count:
            run()
        with LargestTensor() as largest:  # type: ignore[no-untyped-call]
            run()
    return count.get_total_flops(), largest.elements


def costs(attention_window: int, side: str) -> list[tuple[int, int]]:
    """Return the costs of an encoder or decoder for 128, 256 and 512 positions."""
    config = TransformerConfig(
        width=8, ffn_width=8, heads=2, attention_window=attention_window, encoder_layers=1, decoder_layers=1
    )
    model, memory = config.build(9, 9).eval(), Memory(torch.zeros(1, 1, 8), torch.ones(1, 1, dtype=torch.bool))
    results = []
    for length in (128, 256, 512):
        text = padded_batch([5] * length)
        results.append(
            cost(partial(model.encoder, text) if side == "encoder" else partial(model.decoder, text, memory))
        )
    return results


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_cost_is_linear_in_the_length(side: str) -> None:
    short, medium, long = costs(16, side)
    assert long[0] - medium[0] == 2 * (medium[0] - short[0])  # the memory costs the same for all lengths
    assert (medium[1], long[1]) == pytest.approx((2 * short[1], 4 * short[1]), rel=0.05)  # windows overlap at the ends
    short, medium, long = costs(0, side)
    assert long[1] == 4 * medium[1] == 16 * short[1], "without a window the largest tensor is n·n"
    assert long[0] - medium[0] > 3 * (medium[0] - short[0]), "and so are the FLOPs"


def test_cost_is_linear_in_the_window() -> None:
    """Attention has 2r - 1 keys for each query."""
    query, kv = queries_and_slots(256, rows=1)
    padding_mask = torch.ones(1, 256, dtype=torch.bool)
    for size in (4, 8, 16):
        attention = partial(DotProductAttention(), role="encoder")
        flops, _ = cost(partial(blockwise_local_attention, query, kv, padding_mask, centered_window(size), attention))
        assert flops == 2 * 2 * 256 * (2 * size - 1) * HEADS * WIDTH  # two products, two operations each


def test_the_kv_cache_holds_no_more_than_the_window() -> None:
    config = TransformerConfig(width=8, ffn_width=8, heads=2, attention_window=3, encoder_layers=1, decoder_layers=1)
    model = config.build(17, 17).eval()
    state = model.decoder.start(model.encoder(padded_batch(sentence(5))))
    for token in sentence(9):
        _, state = model.decoder.step(torch.tensor([token]), state)
    assert (state.length, state.cache.slots.shape[0]) == (9, 3)
