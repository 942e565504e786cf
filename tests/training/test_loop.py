"""The update itself."""

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
from tongsa.training.loop import DataPosition, DivergedError, UpdateResult, train
from tongsa.training.loss import TrainingModel
from tongsa.training.lr_schedule import LRScheduleConfig
from tongsa.training.optimizer import build_optimizers

CONFIG = TrainingConfig(steps=3, precision="fp32", lr=LRScheduleConfig(schedule="constant", peak=1e-2, warmup=1))
EXAMPLES = Examples(
    Ragged([sentence(5, at)[:-1] for at in range(8)]), Ragged([sentence(3 + at % 4, at)[:-1] for at in range(8)])
)


def batches(*groups: list[int]) -> Iterator[tuple[DataPosition, Batch]]:
    for at, rows in enumerate(groups):
        yield DataPosition(0, at + 1), EXAMPLES.batch(np.array(rows))


def updated(
    config: TrainingConfig, *groups: list[int], still: bool = True
) -> tuple[dict[str, torch.Tensor], list[UpdateResult]]:
    model = tiny("transformer")
    if still:
        for module in model.modules():
            if isinstance(module, Dropout):
                module.rate = 0.0
    steps = list(
        train(
            TrainingModel(model, config),
            batches(*groups),
            build_optimizers(model, config),
            config.lr.build(16, config.steps),
            config,
        )
    )
    return named_tensors(model), steps


def test_accumulated_batches_are_one_batch_to_the_optimiser() -> None:
    """Even of different sizes: the mean is over pieces, not over batches."""
    together, (one,) = updated(replace(CONFIG, steps=1), [0, 1, 2, 3, 4, 5, 6, 7])
    apart, (other,) = updated(replace(CONFIG, steps=1, grad_accumulation=2), [0, 1, 2, 3, 4], [5, 6, 7])
    assert one.tokens == other.tokens
    assert one.loss == pytest.approx(other.loss, rel=1e-5)
    assert one.grad_norm == pytest.approx(other.grad_norm, rel=1e-4)
    for name, value in together.items():
        if not name.endswith(
            ("project.bias", "memory.bias")
        ):  # keys' biases have no slope but rounding, which Adam blows up
            assert_close(value, apart[name], atol=1e-4, rtol=1e-3)


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    groups = [[0, 1, 2], [3, 4, 5], [6, 7]]
    once, _ = updated(CONFIG, *groups, still=False)
    again, _ = updated(CONFIG, *groups, still=False)
    other, _ = updated(replace(CONFIG, seed=2), *groups, still=False)
    assert all(torch.equal(value, again[name]) for name, value in once.items())
    assert not all(torch.equal(value, other[name]) for name, value in once.items())


def test_clipping_shortens_a_long_gradient_and_reports_its_length() -> None:
    sgd = replace(CONFIG, steps=1)
    _, (free,) = updated(sgd, [0, 1, 2])
    _, (clipped,) = updated(replace(sgd, clip_grad_norm=1e-3), [0, 1, 2])
    assert free.grad_norm == clipped.grad_norm > 1e-3


def test_a_step_counts_real_pieces_and_the_share_of_padding() -> None:
    _, (step,) = updated(replace(CONFIG, steps=1), [0, 3])
    targets, sources = [3, 6], [5, 5]
    assert step.tokens == sum(targets)
    assert step.padding_fraction == pytest.approx(1 - (sum(targets) + sum(sources)) / (2 * 6 + 2 * 5))


def test_a_loss_that_is_no_number_raises_before_it_spoils_the_weights() -> None:
    model = tiny("transformer")
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    running = train(
        TrainingModel(model, CONFIG),
        batches([0, 1]),
        build_optimizers(model, CONFIG),
        CONFIG.lr.build(16, 3),
        CONFIG,
    )
    with pytest.raises(DivergedError, match="step 1"):
        next(running)


@pytest.mark.parametrize(
    ("probe", "gain"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", 0.0),
        ("raise SystemExit(3)", 0.0),
        ("print('nonsense')", 0.0),
        ("print(2.5)", 2.5),
    ],
)
def test_the_probe_of_bf16_survives_what_the_cpu_does_not(probe: str, gain: float) -> None:
    assert precision.measure_bf16_speedup(probe) == gain


def test_auto_precision_ends_in_something_that_runs_here() -> None:
    found = precision.resolve_precision("auto", torch.device("cpu"))
    assert found in ("fp32", "bf16")
    assert precision.resolve_precision("fp32", torch.device("cpu")) == "fp32"
