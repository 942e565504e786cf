from collections.abc import Callable

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tongsa.nn.dropout import Dropout, sample_keep_mask


@given(st.floats(0.01, 0.9), st.integers(0, 100))
def test_each_lane_is_dropped_at_the_rate(rate: float, seed: int) -> None:
    """Four elements share a 64-bit draw: none of the four may be luckier than the others."""
    torch.manual_seed(seed)
    mask = sample_keep_mask(torch.Size([20_000, 4]), rate)
    deviation = (rate * (1 - rate) / 20_000) ** 0.5
    assert ((1 - mask.mean(dim=0)) - rate).abs().max() < 5 * deviation + 1e-4


def test_neighbours_are_independent() -> None:
    torch.manual_seed(1)
    mask = sample_keep_mask(torch.Size([50_000, 8]), 0.3)
    correlation = torch.corrcoef(mask.T) - torch.eye(8)
    assert correlation.abs().max() < 0.02


def test_what_is_kept_is_scaled_and_so_is_its_gradient() -> None:
    torch.manual_seed(1)
    values = torch.randn(31, 7, requires_grad=True)
    dropped = Dropout(0.25)(values)
    scales = (dropped / values).detach().unique()
    assert all(scale == 0 or abs(scale - 4 / 3) < 1e-5 for scale in scales.tolist())
    assert 0.15 < float((dropped == 0).float().mean()) < 0.35
    (gradient,) = torch.autograd.grad(dropped.sum(), values)
    torch.testing.assert_close(gradient * values, dropped)


def test_it_follows_the_seed_and_rests_in_evaluation() -> None:
    layer, values = Dropout(0.5), torch.ones(100)
    torch.manual_seed(7)
    first = layer(values)
    torch.manual_seed(7)
    assert torch.equal(first, layer(values))
    assert not torch.equal(first, layer(values))
    assert torch.equal(layer.eval()(values), values)


def test_the_passes_that_do_more_at_once_do_the_same() -> None:
    layer, values, residual = (
        Dropout(0.3),
        torch.randn(50, 9, requires_grad=True),
        torch.randn(50, 9, requires_grad=True),
    )
    ways: list[tuple[Callable[[], Tensor], Callable[[], Tensor]]] = [
        (lambda: layer.add_residual(residual, values), lambda: residual + layer(values)),
        (lambda: layer.relu(values), lambda: layer(torch.relu(values))),
    ]
    for fused, plain in ways:
        torch.manual_seed(3)
        once = fused()
        torch.manual_seed(3)
        twice = plain()
        torch.testing.assert_close(once, twice)
        slope = torch.randn_like(once)
        for one, other in zip(
            torch.autograd.grad(once, [values, residual], slope, allow_unused=True),
            torch.autograd.grad(twice, [values, residual], slope, allow_unused=True),
            strict=True,
        ):
            assert (one is None) == (other is None)
            if one is not None:
                torch.testing.assert_close(one, other)
