"""Scores, softmax and gradients of the three score functions against d_k, and the cost of additive attention."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from studies.measurement import measure_seconds, multiply_adds, peak_bytes, saved_tensor_bytes
from studies.study import MeasureOptions
from tongsa.nn.attention import AttentionScore, KeyValue, build_attention
from tongsa.nn.recording import recording

SCORE_FUNCTIONS: tuple[AttentionScore, ...] = ("scaled-dot", "dot", "additive")
KEY_WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)
COST_KEY_WIDTHS = (16, 64, 256)
HEADS, LENGTH, VALUE_WIDTH = 8, 64, 64
BATCH, COST_BATCH = 4, 2
ROUNDS = 7


def normal_inputs(batch: int, key_width: int, seed: int) -> tuple[Tensor, KeyValue]:
    """Return queries, keys and values whose elements are independent with mean 0 and variance 1, as in the paper."""
    generator = torch.Generator().manual_seed(seed)
    query, keys, values = (
        torch.randn(batch, HEADS, LENGTH, width, generator=generator) for width in (key_width, key_width, VALUE_WIDTH)
    )
    return query.requires_grad_(), KeyValue(keys.requires_grad_(), values.requires_grad_())


def measure_statistics(score_function: AttentionScore, key_width: int, seed: int) -> dict[str, float]:
    """Return statistics of one layer's scores, softmax weights and gradients."""
    torch.manual_seed(seed)  # the additive score vector
    attention = build_attention(score_function, HEADS, key_width)
    query, kv = normal_inputs(BATCH, key_width, seed)
    with recording(attention) as recorder:
        context = attention(query, kv, None, "encoder")
    by_name = {recorded.name: recorded.value for recorded in recorder.tensors}
    weights = by_name["attention.weights"]
    scores = by_name.get("attention.scores", by_name.get("attention.additive_scores"))
    assert scores is not None  # noqa: S101
    upstream = torch.randn(context.shape, generator=torch.Generator().manual_seed(seed + 1000))
    score_gradient, query_gradient = torch.autograd.grad((context * upstream).sum(), [scores, query])
    scores, weights = scores.detach(), weights.detach()
    entropy = -torch.xlogy(weights, weights).sum(-1).mean()
    return {
        "mean": float(scores.mean()),
        "variance": float(scores.var()),
        "entropy": float(entropy) / math.log(LENGTH),
        "largest_weight": float(weights.max(-1).values.mean()),
        "score_gradient": float(score_gradient.norm(dim=-1).mean()),
        "median_score_gradient": float(score_gradient.norm(dim=-1).median()),
        "query_gradient": float(query_gradient.norm(dim=-1).mean()),
    }


def attention_update(attention: nn.Module, query: Tensor, kv: KeyValue) -> Callable[[], None]:
    """Return a function that runs the layer forward and backward."""

    def update() -> None:
        attention(query, kv, None, "encoder").sum().backward()
        for tensor in (query, *kv, *attention.parameters()):
            tensor.grad = None

    return update


def measure_cost(key_width: int, seed: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return CPU seconds, peak bytes, largest saved tensor and multiply-adds of dot-product and additive attention."""
    torch.manual_seed(seed)
    layers = {name: build_attention(name, HEADS, key_width) for name in ("scaled-dot", "additive")}
    query, kv = normal_inputs(COST_BATCH, key_width, seed)
    updates = {name: attention_update(layer, query, kv) for name, layer in layers.items()}
    seconds = measure_seconds(updates, rounds)
    return {
        name: {
            "seconds": seconds[name],
            "peak_bytes": peak_bytes(updates[name]),
            "largest_saved_bytes": saved_tensor_bytes(lambda layer=layer: layer(query, kv, None, "encoder"))[0],  # type: ignore[misc]
            "multiply_adds": multiply_adds(lambda layer=layer: layer(query, kv, None, "encoder")),  # type: ignore[misc]
        }
        for name, layer in layers.items()
    }


def measure(options: MeasureOptions) -> dict[str, Any]:
    widths = KEY_WIDTHS[::3] if options.quick else KEY_WIDTHS
    cost_widths = COST_KEY_WIDTHS[:1] if options.quick else COST_KEY_WIDTHS
    statistics: dict[str, dict[str, list[list[float]]]] = {}
    for score_function in SCORE_FUNCTIONS:
        rows = [[measure_statistics(score_function, width, seed) for seed in options.seeds] for width in widths]
        statistics[score_function] = {name: [[seed[name] for seed in row] for row in rows] for name in rows[0][0]}
    rounds = 2 if options.quick else ROUNDS
    costs = {width: [measure_cost(width, seed, rounds) for seed in options.seeds] for width in cost_widths}
    return {
        "key_widths": list(widths),
        "cost_key_widths": list(cost_widths),
        "shape": {"batch": COST_BATCH, "heads": HEADS, "length": LENGTH, "value_width": VALUE_WIDTH},
        "statistics": statistics,
        "cost": {
            name: {
                quantity: [[seed[name][quantity] for seed in costs[width]] for width in cost_widths]
                for quantity in costs[cost_widths[0]][0][name]
            }
            for name in ("scaled-dot", "additive")
        },
    }
