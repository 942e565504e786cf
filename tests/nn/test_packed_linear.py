"""Products of inference mode read copies of the weights: they equal other products, and follow every change."""

import gc

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tongsa.interface import load_tensors, named_tensors
from tongsa.nn import packed_linear
from tongsa.nn.linear import Linear
from tongsa.nn.packed_linear import Activation, linear, padded_row_count

ROWS = (0, 1, 2, 5, 16, 17, 40, 300)


def in_inference_mode(layer: nn.Module, x: Tensor) -> Tensor:
    with torch.inference_mode():
        return layer(x)  # type: ignore[no-any-return]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", ["none", "relu"])
def test_products_of_inference_mode_equal_those_with_gradients(bias: bool, activation: Activation) -> None:
    layer = Linear(24, 40, bias=bias).requires_grad_(requires_grad=False)
    for rows in ROWS:
        for x in (torch.randn(rows, 24), torch.randn(rows, 1, 24), torch.randn(24, rows).t()):
            expected = linear(x, layer.weight, layer.bias, activation)
            with torch.inference_mode():
                assert_close(linear(x, layer.weight, layer.bias, activation), expected)


@pytest.mark.parametrize("rows", [1, 5])
def test_products_follow_every_change_of_frozen_weights(rows: int) -> None:
    layer, x = Linear(24, 40).requires_grad_(requires_grad=False), torch.randn(rows, 24)
    in_inference_mode(layer, x)
    load_tensors(layer, {name: torch.randn_like(value) for name, value in named_tensors(layer).items()})
    assert_close(in_inference_mode(layer, x), layer(x))
    layer.weight.data = torch.randn(40, 24)  # another tensor, as after a move to a device and back
    assert_close(in_inference_mode(layer, x), layer(x))


@pytest.mark.parametrize("fused", [True, False])
def test_products_follow_a_training_that_goes_on_after_a_validation(fused: bool) -> None:
    """A fused optimizer changes weights without a new version number, so weights in training have no copies."""
    layer, x = Linear(24, 40).requires_grad_(requires_grad=False), torch.randn(5, 24)
    in_inference_mode(layer, x)
    layer.requires_grad_()
    optimizer = torch.optim.AdamW(layer.parameters(), lr=0.1, fused=fused)
    for _ in range(2):
        assert_close(in_inference_mode(layer, x), layer(x))
        layer(x).sum().backward()
        optimizer.step()
    assert_close(in_inference_mode(layer, x), layer(x))


def test_copies_are_freed_with_their_layer() -> None:
    gc.collect()
    before, layer = len(packed_linear._copies), Linear(8, 8).requires_grad_(requires_grad=False)
    for rows in (1, 2):
        in_inference_mode(layer, torch.randn(rows, 8))
    assert len(packed_linear._copies) == before + (2 if packed_linear.MAX_ROWS else 0)
    del layer
    gc.collect()
    assert len(packed_linear._copies) == before


def test_few_numbers_of_rows_are_compiled() -> None:
    """oneDNN keeps the code of each: a server that meets every number must not grow with them."""
    weight = Linear(8, 8).requires_grad_(requires_grad=False).weight
    with torch.inference_mode():
        counts = [padded_row_count(rows, weight) for rows in range(1, packed_linear.MAX_ROWS + 1)]
        assert all(rows <= count for rows, count in enumerate(counts, start=1))
        assert len(set(counts)) <= 24
        assert padded_row_count(5000, weight) == 5000
        assert padded_row_count(40, Linear(8, 8).weight) == 40, "weights in training have no copies"
    assert padded_row_count(40, weight) == 40, "only products of inference mode are padded"
