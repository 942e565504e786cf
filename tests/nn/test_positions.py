"""Cached tables of positions work in every mode, whatever mode created them."""

import torch

from tongsa.nn.positions import apply_rotary


def test_a_table_created_in_inference_mode_supports_gradients() -> None:
    with torch.inference_mode():
        apply_rotary(torch.ones(1, 1, 3, 22), 0)  # a width of no other test
    values = torch.ones(1, 1, 3, 22, requires_grad=True)
    apply_rotary(values, 0).sum().backward()  # type: ignore[no-untyped-call]
    assert values.grad is not None
    assert bool(values.grad.isfinite().all())


def test_a_table_created_on_the_meta_device_has_values() -> None:
    """Costs are counted on meta tensors, in a process that may train later."""
    with torch.device("meta"):
        apply_rotary(torch.ones(1, 1, 3, 26), 0)  # a width of no other test
    assert bool(apply_rotary(torch.ones(1, 1, 3, 26), 0).isfinite().all())
