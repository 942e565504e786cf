"""Formulas of sinusoids; cached tables of positions work in every mode, whatever mode created them."""

from math import cos, pi, sin

import pytest
import torch
from torch.testing import assert_close

from tongsa.nn.positions import SinusoidConfig, apply_rotary, sinusoids


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


def test_each_exponent_ends_at_its_wavelength() -> None:
    """Width 512: the paper's last pair stays below 10000·2π; that of simple-nmt has a wavelength of 98·2π."""
    largest = {"2i/d": 10000 ** (510 / 512), "2i/(d-2)": 10000.0, "i/d": 10000 ** (255 / 512)}
    assert largest["i/d"] == pytest.approx(98.2, abs=0.1)
    for exponent, wavelength in largest.items():
        table = sinusoids(3, 512, SinusoidConfig(exponent=exponent))  # type: ignore[arg-type]
        assert_close(table[2, :2], torch.tensor([sin(2), cos(2)]))  # the first pair has the wavelength 2π
        assert 2 * pi / torch.atan2(table[1, 510], table[1, 511]).item() == pytest.approx(2 * pi * wavelength, rel=1e-5)


@pytest.mark.parametrize("width", [8, 7])
def test_blocks_hold_the_same_values_in_another_order(width: int) -> None:
    interleaved, blocks = (sinusoids(9, width, SinusoidConfig(layout=layout)) for layout in ("interleaved", "blocks"))
    assert_close(blocks, torch.cat([interleaved[:, 0::2], interleaved[:, 1::2]], dim=1))


def test_a_later_first_position_shifts_the_table() -> None:
    assert torch.equal(sinusoids(70, 8, SinusoidConfig(first_position=2)), sinusoids(72, 8)[2:])
