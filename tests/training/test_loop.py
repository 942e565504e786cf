"""The update: gradient accumulation, seeds, clipping, counts, divergence, precision."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from tiny import sentence, tiny
from tongsa.batch import Batch, Examples, Ragged
from tongsa.interface import named_tensors
from tongsa.nn.dropout import Dropout
from tongsa.training import precision
from tongsa.training.config import TrainingConfig
from tongsa.training.loop import DataPosition, DivergedError, UpdateResult, compute_gradient, train
from tongsa.training.loss import TrainingModel
from tongsa.training.lr_schedule import LRScheduleConfig
from tongsa.training.optimizer import build_optimizers

CONFIG = TrainingConfig(steps=3, precision="fp32", lr=LRScheduleConfig(schedule="constant", peak=1e-2, warmup=1))
EXAMPLES = Examples(
    Ragged([sentence(5, row)[:-1] for row in range(8)]), Ragged([sentence(3 + row % 4, row)[:-1] for row in range(8)])
)


def batches(*groups: list[int]) -> Iterator[tuple[DataPosition, Batch]]:
    for i, rows in enumerate(groups):
        yield DataPosition(0, i + 1), EXAMPLES.batch(np.array(rows))


def train_tiny(
    config: TrainingConfig, *groups: list[int], dropout: bool = False
) -> tuple[dict[str, torch.Tensor], list[UpdateResult]]:
    """Train on batches with these rows; return the weights and the results of the updates."""
    model = tiny("transformer")
    if not dropout:
        for module in model.modules():
            if isinstance(module, Dropout):
                module.rate = 0.0
    results = list(
        train(
            TrainingModel(model, config),
            batches(*groups),
            build_optimizers(model, config),
            config.lr.build(16, config.steps),
            config,
        )
    )
    return named_tensors(model), results


def test_gradient_accumulation_equals_one_large_batch() -> None:
    """Also for batches of different size: the mean is over tokens, not over batches."""
    large, (large_result,) = train_tiny(replace(CONFIG, steps=1), [0, 1, 2, 3, 4, 5, 6, 7])
    small, (small_result,) = train_tiny(replace(CONFIG, steps=1, grad_accumulation=2), [0, 1, 2, 3, 4], [5, 6, 7])
    assert large_result.tokens == small_result.tokens
    assert large_result.loss == pytest.approx(small_result.loss, rel=1e-5)
    assert large_result.grad_norm == pytest.approx(small_result.grad_norm, rel=1e-4)
    for name, value in large.items():
        # the gradient of a key's bias is 0 but for rounding, and Adam normalizes rounding errors to full steps
        if not name.endswith(("qkv_projection.bias", "kv_projection.bias")):
            assert_close(value, small[name], atol=1e-4, rtol=1e-3)


def test_the_same_seed_gives_identical_weights_and_another_does_not() -> None:
    groups = [[0, 1, 2], [3, 4, 5], [6, 7]]
    first, _ = train_tiny(CONFIG, *groups, dropout=True)
    repeated, _ = train_tiny(CONFIG, *groups, dropout=True)
    different, _ = train_tiny(replace(CONFIG, seed=2), *groups, dropout=True)
    assert all(torch.equal(value, repeated[name]) for name, value in first.items())
    assert not all(torch.equal(value, different[name]) for name, value in first.items())


def test_the_gradient_norm_is_reported_before_clipping() -> None:
    config = replace(CONFIG, steps=1)
    _, (unclipped,) = train_tiny(config, [0, 1, 2])
    _, (clipped,) = train_tiny(replace(config, clip_grad_norm=1e-3), [0, 1, 2])
    assert unclipped.grad_norm == clipped.grad_norm > 1e-3


def test_clipping_bounds_the_gradient() -> None:
    model, config = tiny("transformer"), replace(CONFIG, clip_grad_norm=1e-3)
    ((_, batch),) = batches([0, 1, 2])
    _, grad_norm = compute_gradient(TrainingModel(model, config), [[batch]], 1, config)
    clipped_norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    assert grad_norm > 1e-3
    assert clipped_norm.item() == pytest.approx(1e-3, rel=1e-3)


def test_an_update_counts_target_tokens_and_the_padding_fraction() -> None:
    _, (result,) = train_tiny(replace(CONFIG, steps=1), [0, 3])
    targets, sources = [3, 6], [5, 5]
    assert result.tokens == sum(targets)
    assert result.padding_fraction == pytest.approx(1 - (sum(targets) + sum(sources)) / (2 * 6 + 2 * 5))


def test_a_nan_loss_raises_a_diverged_error() -> None:
    model = tiny("transformer")
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    updates = train(
        TrainingModel(model, CONFIG),
        batches([0, 1]),
        build_optimizers(model, CONFIG),
        CONFIG.lr.build(16, 3),
        CONFIG,
    )
    with pytest.raises(DivergedError, match="step 1"):
        next(updates)


@pytest.mark.parametrize(
    ("script", "speedup"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", 0.0),
        ("raise SystemExit(3)", 0.0),
        ("print('nonsense')", 0.0),
        ("print(2.5)", 2.5),
    ],
)
def test_the_bf16_probe_survives_a_crash_of_its_child(script: str, speedup: float) -> None:
    assert precision.measure_bf16_speedup(script) == speedup


def test_auto_precision_resolves_to_a_supported_one() -> None:
    assert precision.resolve_precision("auto", torch.device("cpu")) in ("fp32", "bf16")
    assert precision.resolve_precision("fp32", torch.device("cpu")) == "fp32"
