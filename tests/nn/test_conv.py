"""Dilated and separable convolutions: torch's own convolution, the cache of a step, and how far they see."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from tongsa.nn.conv import DilatedConvolution, SeparableConvolution, WindowConvolution

LAYERS: dict[str, type[DilatedConvolution | SeparableConvolution]] = {
    "dilated": DilatedConvolution,
    "separable": SeparableConvolution,
}
layers = pytest.mark.parametrize("name", LAYERS)
kernels, shifts = st.integers(1, 5), st.integers(1, 6)


def build(name: str, kernel: int, left_padding: int, dilation: int, width: int = 3) -> WindowConvolution:
    torch.manual_seed(1)
    layer = LAYERS[name](width, kernel, left_padding, dilation=dilation).double()
    torch.nn.init.normal_(layer.projection.bias)
    return layer


def torch_convolution(layer: WindowConvolution, inputs: Tensor) -> Tensor:
    """The same convolution by F.conv1d, with channels before positions."""
    kernel, dilation, left = layer.kernel, layer.dilation, layer.left_padding
    padded = F.pad(inputs.mT, (left * dilation, (kernel - 1 - left) * dilation))
    if isinstance(layer, SeparableConvolution):
        channel_kernels = layer.channel_kernels.T.unsqueeze(1)  # (channel, 1, kernel)
        channels = F.conv1d(padded, channel_kernels, dilation=dilation, groups=inputs.shape[2])
        return F.conv1d(channels, layer.projection.weight.unsqueeze(2), layer.projection.bias).mT
    assert isinstance(layer, DilatedConvolution)
    weight = layer.projection.weight.view(-1, kernel, inputs.shape[2])  # (output, offset, input)
    return F.conv1d(padded, weight.mT, layer.projection.bias, dilation=dilation).mT


@layers
@settings(max_examples=30)
@given(kernel=kernels, dilation=shifts, left=st.integers(0, 4), length=st.integers(1, 9))
def test_a_convolution_is_that_of_torch(name: str, kernel: int, dilation: int, left: int, length: int) -> None:
    layer = build(name, kernel, min(left, kernel - 1), dilation)
    inputs = torch.randn(2, length, 3, dtype=torch.double)
    assert_close(layer(inputs), torch_convolution(layer, inputs))


@layers
@settings(max_examples=30)
@given(kernel=kernels, dilation=shifts, length=st.integers(1, 9))
def test_steps_with_a_cache_equal_the_causal_convolution(name: str, kernel: int, dilation: int, length: int) -> None:
    layer = build(name, kernel, kernel - 1, dilation)
    inputs = torch.randn(2, length, 3, dtype=torch.double)
    cache, outputs = inputs.new_zeros(2, layer.cache_length, 3), []
    for position in range(length):
        output, cache = layer.step(inputs[:, position], cache)
        outputs.append(output)
        assert cache.shape[1] == layer.cache_length == (kernel - 1) * dilation
    assert_close(torch.stack(outputs, dim=1), layer(inputs))


@layers
@pytest.mark.parametrize("kernel", [2, 3])
def test_dilations_1_k_k2_connect_k_to_the_number_of_layers(name: str, kernel: int) -> None:
    """Vaswani et al. 2017, section 4: with dilated convolutions a path of log_k n layers connects n positions."""
    number = 3
    inputs = torch.randn(1, 40, 3, dtype=torch.double, requires_grad=True)
    values = inputs
    for depth in range(number):
        values = build(name, kernel, kernel - 1, kernel**depth)(values)
    values[0, 35].sum().backward()  # type: ignore[no-untyped-call]
    assert inputs.grad is not None
    visible = inputs.grad[0].abs().sum(dim=1).nonzero().flatten().tolist()
    assert visible == list(range(36 - kernel**number, 36))


def test_a_separable_convolution_has_k_d_plus_d2_weights_instead_of_k_d2() -> None:
    counts = {
        name: sum(parameter.numel() for parameter in build(name, 5, 4, 1, width=8).parameters()) for name in LAYERS
    }
    assert counts == {"dilated": 5 * 8 * 8 + 8, "separable": 5 * 8 + 8 * 8 + 8}
