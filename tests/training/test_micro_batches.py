"""Micro-batches: the same gradient within a memory limit; retries after out-of-memory, NaN and fp16 overflow."""

import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from processes import ENVIRONMENT, write_recipe
from tiny import SIZE, tiny
from tongsa.batch import Batch, Padded, pad
from tongsa.errors import InputError
from tongsa.interface import EncoderDecoder
from tongsa.tokenization.special import BOS
from tongsa.training.config import TrainingConfig
from tongsa.training.journal import read_journal
from tongsa.training.loop import (
    INITIAL_LOSS_SCALE,
    DataPosition,
    DivergedError,
    UpdateResult,
    compute_gradient,
    train,
)
from tongsa.training.loss import TrainingModel
from tongsa.training.optimizer import build_optimizers
from tongsa.training.precision import Precision, measure_bf16_speedup

CONFIG = TrainingConfig(steps=3, grad_accumulation=1, precision="fp32", device="cpu", optimizer="adamw")


def make_batch(rows: int = 7) -> Batch:
    generator = torch.Generator().manual_seed(rows)
    tokens = [torch.randint(4, SIZE, (3 + row % 4,), generator=generator).tolist() for row in range(rows)]
    return Batch(pad(tokens), pad([[BOS, *row[:-1]] for row in tokens]), pad(tokens))


def gradients(model: EncoderDecoder, micro_batches: list[Batch]) -> list[Tensor]:
    model.zero_grad()
    compute_gradient(TrainingModel(model, CONFIG), [micro_batches], 1, CONFIG)
    return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


@pytest.mark.parametrize("max_tokens", [1, 6, 13, 20, 41])
def test_micro_batches_have_the_same_rows_and_the_same_gradient(max_tokens: int) -> None:
    model, batch = tiny("transformer").eval(), make_batch()
    micro_batches = batch.micro_batches(max_tokens)
    assert len(micro_batches) > 1
    assert all(part.padded_size <= max_tokens or len(part.source.lengths) == 1 for part in micro_batches)
    rows = [row[:length].tolist() for part in micro_batches for row, length in zip(*part.source, strict=True)]
    assert rows == [row[:length].tolist() for row, length in zip(*batch.source, strict=True)]
    assert_close(gradients(model, micro_batches), gradients(model, [batch]))


class LimitedMemoryModel(nn.Module):
    """A model on a device with memory for this many tokens."""

    def __init__(self, model: nn.Module, max_tokens: int) -> None:
        super().__init__()
        self.model, self.max_tokens, self.sizes = model, max_tokens, list[int]()

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        if batch.source.tokens.numel() > self.max_tokens:
            raise torch.OutOfMemoryError("out of memory")
        self.sizes.append(batch.source.tokens.numel())
        losses: tuple[Tensor, Tensor] = self.model(batch)
        return losses


def repeat_batch(batch: Batch) -> Iterator[tuple[DataPosition, Batch]]:
    while True:
        yield DataPosition(), batch


def run_updates(model: nn.Module, config: TrainingConfig, loss_scale: float = 1.0) -> list[UpdateResult]:
    schedule = config.lr.build(32, config.steps)
    batches, optimizers = repeat_batch(make_batch()), build_optimizers(model, config)
    return list(train(model, batches, optimizers, schedule, config, loss_scale=loss_scale))


def test_a_batch_that_does_not_fit_is_computed_in_micro_batches() -> None:
    model = LimitedMemoryModel(TrainingModel(tiny("transformer"), CONFIG), max_tokens=15)
    assert len(run_updates(model, CONFIG)) == 3
    assert max(model.sizes) <= 15


def test_a_single_row_that_does_not_fit_is_an_error_with_a_remedy() -> None:
    with pytest.raises(InputError, match=r"step 1: out of memory .*Lower training\.batch_tokens"):
        run_updates(LimitedMemoryModel(TrainingModel(tiny("transformer"), CONFIG), max_tokens=2), CONFIG)


class UnreliableModel(nn.Module):
    """A model whose losses of these calls are NaN."""

    def __init__(self, model: nn.Module, nan_calls: set[int]) -> None:
        super().__init__()
        self.model, self.nan_calls, self.calls = model, nan_calls, 0

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        self.calls += 1
        loss, plain = self.model(batch)
        factor = math.nan if self.calls in self.nan_calls else 1.0
        return loss * factor, plain * factor


def test_a_single_nan_is_retried_with_the_same_result() -> None:
    reliable, unreliable = tiny("transformer"), tiny("transformer")
    expected = run_updates(TrainingModel(reliable, CONFIG), CONFIG)
    results = run_updates(UnreliableModel(TrainingModel(unreliable, CONFIG), {2}), CONFIG)
    assert [result.loss for result in results] == [result.loss for result in expected]
    assert all(torch.equal(*pair) for pair in zip(reliable.parameters(), unreliable.parameters(), strict=True))


def test_a_repeated_nan_stops_the_run_before_the_weights_change() -> None:
    model = tiny("transformer")
    before = [parameter.clone() for parameter in model.parameters()]
    with pytest.raises(DivergedError, match="step 1: the loss is nan"):
        run_updates(UnreliableModel(TrainingModel(model, CONFIG), {1, 2}), CONFIG)
    assert all(torch.equal(*pair) for pair in zip(before, model.parameters(), strict=True))


class HalfPrecisionGradient(torch.autograd.Function):
    """Identity whose gradient is rounded to fp16: beyond 65,504 it is infinite."""

    @staticmethod
    def forward(_: object, values: Tensor) -> Tensor:
        return values.clone()

    @staticmethod
    def backward(_: object, *gradients: Tensor) -> Tensor:
        return gradients[0].half().float()


class HalfPrecisionModel(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Padded, target: Padded) -> Tensor:
        logits: Tensor = HalfPrecisionGradient.apply(self.model(source, target).float() * 1e3)  # type: ignore[no-untyped-call]
        return logits / 1e3


def test_a_too_large_loss_scale_is_halved_until_the_gradient_is_finite() -> None:
    config = replace(CONFIG, precision="fp16")
    model: Any = HalfPrecisionModel(tiny("transformer"))
    results = run_updates(TrainingModel(model, config), config, loss_scale=2.0**40)
    assert 1 <= results[0].loss_scale < 2.0**40
    assert all(math.isfinite(result.grad_norm) for result in results)
    assert len({result.loss_scale for result in results}) == 1, "a scale that works is kept"


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_is_close_to_full_precision(precision: Precision) -> None:
    try:
        torch.ones(2, 2).to(torch.float16) @ torch.ones(2, 2).to(torch.float16)
    except RuntimeError:
        pytest.skip("no fp16 matrix products on this CPU")
    if precision == "bf16" and not measure_bf16_speedup() > 0:
        pytest.skip("bf16 crashes on this CPU")
    full, half = tiny("transformer").eval(), tiny("transformer").eval()
    loss_scale = INITIAL_LOSS_SCALE if precision == "fp16" else 1.0
    expected = compute_gradient(TrainingModel(full, CONFIG), [[make_batch()]], 1, CONFIG)
    config = replace(CONFIG, precision=precision)
    result = compute_gradient(TrainingModel(half, config), [[make_batch()]], 1, config, loss_scale=loss_scale)
    assert result != expected, "it was not computed in half precision"
    assert_close(result, expected, rtol=0.02, atol=0.02)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_a_run_stays_below_its_memory_limit(tmp_path: Path) -> None:
    """Peak of the whole process, with validation and checkpoints; without the limit it is higher."""
    sizes = ["model.width=128", "model.ffn_width=1024", "model.encoder_layers=3"]
    recipe = write_recipe(
        tmp_path,
        [
            *sizes,
            "training.steps=2",
            "training.batch_tokens=8192",
            "training.grad_accumulation=2",  # more than 1: the batches are not split
            "training.validate_sentences=5",
            "decoding.max_extra_tokens=3",
        ],
        pairs=1500,
    )

    def peak_mib(run: str, *settings: str) -> int:
        words = [word for setting in settings for word in ("--set", setting)]
        script = (
            "import sys; from pathlib import Path; from tongsa.cli import main; code = main(sys.argv[1:]); "
            "lines = Path('/proc/self/status').read_text().splitlines(); "
            "print(next(int(line.split()[1]) // 1024 for line in lines if line.startswith('VmHWM'))); sys.exit(code)"
        )
        command = [sys.executable, "-c", script, "train", str(recipe), "--run", run, *words]
        child = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        assert child.returncode == 0, child.stderr
        return int(child.stdout.splitlines()[-1])

    limit = peak_mib("unlimited") * 2 // 3
    assert peak_mib("limited", f"training.memory_limit_mib={limit}") <= limit
    unlimited, limited = (read_journal(tmp_path / run / "journal.jsonl")[0] for run in ("unlimited", "limited"))
    assert unlimited["tokens"] == limited["tokens"]
    assert unlimited["loss"] == pytest.approx(limited["loss"], abs=0.02), "only the dropout masks differ"
