"""Normalization layers against the equations of their papers, with any values in the padding."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tongsa.nn.norms import NormKind, build_norm

MASK = torch.tensor([[True, True, True], [True, False, False]])


def values(seed: int, padding: float) -> Tensor:
    torch.manual_seed(seed)
    return (3 * torch.randn(2, 3, 8) + 1).masked_fill(~MASK.unsqueeze(2), padding)


def random_norm(kind: NormKind) -> Any:
    norm = build_norm(kind, 8, 2)
    torch.manual_seed(0)
    for parameter in norm.parameters():
        nn.init.normal_(parameter)
    return norm


def test_batch_norm_ignores_padding() -> None:
    ours, theirs = random_norm("batch"), nn.BatchNorm1d(8)
    theirs.load_state_dict({"weight": ours.weight, "bias": ours.bias}, strict=False)
    for step in range(3):
        inputs = values(step, padding=1e4)
        assert_close(ours(inputs, MASK)[MASK], theirs(inputs[MASK]))
    assert_close((ours.running_mean, ours.running_var), (theirs.running_mean, theirs.running_var))
    inputs = values(9, padding=0.0)
    assert_close(ours.eval()(inputs, MASK)[MASK], theirs.eval()(inputs[MASK]))


def test_batch_norm_of_a_single_token_is_finite() -> None:
    ours = random_norm("batch")
    outputs = ours(torch.randn(1, 1, 8), torch.ones(1, 1, dtype=torch.bool))
    assert_close(outputs[0, 0], ours.bias)
    assert ours.eval()(torch.randn(1, 1, 8), torch.ones(1, 1, dtype=torch.bool)).isfinite().all()


@pytest.mark.parametrize(("kind", "parts"), [("layer", 1), ("group", 2)])
def test_layer_and_group_norm_by_hand(kind: NormKind, parts: int) -> None:
    ours, inputs = random_norm(kind), values(1, padding=0.0)
    groups = inputs.view(2, 3, parts, -1)
    centered = groups - groups.mean(-1, keepdim=True)
    normalized = (centered / (centered.square().mean(-1, keepdim=True) + 1e-5).sqrt()).view_as(inputs)
    assert_close(ours(inputs, MASK), normalized * ours.weight + ours.bias)


def test_rms_norm_by_hand() -> None:
    ours, inputs = random_norm("rms"), values(1, padding=2.0)
    assert_close(ours(inputs, MASK), inputs / (inputs.square().mean(-1, keepdim=True) + 1e-6).sqrt() * ours.weight)


def test_no_norm_is_the_identity() -> None:
    assert torch.equal(random_norm("none")(values(1, padding=2.0), MASK), values(1, padding=2.0))
