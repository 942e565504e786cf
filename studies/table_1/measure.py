"""Multiply-adds, sequential steps, CPU time, memory and path length of each layer against n and d."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from studies.measurement import measure_seconds, multiply_adds, peak_bytes
from studies.study import MeasureOptions
from studies.table_1.example import attention_path, recurrent_path
from studies.table_1.layers import LAYERS, RECURRENT, AttentionLayer, build_layer, hops_to_reach
from tongsa.nn.conv import SeparableConvolution
from tongsa.nn.feed_forward import build_feed_forward

LENGTHS, WIDTH = (64, 128, 256, 512, 1024, 2048), 64
WIDTHS, LENGTH = (64, 128, 256, 512), 64
PATH_LENGTHS, PATH_WIDTH = (8, 16, 32, 64, 128), 8
BATCH, ROUNDS = 2, 3
CROSSING_WIDTHS = (64, 128, 256)
MAX_CROSSING = 8
"""Self-attention is compared with recurrence up to this many times d positions."""


def meta_layer(name: str, width: int) -> nn.Module:
    """Return a layer without storage: it can be counted, but not computed."""
    with torch.device("meta"):
        return build_layer(name, width)


def count(name: str, length: int, width: int) -> int:
    """Return the multiply-adds of a layer for one sequence; the channel kernels of a separable one are element-wise."""
    layer, inputs = meta_layer(name, width), torch.empty(1, length, width, device="meta")
    return multiply_adds(lambda: layer(inputs), elementwise=name == "separable")


def count_projections(name: str, length: int, width: int) -> int:
    """Return the multiply-adds of an attention layer's projections; 0 for layers without attention."""
    layer, inputs = meta_layer(name, width), torch.empty(1, length, width, device="meta")
    if not isinstance(layer, AttentionLayer):
        return 0
    return multiply_adds(lambda: layer.project(inputs))


def count_sizes(sizes: Sequence[tuple[int, int]]) -> dict[str, dict[str, list[int]]]:
    """Return total multiply-adds and those of projections, by layer and for each (n, d)."""
    return {
        name: {
            "total": [count(name, length, width) for length, width in sizes],
            "projections": [count_projections(name, length, width) for length, width in sizes],
        }
        for name in LAYERS
    }


def widest_separable(width: int) -> tuple[int, int]:
    """Return the multiply-adds of a separable convolution with k = n, and of self-attention and feed-forward network.

    n = d, and the feed-forward network is four times as wide. The paper counts k·n·d + n·d² and n²·d + n·d².
    """
    inputs = torch.empty(1, width, width, device="meta")
    with torch.device("meta"):
        separable = SeparableConvolution(width, width, width // 2)
        feed_forward = build_feed_forward("relu", width, 4 * width, 0.0, gain=1.0)
    both = count("self-attention", width, width) + multiply_adds(lambda: feed_forward(inputs))
    return multiply_adds(lambda: separable(inputs), elementwise=True), both


def crossing(name: str, width: int) -> int | None:
    """Return the largest n at which self-attention has fewer multiply-adds than a recurrent layer; None if none.

    Both counts are polynomials in n without a constant, so there is at most one crossing: bisection finds it.
    """

    def is_cheaper(length: int) -> bool:
        return count("self-attention", length, width) < count(name, length, width)

    if not is_cheaper(1):
        return None
    low, high = 1, MAX_CROSSING * width
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_cheaper(middle) else (low, middle)
    return low


def layer_update(name: str, length: int, width: int, seed: int) -> Callable[[], None]:
    """Return a function that runs a layer forward and backward."""
    torch.manual_seed(seed)
    layer, inputs = build_layer(name, width), torch.randn(BATCH, length, width)

    def update() -> None:
        layer(inputs).sum().backward()
        layer.zero_grad(set_to_none=True)

    return update


def measure_costs(sizes: Sequence[tuple[int, int]], seeds: Sequence[int], rounds: int) -> dict[str, dict[str, Any]]:
    """Return CPU seconds of each seed and peak bytes, by layer and for each (n, d)."""
    costs: dict[str, dict[str, Any]] = {name: {"seconds": [], "peak_bytes": []} for name in LAYERS}
    for length, width in sizes:
        measured = []
        for seed in seeds:
            updates = {name: layer_update(name, length, width, seed) for name in LAYERS}
            measured.append(measure_seconds(updates, rounds))
        for name in LAYERS:
            costs[name]["seconds"].append([seconds[name] for seconds in measured])
            costs[name]["peak_bytes"].append(peak_bytes(layer_update(name, length, width, seeds[0])))
    return costs


def dependent_products(output: Tensor) -> int:
    """Return the number of matrix products in the longest chain in which each needs the result of the one before."""
    depth: dict[Any, int] = {}
    stack: list[Any] = [output.grad_fn]
    while stack:  # depth first without recursion: a recurrence is deeper than Python's stack
        node = stack[-1]
        inputs = [function for function, _ in node.next_functions if function is not None]
        waiting = [function for function in inputs if function not in depth]
        if waiting:
            stack += waiting
            continue
        stack.pop()
        is_product = any(word in node.name() for word in ("MmBackward", "BmmBackward", "ddmmBackward"))
        depth[node] = max((depth[function] for function in inputs), default=0) + is_product
    return depth[output.grad_fn]


def sequential_products(name: str, length: int) -> int:
    """Return the longest chain of dependent matrix products in one layer."""
    layer = build_layer(name, PATH_WIDTH)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return dependent_products(layer(torch.randn(1, length, PATH_WIDTH)))


def measure(options: MeasureOptions) -> dict[str, Any]:
    lengths = LENGTHS[:3] if options.quick else LENGTHS
    widths = WIDTHS[:2] if options.quick else WIDTHS
    path_lengths = PATH_LENGTHS[:3] if options.quick else PATH_LENGTHS
    by_length, by_width = [(length, WIDTH) for length in lengths], [(LENGTH, width) for width in widths]
    crossing_widths = CROSSING_WIDTHS[:1] if options.quick else CROSSING_WIDTHS
    rounds = 1 if options.quick else ROUNDS
    hops: dict[str, list[list[int]]] = {name: [] for name in LAYERS}
    for length in path_lengths:
        for name in LAYERS:
            hops[name].append([])
            for seed in options.seeds:
                torch.manual_seed(seed)
                hops[name][-1].append(hops_to_reach(name, length, PATH_WIDTH))
    return {
        "lengths": list(lengths),
        "widths": list(widths),
        "width": WIDTH,
        "length": LENGTH,
        "batch": BATCH,
        "path_lengths": list(path_lengths),
        "counts_by_length": count_sizes(by_length),
        "counts_by_width": count_sizes(by_width),
        "costs_by_length": measure_costs(by_length, options.seeds, rounds),
        "costs_by_width": measure_costs(by_width, options.seeds, rounds),
        "hops": hops,
        "products": {name: [sequential_products(name, length) for length in path_lengths] for name in LAYERS},
        "crossing_widths": list(crossing_widths),
        "crossings": {name: [crossing(name, width) for width in crossing_widths] for name in RECURRENT},
        "widest_separable": {str(width): list(widest_separable(width)) for width in CROSSING_WIDTHS},
        "example": {
            "recurrent": [recurrent_path(seed) for seed in options.seeds],
            "attention": [attention_path(seed) for seed in options.seeds],
        },
    }
