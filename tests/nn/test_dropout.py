from collections.abc import Callable

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tongsa.nn.dropout import Dropout, sample_keep_mask


@given(st.floats(0.01, 0.9), st.integers(0, 100))
def test_each_lane_is_dropped_at_the_rate(rate: float, seed: int) -> None:
    """Four elements share a 64-bit draw: all four are dropped at the same rate."""
    torch.manual_seed(seed)
    mask = sample_keep_mask(torch.Size([20_000, 4]), rate)
    deviation = (rate * (1 - rate) / 20_000) ** 0.5
    assert ((1 - mask.mean(dim=0)) - rate).abs().max() < 5 * deviation + 1e-4


def test_neighboring_elements_are_independent() -> None:
    torch.manual_seed(1)
    mask = sample_keep_mask(torch.Size([50_000, 8]), 0.3)
    correlation = torch.corrcoef(mask.T) - torch.eye(8)
    assert correlation.abs().max() < 0.02


def test_kept_elements_and_their_gradients_are_scaled() -> None:
    torch.manual_seed(1)
    values = torch.randn(31, 7, requires_grad=True)
    dropped = Dropout(0.25)(values)
    scales = (dropped / values).detach().unique()
    assert all(scale == 0 or abs(scale - 4 / 3) < 1e-5 for scale in scales.tolist())
    assert 0.15 < float((dropped == 0).float().mean()) < 0.35
    (gradient,) = torch.autograd.grad(dropped.sum(), values)
    torch.testing.assert_close(gradient * values, dropped)


def test_dropout_follows_the_seed_and_is_off_in_evaluation() -> None:
    layer, values = Dropout(0.5), torch.ones(100)
    torch.manual_seed(7)
    first = layer(values)
    torch.manual_seed(7)
    assert torch.equal(first, layer(values))
    assert not torch.equal(first, layer(values))
    assert torch.equal(layer.eval()(values), values)


def test_fused_passes_equal_separate_ones() -> None:
    layer, values, residual = (
        Dropout(0.3),
        torch.randn(50, 9, requires_grad=True),
        torch.randn(50, 9, requires_grad=True),
    )
    cases: list[tuple[Callable[[], Tensor], Callable[[], Tensor]]] = [
        (lambda: layer.add_residual(residual, values), lambda: residual + layer(values)),
        (lambda: layer.relu(values), lambda: layer(torch.relu(values))),
    ]
    for fused, plain in cases:
        torch.manual_seed(3)
        outputs = fused()
        torch.manual_seed(3)
        expected = plain()
        torch.testing.assert_close(outputs, expected)
        output_gradient = torch.randn_like(outputs)
        for gradient, expected_gradient in zip(
            torch.autograd.grad(outputs, [values, residual], output_gradient, allow_unused=True),
            torch.autograd.grad(expected, [values, residual], output_gradient, allow_unused=True),
            strict=True,
        ):
            assert (gradient is None) == (expected_gradient is None)
            if gradient is not None:
                torch.testing.assert_close(gradient, expected_gradient)
