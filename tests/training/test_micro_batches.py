"""Batches in parts: the same gradient, within the memory given; and numbers that overflow, slip or do not fit."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tiny import SIZE, SMALL, reversing, tiny, write_pairs
from tongsa.batch import Batch, Padded, pad
from tongsa.errors import InputError
from tongsa.training import loop
from tongsa.training.config import TrainingConfig
from tongsa.training.loop import INITIAL_LOSS_SCALE, DataPosition, DivergedError, compute_gradient, train
from tongsa.training.optimizer import build_optimizers
from tongsa.training.precision import Precision, measure_bf16_speedup

CONFIG = TrainingConfig(steps=3, grad_accumulation=1, precision="fp32", device="cpu", optimizer="adamw")


def batch(rows: int = 7) -> Batch:
    generator = torch.Generator().manual_seed(rows)
    lines = [torch.randint(4, SIZE, (3 + at % 4,), generator=generator).tolist() for at in range(rows)]
    return Batch(pad(lines), pad([[1, *line[:-1]] for line in lines]), pad(lines))


def gradients(model: nn.Module, parts: list[Batch]) -> list[Tensor]:
    model.zero_grad()
    compute_gradient(model, [parts], 1, CONFIG)
    return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


@pytest.mark.parametrize("most", [1, 6, 13, 20, 41])
def test_a_batch_in_parts_has_the_same_rows_and_the_same_gradient(most: int) -> None:
    model, whole = tiny("transformer").eval(), batch()
    parts = whole.micro_batches(most)
    assert len(parts) > 1
    assert all(part.padded_size <= most or len(part.source.lengths) == 1 for part in parts)
    rows = [row[:length].tolist() for part in parts for row, length in zip(*part.source, strict=True)]
    assert rows == [row[:length].tolist() for row, length in zip(*whole.source, strict=True)]
    assert_close(gradients(model, parts), gradients(model, [whole]))


class Scarce(nn.Module):
    """A model on a device that holds so many places at once."""

    def __init__(self, model: nn.Module, room: int) -> None:
        super().__init__()
        self.model, self.room, self.seen = model, room, list[int]()

    def forward(self, source: Padded, target: Padded) -> Tensor:
        if source.tokens.numel() > self.room:
            raise torch.OutOfMemoryError("out of memory")
        self.seen.append(source.tokens.numel())
        logits: Tensor = self.model(source, target)
        return logits


def endless(one: Batch) -> Iterator[tuple[DataPosition, Batch]]:
    while True:
        yield DataPosition(), one


def steps(model: nn.Module, config: TrainingConfig, scale: float = 1.0) -> list[loop.UpdateResult]:
    schedule = config.lr.build(32, config.steps)
    return list(train(model, endless(batch()), build_optimizers(model, config), schedule, config, loss_scale=scale))


def test_a_batch_that_does_not_fit_is_computed_in_parts_and_the_run_lives() -> None:
    model = Scarce(tiny("transformer"), room=15)
    made = steps(model, CONFIG)
    assert len(made) == 3
    assert max(model.seen) <= 15


def test_a_single_row_that_does_not_fit_is_an_error_with_a_remedy() -> None:
    with pytest.raises(InputError, match=r"lower training\.batch_tokens"):
        steps(Scarce(tiny("transformer"), room=2), CONFIG)


class Slipping(nn.Module):
    """A model on a machine that computes wrongly at times."""

    def __init__(self, model: nn.Module, wrong: set[int]) -> None:
        super().__init__()
        self.model, self.wrong, self.calls = model, wrong, 0

    def forward(self, source: Padded, target: Padded) -> Tensor:
        self.calls += 1
        logits: Tensor = self.model(source, target)
        return logits * math.nan if self.calls in self.wrong else logits


def test_a_slip_of_the_machine_changes_nothing() -> None:
    good, bad = tiny("transformer"), tiny("transformer")
    steady, slipping = steps(good, CONFIG), steps(Slipping(bad, {2}), CONFIG)
    assert [step.loss for step in steady] == [step.loss for step in slipping]
    assert all(torch.equal(*pair) for pair in zip(good.parameters(), bad.parameters(), strict=True))


def test_a_loss_that_stays_no_number_stops_the_run_before_the_weights_are_harmed() -> None:
    model = tiny("transformer")
    before = [parameter.clone() for parameter in model.parameters()]
    with pytest.raises(DivergedError, match="step 1: the loss is nan"):
        steps(Slipping(model, {1, 2}), CONFIG)
    assert all(torch.equal(*pair) for pair in zip(before, model.parameters(), strict=True))


class Overflowing(torch.autograd.Function):
    """Gradients as half-precision numbers: beyond 65,504 they are infinite."""

    @staticmethod
    def forward(_: object, values: Tensor) -> Tensor:
        return values.clone()

    @staticmethod
    def backward(_: object, *slopes: Tensor) -> Tensor:
        return slopes[0].half().float()


class Half(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Padded, target: Padded) -> Tensor:
        found: Tensor = Overflowing.apply(self.model(source, target).float() * 1e3)  # type: ignore[no-untyped-call]
        return found / 1e3


def test_a_scale_too_large_for_half_precision_is_halved_until_the_gradient_passes() -> None:
    config = replace(CONFIG, precision="fp16")
    made = steps(Half(tiny("transformer")), config, scale=2.0**40)
    assert 1 <= made[0].loss_scale < 2.0**40
    assert all(math.isfinite(step.grad_norm) for step in made)
    assert len({step.loss_scale for step in made}) == 1, "once it fits it stays"


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_a_half_precision_gradient_is_close_to_the_full_one(precision: Precision) -> None:
    try:
        torch.ones(2, 2).to(torch.float16) @ torch.ones(2, 2).to(torch.float16)
    except RuntimeError:
        pytest.skip("no half-precision products here")
    if precision == "bf16" and not measure_bf16_speedup() > 0:
        pytest.skip("this CPU does not survive bf16")
    full, half = tiny("transformer").eval(), tiny("transformer").eval()
    scale = INITIAL_LOSS_SCALE if precision == "fp16" else 1.0
    found = [
        compute_gradient(model, [[batch()]], 1, replace(CONFIG, precision=kind), loss_scale=by)
        for model, kind, by in ((full, CONFIG.precision, 1.0), (half, precision, scale))
    ]
    assert found[1] != found[0], "it was not computed in half precision"
    assert_close(found[1], found[0], rtol=0.02, atol=0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_a_run_keeps_to_the_memory_given(tmp_path: Path) -> None:
    """Peak of the whole process, validations and checkpoints included; without the limit it takes more."""
    write_pairs(tmp_path / "pairs.tsv", reversing(3000))
    sizes = [f"model.{name}={size}" for name, size in (("width", 256), ("inner", 2048), ("encoder_layers", 4))]
    settings = [*SMALL, *sizes, "training.steps=2", "training.batch_tokens=16384", "training.validate_sentences=5"]

    def peak(name: str, *more: str) -> int:
        words = [word for setting in [*settings, "decoding.max_extra_tokens=3", *more] for word in ("--set", setting)]
        code = (
            "import sys; from pathlib import Path; from tongsa.cli import main; code = main(sys.argv[1:]); "
            "lines = Path('/proc/self/status').read_text().splitlines(); "
            "print(next(int(line.split()[1]) // 1024 for line in lines if line.startswith('VmHWM'))); sys.exit(code)"
        )
        command = [sys.executable, "-c", code, "train", "--data", "pairs.tsv", "--run", name, *words]
        done = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    free = peak("free")
    limit = free * 2 // 3
    assert peak("limited", f"training.memory_limit_mib={limit}") <= limit
    losses = [
        json.loads((tmp_path / run / "journal.jsonl").read_text("utf-8").splitlines()[0]) for run in ("free", "limited")
    ]
    assert losses[0]["tokens"] == losses[1]["tokens"]
    assert losses[0]["loss"] == pytest.approx(losses[1]["loss"], abs=0.02), "only dropout differs"
