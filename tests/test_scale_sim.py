"""Laws of the simulated scale: all-reduce, stragglers, failures, checkpoints."""

import importlib
import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parent.parent
IDEAL: dict[str, Any] = {
    "steps": 300,
    "tokens_per_update": 4096,
    "parameters": 1_000_000,
    "tokens_per_second": 1000.0,
    "serial_seconds": 0.0,
    "validate_every": 10,
    "validation_seconds": 0.0,
    "jitter": 0.0,
    "latency_us": 0.0,
    "bandwidth_gb": 1e9,
    "node_bandwidth_gb": 1e9,
    "workers_per_node": 1,
    "mtbf_hours": 0.0,
    "restart_seconds": 0.0,
    "checkpoint_seconds": 0.0,
    "trials": 20,
}
"""No stragglers, no failures, nothing to wait for."""


@pytest.fixture(scope="module", name="sim")
def simulator() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield importlib.import_module("scale_sim")


def ring_all_reduce(workers: int, size: float, bandwidth: float, latency: float) -> float:
    """Sum chunks around a ring, message by message; return the time."""
    chunks = np.arange(workers**2, dtype=float).reshape(workers, workers) ** 2  # (worker, chunk)
    expected, seconds = chunks.sum(axis=0), 0.0
    for turn in range(2 * (workers - 1)):
        sent = [(worker, (worker - turn) % workers) for worker in range(workers)]
        messages = [(worker, chunk, chunks[worker, chunk]) for worker, chunk in sent]
        for worker, chunk, value in messages:  # at the same time, each to its neighbour
            receiver = (worker + 1) % workers
            chunks[receiver, chunk] = value + (chunks[receiver, chunk] if turn < workers - 1 else 0)
        seconds += latency + size / workers / bandwidth
    assert np.array_equal(chunks, np.tile(expected, (workers, 1)))
    return seconds


def tree_parents(workers: int) -> dict[int, int]:
    """Return the parent of each worker but 0 in a binary tree whose leaves are the odd workers."""
    parents = {}
    for worker in range(1, workers):
        bit = worker & -worker
        parent = worker ^ bit | bit << 1
        parents[worker] = parent if parent < workers else worker ^ bit
    return parents


def tree_depth(parents: dict[int, int], worker: int) -> int:
    return 1 + tree_depth(parents, parents[worker]) if worker in parents else 0


def two_tree_all_reduce(workers: int, size: float, bandwidth: float, latency: float) -> float:
    """Send half of the gradients up and down each of two trees; return the time in the limit of small messages.

    The second tree is the mirror image: the leaves of one are inside the other. The worker that sends most bytes
    determines the time, and the first and the last message the latency.
    """
    parents, bytes_sent = tree_parents(workers), np.zeros(workers)
    values = {worker: worker**2 for worker in range(workers)}
    for child in sorted(parents, key=lambda worker: -tree_depth(parents, worker)):
        values[parents[child]] += values[child]
        for sender in (child, parents[child]):  # up, and later down
            bytes_sent[sender] += size / 2
            bytes_sent[workers - 1 - sender] += size / 2
    assert values[0] == sum(worker**2 for worker in range(workers))
    depth = max(tree_depth(parents, worker) for worker in range(workers))
    return 2 * depth * latency + float(bytes_sent.max()) / bandwidth


@pytest.mark.parametrize("workers", [2, 3, 5, 8, 64])
def test_a_ring_takes_the_time_of_its_messages(sim: ModuleType, workers: int) -> None:
    a = sim.Assumptions(**IDEAL | {"bandwidth_gb": 2.0, "latency_us": 30.0})
    seconds = ring_all_reduce(workers, 4e6, 2e9, 30e-6)
    assert sim.all_reduce_seconds(a, workers) == pytest.approx(seconds, rel=1e-12)
    formula = 2 * (workers - 1) / workers * 4e6 / 2e9 + 2 * (workers - 1) * 30e-6
    assert seconds == pytest.approx(formula, rel=1e-12)


@pytest.mark.parametrize("workers", [8, 64, 1024])
def test_two_trees_take_the_time_of_their_messages(sim: ModuleType, workers: int) -> None:
    a = sim.Assumptions(**IDEAL | {"bandwidth_gb": 2.0, "latency_us": 30.0, "all_reduce": "tree"})
    seconds = two_tree_all_reduce(workers, 4e6, 2e9, 30e-6)
    assert sim.all_reduce_seconds(a, workers) == pytest.approx(seconds, rel=1e-12)
    assert seconds == pytest.approx(2 * 4e6 / 2e9 + 2 * math.ceil(math.log2(workers)) * 30e-6, rel=1e-12)


@pytest.mark.parametrize("workers", [2, 4, 6, 10, 100])
def test_two_trees_are_never_slower_than_simulated(sim: ModuleType, workers: int) -> None:
    a = sim.Assumptions(**IDEAL | {"bandwidth_gb": 2.0, "latency_us": 30.0, "all_reduce": "tree"})
    assert two_tree_all_reduce(workers, 4e6, 2e9, 30e-6) <= sim.all_reduce_seconds(a, workers) * (1 + 1e-12)


def test_the_network_is_used_between_nodes_only(sim: ModuleType) -> None:
    a = sim.Assumptions(**IDEAL | {"bandwidth_gb": 1.0, "node_bandwidth_gb": 100.0, "workers_per_node": 8})
    times = {workers: sim.all_reduce_seconds(a, workers) for workers in (1, 8, 9)}
    assert times == pytest.approx({1: 0, 8: 2 * 7 / 8 * 4e6 / 100e9, 9: 2 * 8 / 9 * 4e6 / 1e9})


def test_the_backward_pass_hides_an_all_reduce(sim: ModuleType) -> None:
    slow = IDEAL | {"bandwidth_gb": 0.004}  # 4 MB: 2 s for 1 s of work on each of 4 workers, with all-reduce 1.5 s
    for overlap in (0.0, 0.3, 0.9):
        a = sim.Assumptions(**slow | {"overlap": overlap})
        exposed = 1.5 - overlap * 2 / 3 * 1.024
        assert sim.simulate(a, 4)["update_seconds"] == pytest.approx(1.024 + exposed)
    fast = sim.Assumptions(**IDEAL | {"bandwidth_gb": 0.02, "overlap": 0.9})
    assert sim.simulate(fast, 4)["shares"]["communication"] == 0


@pytest.mark.parametrize("workers", [1, 2, 7, 64, 1024])
def test_without_losses_the_speed_up_is_the_number_of_workers(sim: ModuleType, workers: int) -> None:
    row = sim.simulate(sim.Assumptions(**IDEAL), workers)
    assert row["speed_up"] == pytest.approx(workers, rel=1e-12)
    assert row["days"] == pytest.approx(300 * 4.096 / workers / 86_400, rel=1e-12)


LOSSES = st.fixed_dictionaries(
    {
        "serial_seconds": st.floats(0, 4),
        "validation_seconds": st.floats(0, 100),
        "jitter": st.floats(0, 0.99),
        "all_reduce": st.sampled_from(["ring", "tree"]),
        "latency_us": st.floats(0, 1e5),
        "bandwidth_gb": st.floats(1e-4, 100),
        "node_bandwidth_gb": st.floats(1e-4, 100),
        "overlap": st.floats(0, 0.99),
        "checkpoint_seconds": st.floats(0, 100),
        "checkpoint_every": st.integers(1, 300),
        "seed": st.integers(0, 1000),
    }
)
COUNTS = st.lists(st.integers(1, 1024), min_size=2, max_size=5).map(sorted)


@given(losses=LOSSES, per_node=st.integers(1, 16), counts=COUNTS)
def test_efficiency_does_not_rise_with_the_workers(
    sim: ModuleType, losses: dict[str, Any], per_node: int, counts: list[int]
) -> None:
    a = sim.Assumptions(**IDEAL | losses | {"workers_per_node": per_node})
    rows = [sim.simulate(a, workers) for workers in counts]
    efficiencies = [row["shares"]["useful"] for row in rows]
    assert efficiencies[0] <= 1 + 1e-12
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(efficiencies))
    for row in rows:
        assert min(row["shares"].values()) >= -1e-12
        assert sum(row["shares"].values()) == pytest.approx(1)
        assert row["speed_up"] == pytest.approx(row["workers"] * row["shares"]["useful"])


@given(losses=LOSSES, mtbf=st.floats(0.1, 1e4), restart=st.floats(0, 1000), counts=COUNTS)
def test_failures_do_not_make_more_workers_efficient(
    sim: ModuleType, losses: dict[str, Any], mtbf: float, restart: float, counts: list[int]
) -> None:
    """One worker per node: workers that share a node fail no more often, and finish sooner."""
    a = sim.Assumptions(**IDEAL | losses | {"mtbf_hours": mtbf, "restart_seconds": restart})
    times = [workers * sim.expected_seconds(a, workers) for workers in counts]
    assert times[0] >= 300 * 4.096 * (1 - 1e-3)  # means by quadrature
    assert all(later >= earlier * (1 - 1e-9) for earlier, later in pairwise(times))
    assert sim.simulate(a, counts[0])["speed_up"] <= counts[0] * (1 + 1e-12)


@pytest.mark.parametrize("workers", [1, 2, 16, 1024])
def test_the_slowest_worker_is_the_largest_of_n_exponentials(sim: ModuleType, workers: int) -> None:
    random, jitter, draws = np.random.default_rng(1), 0.3, 20_000
    closed_form = 1 - jitter + jitter * sum(1 / i for i in range(1, workers + 1))
    x = np.linspace(0, 60, 600_001)
    integral = np.trapezoid(1 - (-np.expm1(-x)) ** workers, x)  # mean = ∫ 1 − P(all are below x) dx
    assert closed_form == pytest.approx(1 - jitter + jitter * integral, rel=1e-6)
    times = sim.slowest_worker(jitter, workers, random.random(draws))
    by_worker = 1 - jitter + jitter * random.standard_exponential((draws // 10, workers)).max(axis=1)
    for sample in (times, by_worker):
        assert sample.mean() == pytest.approx(closed_form, abs=4 * sample.std() / math.sqrt(len(sample)))
    quantiles = [0.05, 0.5, 0.95]
    assert np.quantile(times, quantiles) == pytest.approx(np.quantile(by_worker, quantiles), rel=0.03)
    assert sim.slowest_worker(jitter, workers, sim.QUADRATURE).mean() == pytest.approx(closed_form, rel=1e-3)


MTBF_AND_COST = [(86_400.0, 10.0), (3_600.0, 60.0), (3_600.0, 600.0), (600.0, 5.0), (200.0, 300.0)]


@pytest.mark.parametrize(("mtbf", "cost"), MTBF_AND_COST)
@pytest.mark.parametrize("restart", [0.0, 120.0])
def test_simulated_failures_cost_what_daly_says(sim: ModuleType, mtbf: float, cost: float, restart: float) -> None:
    length = sim.daly_interval(cost, mtbf) + cost
    lost = sim.failure_seconds(np.random.default_rng(2), np.full(100_000, length), mtbf, restart)
    expected = sim.daly_seconds(length, mtbf, restart) - length
    assert lost.mean() == pytest.approx(expected, abs=4 * lost.std() / math.sqrt(len(lost)))
    assert lost.std() / math.sqrt(len(lost)) < 0.1 * expected


@pytest.mark.parametrize(("hours", "cost"), [(1.0, 2.0), (24.0, 60.0)])
def test_a_simulated_run_lasts_as_long_as_expected(sim: ModuleType, hours: float, cost: float) -> None:
    losses = {"mtbf_hours": hours, "checkpoint_seconds": cost, "restart_seconds": 60.0, "checkpoint_every": 50}
    a = sim.Assumptions(**IDEAL | losses | {"trials": 2000})
    for workers in (1, 8):
        row = sim.simulate(a, workers)
        expected = sim.expected_seconds(a, workers) / 86_400
        assert row["days"] == pytest.approx(expected, abs=4 * row["days_sd"] / math.sqrt(2000))
        assert row["days_sd"] < 2 * expected


@pytest.mark.parametrize(("mtbf", "cost"), [(10_000.0, 1.0), (10_000.0, 10.0)])
def test_youngs_interval_is_near_the_simulated_optimum(sim: ModuleType, mtbf: float, cost: float) -> None:
    young = sim.young_interval(cost, mtbf)
    assert young == math.sqrt(2 * cost * mtbf)
    factors = np.geomspace(0.5, 2, 21)
    times = []
    for interval in young * factors:  # the same draws for each
        lengths = np.full(300_000, interval + cost)
        lost = sim.failure_seconds(np.random.default_rng(3), lengths, mtbf, 0.0)
        times.append((lengths + lost).mean() / interval)
    curve = np.polynomial.Polynomial.fit(np.log(factors), times, 4)
    optimum = min(np.linspace(math.log(0.7), math.log(1.4), 1000), key=curve)
    assert math.exp(optimum) == pytest.approx(1, abs=0.05)
    assert curve(0.0) <= 1.0005 * curve(optimum)


@pytest.mark.parametrize("cost", [1.0, 10.0, 100.0, 300.0])
def test_dalys_interval_is_nearer_to_the_optimum_than_youngs(sim: ModuleType, cost: float) -> None:
    intervals = np.geomspace(1, 5000, 40_000)
    optimum = min(intervals, key=lambda interval: sim.daly_seconds(interval + cost, 2000.0, 0.0) / interval)
    young, daly = sim.young_interval(cost, 2000.0), sim.daly_interval(cost, 2000.0)
    assert abs(daly - optimum) < 0.3 * abs(young - optimum)
    assert daly == pytest.approx(optimum, rel=0.01)
    assert sim.daly_interval(500.0, 200.0) == 200.0


def test_the_limits_are_the_best_of_all_numbers_of_workers(sim: ModuleType) -> None:
    a = sim.Assumptions(**IDEAL | {"latency_us": 10_000.0, "overlap": 0.0, "serial_seconds": 0.1})
    times = [sim.expected_seconds(a, workers) for workers in range(1, 201)]
    limits = sim.worker_limits(a, 200)
    assert times[limits["fastest"] - 1] == min(times)
    assert times[limits["enough"] - 1] <= 1.1 * min(times) < times[limits["enough"] - 2]
    efficiencies = [300 * 4.096 / (workers * seconds) for workers, seconds in enumerate(times, 1)]
    assert efficiencies[limits["half_efficient"] - 1] >= 0.5 > efficiencies[limits["half_efficient"]]
    assert 1 < limits["enough"] < limits["fastest"] < 200
    assert sim.worker_limits(sim.Assumptions(**IDEAL), 200)["fastest"] == 200
