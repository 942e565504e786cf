"""Intervals over seeds, and the verdicts that follow from them."""

import math

import pytest

from studies.intervals import (
    Interval,
    combine_verdicts,
    difference_interval,
    mean_interval,
    t_quantile,
    verdict_above,
    verdict_below,
    verdict_within,
)


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [(1, 12.706205), (2, 4.302653), (4, 2.776445), (9, 2.262157), (30, 2.042272)],
)
def test_the_quantile_is_that_of_the_published_tables(freedom: float, expected: float) -> None:
    assert t_quantile(freedom) == pytest.approx(expected, rel=1e-5)


def test_the_interval_of_a_mean_is_t_standard_errors_wide() -> None:
    interval = mean_interval([1.0, 2.0, 3.0])
    assert interval.mean == 2
    assert interval.high - interval.mean == pytest.approx(4.302653 / math.sqrt(3), rel=1e-5)
    assert interval.mean - interval.low == pytest.approx(interval.high - interval.mean)


def test_groups_of_equal_size_and_variance_have_the_freedom_of_both() -> None:
    interval = difference_interval([5.0, 6.0, 7.0], [1.0, 2.0, 3.0])
    assert interval.mean == 4
    assert interval.high - interval.mean == pytest.approx(t_quantile(4) * math.sqrt(2 / 3))


def test_one_seed_has_no_interval() -> None:
    with pytest.raises(ValueError, match="at least two"):
        mean_interval([1.0])


def test_a_verdict_needs_an_interval_on_one_side_of_the_threshold() -> None:
    assert verdict_above(Interval(2, 1, 3)) == "holds"
    assert verdict_above(Interval(-2, -3, -1)) == "fails"
    assert verdict_above(Interval(1, -1, 3)) == "undecided"
    assert verdict_below(Interval(2, 1, 3), threshold=4) == "holds"
    assert verdict_below(Interval(2, 1, 3), threshold=2.5) == "undecided"
    assert verdict_within(Interval(2, 1, 3), 0.5, 3.5) == "holds"
    assert verdict_within(Interval(2, 1, 3), 1.5, 3.5) == "undecided"
    assert verdict_within(Interval(2, 1, 3), 3.2, 3.5) == "fails"


def test_a_claim_holds_only_if_all_its_parts_hold() -> None:
    assert combine_verdicts(["holds", "holds"]) == "holds"
    assert combine_verdicts(["holds", "undecided"]) == "partly"
    assert combine_verdicts(["holds", "fails"]) == "partly"
    assert combine_verdicts(["fails", "undecided"]) == "undecided"
    assert combine_verdicts(["fails", "fails"]) == "fails"


def test_a_mean_that_rounds_to_zero_has_no_minus() -> None:
    assert Interval(-0.04, -0.3, 0.02).show(1) == "0.0 [−0.3, 0.0]"
