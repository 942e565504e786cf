"""Products in 8 bits: close to float32, the same for a row in any batch, and made again when a weight changes."""

import gc

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tongsa.nn import int8_linear
from tongsa.nn.linear import Linear
from tongsa.nn.packed_linear import linear

pytestmark = pytest.mark.skipif(not int8_linear.is_supported(), reason="this CPU has no VNNI instructions")


def quantized_layer() -> Linear:
    layer = Linear(24, 40).requires_grad_(requires_grad=False)
    nn.init.normal_(layer.bias)
    int8_linear.quantize(layer.weight)
    return layer


def product(layer: Linear, x: Tensor) -> Tensor:
    with torch.inference_mode():
        return linear(x, layer.weight, layer.bias)


@pytest.mark.parametrize("shape", [(1, 24), (5, 24), (3, 7, 24), (0, 24)])
def test_an_error_is_at_most_half_a_step_of_each_factor(shape: tuple[int, ...]) -> None:
    layer, x = quantized_layer(), 3 * torch.randn(shape)
    steps_x, steps_w = (
        values.abs().amax(-1, keepdim=True) / 127 if values.numel() else values.new_zeros(0, 1)
        for values in (x, layer.weight)
    )
    bound = steps_x / 2 * layer.weight.abs().sum(1) + steps_w.T / 2 * (x.abs().sum(-1, keepdim=True) + 12 * steps_x)
    error = (product(layer, x) - layer(x)).abs()
    assert (error <= bound + 1e-4).all()
    assert not x.numel() or error.any(), "the product was computed in float32"
    assert_close(layer(x), torch.nn.functional.linear(x, layer.weight, layer.bias))  # outside of inference mode


def test_a_row_has_the_same_result_in_every_batch() -> None:
    layer, x = quantized_layer(), torch.randn(6, 24) * torch.tensor([[1.0], [100], [0.01], [3], [0], [5]])
    together = product(layer, x)
    assert torch.equal(together[2:4], product(layer, x[2:4]))
    for row in range(len(x)):
        alone = product(layer, x[row : row + 1])
        assert_close(alone[0], together[row], rtol=1e-4, atol=float(x[row].abs().max()) / 127 * 0.5)


def test_the_8_bit_form_follows_its_weight_and_is_freed_with_it() -> None:
    gc.collect()
    before, layer, x = len(int8_linear._weights), quantized_layer(), torch.randn(5, 24)
    layer.weight.mul_(-2)
    assert_close(product(layer, x), layer(x), rtol=0, atol=0.1)
    layer.requires_grad_()  # in training
    assert_close(product(layer, x), layer(x))
    del layer
    gc.collect()
    assert len(int8_linear._weights) == before


def test_a_layer_of_inference_mode_has_products_in_8_bits_too() -> None:
    with torch.inference_mode():
        layer = quantized_layer()
        x = torch.randn(3, 24)
        assert int8_linear.quantized_weight(layer.weight) is not None
        assert_close(product(layer, x), x @ layer.weight.T + layer.bias, rtol=0.1, atol=0.2)
