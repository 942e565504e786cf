"""Draws follow the probabilities they are drawn from."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tongsa.decoding.sampling import SamplingConfig, top_k_filter, top_p_filter

LOGS = torch.tensor([0.5, 0.25, 0.15, 0.1]).log()


def shares(config: SamplingConfig, draws: int = 20_000) -> list[float]:
    chosen = config.build()(LOGS.expand(draws, -1)).argmax(dim=1)
    return (torch.bincount(chosen, minlength=4) / draws).tolist()


def near(found: list[float], expected: list[float]) -> bool:
    """Within five standard deviations of 20,000 draws."""
    return all(abs(a - b) <= 5 * math.sqrt(b * (1 - b) / 20_000) for a, b in zip(found, expected, strict=True))


def test_a_draw_comes_as_often_as_it_is_likely() -> None:
    assert near(shares(SamplingConfig()), [0.5, 0.25, 0.15, 0.1])


def test_temperature_is_a_power_of_the_probabilities() -> None:
    powers = [p**2 for p in (0.5, 0.25, 0.15, 0.1)]
    assert near(shares(SamplingConfig(temperature=0.5)), [p / sum(powers) for p in powers])


def test_top_k_shares_out_what_the_others_had() -> None:
    assert near(shares(SamplingConfig(top_k=2)), [2 / 3, 1 / 3, 0, 0])


def test_top_p_takes_the_fewest_that_reach_it() -> None:
    assert near(shares(SamplingConfig(top_p=0.7)), [2 / 3, 1 / 3, 0, 0])
    assert near(shares(SamplingConfig(top_p=0.76)), [5 / 9, 2.5 / 9, 1.5 / 9, 0])
    assert near(shares(SamplingConfig(top_p=0.01)), [1, 0, 0, 0])


def test_min_p_takes_those_that_are_likely_beside_the_likeliest() -> None:
    assert near(shares(SamplingConfig(min_p=0.45)), [2 / 3, 1 / 3, 0, 0])
    assert near(shares(SamplingConfig(min_p=0.25)), [5 / 9, 2.5 / 9, 1.5 / 9, 0])
    assert near(shares(SamplingConfig(min_p=1.0)), [1, 0, 0, 0])


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=12), st.floats(0.01, 1.0))
def test_a_nucleus_reaches_its_share_and_would_not_without_its_last(values: list[float], share: float) -> None:
    probabilities = torch.tensor(values, dtype=torch.float64).softmax(0)
    kept = top_p_filter(probabilities.log().unsqueeze(0), share)[0].isfinite()
    inside = probabilities[kept]
    assert inside.sum() >= share - 1e-9
    assert inside.sum() - inside.min() < share + 1e-9
    assert not kept.all() or share > 1 - probabilities.min() - 1e-9 or kept.sum() == len(values)
    assert (~kept).sum() == 0 or probabilities[~kept].max() <= inside.min()


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=12), st.integers(0, 15))
def test_the_likeliest_are_as_many_as_asked(values: list[float], count: int) -> None:
    kept = top_k_filter(torch.tensor([values]), count)[0].isfinite()
    assert int(kept.sum()) == (min(count, len(values)) if count else len(values))


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    rows = LOGS.expand(50, -1)
    assert torch.equal(SamplingConfig(seed=3).build()(rows), SamplingConfig(seed=3).build()(rows))
    assert not torch.equal(SamplingConfig(seed=3).build()(rows), SamplingConfig(seed=4).build()(rows))


@pytest.mark.parametrize("wrong", [{"temperature": 0.0}, {"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.5}, {"min_p": 1.5}])
def test_impossible_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SamplingConfig(**wrong)  # type: ignore[arg-type]
