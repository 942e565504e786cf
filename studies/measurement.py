"""Cost of a function, measured: CPU seconds, peak bytes, bytes kept for the backward pass, multiply-adds.

Seconds are CPU time of one thread. On an idle core that is wall time; on a shared machine, other programs do not count.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

MIN_SECONDS = 0.02
"""A round repeats the function until this much time has passed."""


def measure_seconds(functions: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the shortest CPU time of each function over several rounds; the functions take turns."""
    best = dict.fromkeys(functions, math.inf)
    repeats = {}
    for name, function in functions.items():
        function()  # the first call initializes
        start = time.process_time()
        function()
        repeats[name] = max(1, round(MIN_SECONDS / max(time.process_time() - start, 1e-6)))
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.process_time()
            for _ in range(repeats[name]):
                function()
            best[name] = min(best[name], (time.process_time() - start) / repeats[name])
    return best


def peak_bytes(function: Callable[[], object]) -> int:
    """Return how much more memory torch held at most during the call than before it."""
    function()  # the first call may allocate tables that stay
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        function()
    results: Any = profiler.profiler.kineto_results if profiler.profiler else None
    live = peak = 0
    for event in sorted(results.events(), key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    return peak


def saved_tensor_bytes(function: Callable[[], object]) -> list[int]:
    """Return the size of each distinct tensor that autograd keeps for the backward pass, the largest first."""
    sizes: dict[int, int] = {}
    kept = []  # a freed tensor's address may be used again

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        function()
    return sorted(sizes.values(), reverse=True)


def _elementwise_flops(*_: object, out_shape: Sequence[int], **__: object) -> int:
    return 2 * math.prod(out_shape)  # torch's counter has two operations for each multiply-add


def multiply_adds(function: Callable[[], object], *, elementwise: bool = False) -> int:
    """Return the number of multiply-adds in matrix products; with `elementwise` also those of mul and addcmul."""
    operations = (torch.ops.aten.mul, torch.ops.aten.addcmul) if elementwise else ()
    mapping = dict.fromkeys(operations, _elementwise_flops)
    # torch's counter does not know the fused attention kernel of CPUs, but its parts
    with (
        sdpa_kernel(SDPBackend.MATH),
        FlopCounterMode(display=False, custom_mapping=mapping) as counter,
        torch.no_grad(),
    ):
        function()
    return int(counter.get_total_flops()) // 2


def fitted_exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return the exponent a of cost ≈ c · size^a, by least squares on logarithms."""
    x, y = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    covariance = math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return covariance / math.fsum((a - mean_x) ** 2 for a in x)
