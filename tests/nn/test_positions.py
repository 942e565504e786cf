"""Positions: what golden numbers of the papers do not say."""

import torch

from tongsa.nn.positions import apply_rotary


def test_a_table_first_asked_for_while_decoding_can_be_learnt_through() -> None:
    with torch.inference_mode():
        apply_rotary(torch.ones(1, 1, 3, 22), 0)  # a width that nobody else has asked for
    values = torch.ones(1, 1, 3, 22, requires_grad=True)
    apply_rotary(values, 0).sum().backward()  # type: ignore[no-untyped-call]
    assert values.grad is not None
    assert bool(values.grad.isfinite().all())


def test_a_table_first_asked_for_by_a_model_without_numbers_has_numbers() -> None:
    """Costs are counted on meta tensors, in a process that may train afterwards."""
    with torch.device("meta"):
        apply_rotary(torch.ones(1, 1, 3, 26), 0)  # a width that nobody else has asked for
    assert bool(apply_rotary(torch.ones(1, 1, 3, 26), 0).isfinite().all())
