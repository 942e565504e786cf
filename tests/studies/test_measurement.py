"""Costs that the studies measure: against sizes and formulas worked out by hand."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from studies.measurement import fitted_exponent, multiply_adds, peak_bytes, saved_tensor_bytes
from studies.results import format_json, round_numbers
from studies.table_1.example import attention_path, recurrent_path
from studies.table_1.layers import KERNEL, hops_to_reach
from studies.table_1.measure import count, count_projections, crossing, sequential_products

COUNTS = {
    "self-attention": lambda n, d: 4 * n * d**2 + 2 * n**2 * d,
    "rnn": lambda n, d: 2 * n * d**2,
    "gru": lambda n, d: 6 * n * d**2,
    "lstm": lambda n, d: 8 * n * d**2,
    "convolution": lambda n, d: 2 * KERNEL * n * d**2,
    "dilated": lambda n, d: KERNEL * n * d**2,
    "separable": lambda n, d: KERNEL * n * d + n * d**2,
}


@pytest.mark.parametrize("name", COUNTS)
def test_counted_multiply_adds_are_those_of_the_formula(name: str) -> None:
    for length, width in ((5, 8), (12, 16)):
        assert count(name, length, width) == COUNTS[name](length, width)
    assert count_projections("self-attention", 5, 8) == 4 * 5 * 8**2


def test_self_attention_is_cheaper_up_to_d_than_a_gru_and_up_to_2d_than_an_lstm_and_never_than_a_plain_unit() -> None:
    assert [crossing(name, 8) for name in ("rnn", "gru", "lstm")] == [None, 7, 15]


def test_a_recurrence_waits_n_times_and_attention_a_constant_number() -> None:
    assert [sequential_products("rnn", length) for length in (4, 8)] == [4, 8]
    assert [sequential_products("self-attention", length) for length in (4, 8)] == [4, 4]


@pytest.mark.parametrize(
    ("name", "hops"), [("self-attention", 1), ("rnn", 10), ("convolution", 9), ("dilated", 3), ("local-attention", 2)]
)
def test_hops_from_the_first_to_the_last_of_ten_positions(name: str, hops: int) -> None:
    assert hops_to_reach(name, 10, 8) == hops


def test_the_example_takes_six_recurrent_steps_and_one_attention() -> None:
    assert (recurrent_path(seed=7), attention_path(seed=7)) == (6, 1)


def test_peak_memory_is_the_largest_sum_of_live_tensors() -> None:
    def allocate() -> None:
        first = torch.empty(1000)
        torch.empty(500)  # freed at once
        second = torch.empty(250)
        del first, second

    assert peak_bytes(allocate) == 4 * 1500


def test_saved_tensors_are_counted_once_by_storage() -> None:
    x = torch.ones(100, requires_grad=True)
    assert saved_tensor_bytes(lambda: (x.exp() * 2).sum()) == [400]
    assert multiply_adds(lambda: torch.ones(3, 4) @ torch.ones(4, 5)) == 60


@given(exponent=st.floats(-3, 3), factor=st.floats(0.01, 100))
def test_the_exponent_of_a_power_law_is_found(exponent: float, factor: float) -> None:
    sizes = [2.0, 3.0, 10.0, 50.0]
    assert fitted_exponent(sizes, [factor * size**exponent for size in sizes]) == pytest.approx(exponent, abs=1e-6)


def test_results_keep_seven_digits_and_no_number_that_json_lacks() -> None:
    assert round_numbers({"a": [1 / 3, float("nan"), 2, True], 4: "x"}) == {"a": [0.3333333, None, 2, True], "4": "x"}
    assert format_json({"a": [1, 2], "b": [[1], [2]]}) == '{\n "a": [1, 2],\n "b": [\n  [1],\n  [2]\n ]\n}'
