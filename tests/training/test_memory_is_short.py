"""A batch too large for what the system gives a process is computed in parts. This file is the process, too."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tiny import SIZE
from tongsa.batch import Batch, pad
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.training.config import TrainingConfig
from tongsa.training.loop import DataPosition, train
from tongsa.training.loss import TrainingModel

ROWS, LENGTH = 3000, 40
SETTINGS = TransformerConfig(width=16, ffn_width=32, heads=4, encoder_layers=2, decoder_layers=2, dropout=0.0)


def large() -> Batch:
    generator = torch.Generator().manual_seed(1)
    lines = torch.randint(4, SIZE, (ROWS, LENGTH), generator=generator).tolist()
    return Batch(pad(lines), pad([[1, *line[:-1]] for line in lines]), pad(lines))


class Seen(nn.Module):
    """A model without dropout, whose parts have the gradient of the whole; and the places that it was asked about."""

    def __init__(self, config: TrainingConfig) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.model, self.places = TrainingModel(SETTINGS.build(SIZE, SIZE), config), list[int]()

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        self.places.append(batch.source.tokens.numel())
        losses: tuple[Tensor, Tensor] = self.model(batch)
        return losses


def learnt(threads: int) -> tuple[float, list[Tensor], list[int]]:
    """Loss, weights after one update by the plain gradient, and places of each forward pass."""
    config = TrainingConfig(steps=1, grad_accumulation=2, precision="fp32", device="cpu", threads=threads)
    seen, batch = Seen(config), large()
    optimiser = torch.optim.SGD(seen.parameters(), lr=1.0)
    (step,) = train(seen, iter([(DataPosition(), batch)] * 2), [optimiser], lambda _: 1.0, config)
    return step.loss, list(seen.parameters()), seen.places


def taken(name: str) -> int:
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def compare(threads: int) -> None:
    """One update with all memory, and the same one with two thirds of what it took."""
    torch.set_num_threads(1)
    loss, weights, whole = learnt(threads)
    before, peak = taken("VmSize"), taken("VmPeak")
    limit = before + 2 * (peak - before) // 3
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    again, others, parts = learnt(threads)
    away = max(float((one - other).abs().max()) for one, other in zip(weights, others, strict=True))
    sys.stdout.write(json.dumps({"losses": [loss, again], "away": away, "whole": whole, "parts": parts}))


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is set from /proc")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_that_does_not_fit_on_a_cpu_is_computed_in_parts_with_the_same_gradient(threads: int) -> None:
    given_back = {"MALLOC_MMAP_THRESHOLD_": "65536"}  # or what the first update leaves is room for the second
    done = subprocess.run(
        [sys.executable, __file__, str(threads)],
        env=os.environ | given_back | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["whole"] == [ROWS * LENGTH] * 2
    assert found["parts"][-1] < ROWS * LENGTH, "all of it fitted"
    assert sum(found["parts"][-2 * (ROWS * LENGTH // found["parts"][-1]) :]) == 2 * ROWS * LENGTH
    assert found["losses"][1] == pytest.approx(found["losses"][0], rel=1e-5)
    assert found["away"] < 1e-5


if __name__ == "__main__":
    compare(int(sys.argv[1]))
