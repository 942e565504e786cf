"""Normalisation as its papers define it, whatever stands in the padding."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tongsa.nn.norms import NormKind, build_norm

PLACES = torch.tensor([[True, True, True], [True, False, False]])


def values(seed: int, padding: float) -> Tensor:
    torch.manual_seed(seed)
    return (3 * torch.randn(2, 3, 8) + 1).masked_fill(~PLACES.unsqueeze(2), padding)


def drawn(kind: NormKind) -> Any:
    made = build_norm(kind, 8, 2)
    torch.manual_seed(0)
    for parameter in made.parameters():
        nn.init.normal_(parameter)
    return made


def test_batch_norm_is_that_of_the_true_places_alone() -> None:
    ours, theirs = drawn("batch"), nn.BatchNorm1d(8)
    theirs.load_state_dict({"weight": ours.weight, "bias": ours.bias}, strict=False)
    for step in range(3):
        inputs = values(step, padding=1e4)
        assert_close(ours(inputs, PLACES)[PLACES], theirs(inputs[PLACES]))
    assert_close((ours.running_mean, ours.running_var), (theirs.running_mean, theirs.running_var))
    inputs = values(9, padding=0.0)
    assert_close(ours.eval()(inputs, PLACES)[PLACES], theirs.eval()(inputs[PLACES]))


def test_one_place_has_no_variance_and_is_still_a_number() -> None:
    ours = drawn("batch")
    outputs = ours(torch.randn(1, 1, 8), torch.ones(1, 1, dtype=torch.bool))
    assert_close(outputs[0, 0], ours.bias)
    assert ours.eval()(torch.randn(1, 1, 8), torch.ones(1, 1, dtype=torch.bool)).isfinite().all()


@pytest.mark.parametrize(("kind", "parts"), [("layer", 1), ("group", 2)])
def test_layer_and_group_norm_by_hand(kind: NormKind, parts: int) -> None:
    ours, inputs = drawn(kind), values(1, padding=0.0)
    groups = inputs.view(2, 3, parts, -1)
    centred = groups - groups.mean(-1, keepdim=True)
    normed = (centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()).view_as(inputs)
    assert_close(ours(inputs, PLACES), normed * ours.weight + ours.bias)


def test_rms_norm_by_hand() -> None:
    ours, inputs = drawn("rms"), values(1, padding=2.0)
    assert_close(ours(inputs, PLACES), inputs / (inputs.square().mean(-1, keepdim=True) + 1e-6).sqrt() * ours.weight)


def test_no_norm_changes_nothing() -> None:
    assert torch.equal(drawn("none")(values(1, padding=2.0), PLACES), values(1, padding=2.0))
