"""Samples follow the probabilities after temperature and filters."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tongsa.decoding.sampling import SamplingConfig, top_k_filter, top_p_filter

LOG_PROBS = torch.tensor([0.5, 0.25, 0.15, 0.1]).log()


def frequencies(config: SamplingConfig, count: int = 20_000) -> list[float]:
    sampled = config.build()(LOG_PROBS.expand(count, -1)).argmax(dim=1)
    return (torch.bincount(sampled, minlength=4) / count).tolist()


def is_near(observed: list[float], expected: list[float]) -> bool:
    """Return whether frequencies are within five standard deviations of 20,000 samples."""
    return all(abs(a - b) <= 5 * math.sqrt(b * (1 - b) / 20_000) for a, b in zip(observed, expected, strict=True))


def test_a_token_is_sampled_as_often_as_it_is_likely() -> None:
    assert is_near(frequencies(SamplingConfig()), [0.5, 0.25, 0.15, 0.1])


def test_temperature_raises_probabilities_to_a_power() -> None:
    powers = [p**2 for p in (0.5, 0.25, 0.15, 0.1)]
    assert is_near(frequencies(SamplingConfig(temperature=0.5)), [p / sum(powers) for p in powers])


def test_top_k_renormalizes_the_k_likeliest() -> None:
    assert is_near(frequencies(SamplingConfig(top_k=2)), [2 / 3, 1 / 3, 0, 0])


def test_top_p_keeps_the_fewest_tokens_that_reach_it() -> None:
    assert is_near(frequencies(SamplingConfig(top_p=0.7)), [2 / 3, 1 / 3, 0, 0])
    assert is_near(frequencies(SamplingConfig(top_p=0.76)), [5 / 9, 2.5 / 9, 1.5 / 9, 0])
    assert is_near(frequencies(SamplingConfig(top_p=0.01)), [1, 0, 0, 0])


def test_min_p_keeps_tokens_relative_to_the_likeliest() -> None:
    assert is_near(frequencies(SamplingConfig(min_p=0.45)), [2 / 3, 1 / 3, 0, 0])
    assert is_near(frequencies(SamplingConfig(min_p=0.25)), [5 / 9, 2.5 / 9, 1.5 / 9, 0])
    assert is_near(frequencies(SamplingConfig(min_p=1.0)), [1, 0, 0, 0])


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=12), st.floats(0.01, 1.0))
def test_the_nucleus_is_the_smallest_set_that_reaches_top_p(values: list[float], top_p: float) -> None:
    probabilities = torch.tensor(values, dtype=torch.float64).softmax(0)
    kept = top_p_filter(probabilities.log().unsqueeze(0), top_p)[0].isfinite()
    nucleus = probabilities[kept]
    assert nucleus.sum() >= top_p - 1e-9
    assert nucleus.sum() - nucleus.min() < top_p + 1e-9
    assert not kept.all() or top_p > 1 - probabilities.min() - 1e-9 or kept.sum() == len(values)
    assert (~kept).sum() == 0 or probabilities[~kept].max() <= nucleus.min()


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=12), st.integers(0, 15))
def test_top_k_keeps_k_tokens(values: list[float], k: int) -> None:
    kept = top_k_filter(torch.tensor([values]), k)[0].isfinite()
    assert int(kept.sum()) == (min(k, len(values)) if k else len(values))


def test_samples_depend_on_the_seed() -> None:
    rows = LOG_PROBS.expand(50, -1)
    assert torch.equal(SamplingConfig(seed=3).build()(rows), SamplingConfig(seed=3).build()(rows))
    assert not torch.equal(SamplingConfig(seed=3).build()(rows), SamplingConfig(seed=4).build()(rows))


@pytest.mark.parametrize(
    "settings", [{"temperature": 0.0}, {"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.5}, {"min_p": 1.5}]
)
def test_impossible_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        SamplingConfig(**settings)  # type: ignore[arg-type]
