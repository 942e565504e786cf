"""A batch too large for the memory of the process is computed in micro-batches. This file is also the child process."""

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
from tongsa.tokenization.special import BOS
from tongsa.training.config import TrainingConfig
from tongsa.training.loop import DataPosition, train
from tongsa.training.loss import TrainingModel

ROWS, LENGTH = 1000, 40
MODEL = TransformerConfig(width=16, ffn_width=32, heads=4, encoder_layers=2, decoder_layers=2, dropout=0.0)


def large_batch() -> Batch:
    generator = torch.Generator().manual_seed(1)
    rows = torch.randint(4, SIZE, (ROWS, LENGTH), generator=generator).tolist()
    return Batch(pad(rows), pad([[BOS, *row[:-1]] for row in rows]), pad(rows))


class RecordingModel(nn.Module):
    """A model without dropout, so that micro-batches have the same gradient; records the size of each input."""

    def __init__(self, config: TrainingConfig) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.model, self.sizes = TrainingModel(MODEL.build(SIZE, SIZE), config), list[int]()

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        self.sizes.append(batch.source.tokens.numel())
        losses: tuple[Tensor, Tensor] = self.model(batch)
        return losses


def train_one_update(threads: int) -> tuple[float, list[Tensor], list[int]]:
    """Return the loss, the weights after one update with SGD, and the size of each forward pass."""
    config = TrainingConfig(steps=1, grad_accumulation=2, precision="fp32", device="cpu", threads=threads)
    model, batch = RecordingModel(config), large_batch()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    (result,) = train(model, iter([(DataPosition(), batch)] * 2), [optimizer], lambda _: 1.0, config)
    return result.loss, list(model.parameters()), model.sizes


def process_bytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def compare_updates(threads: int) -> None:
    """Compute one update with unlimited memory, and the same update with two thirds of what it took."""
    torch.set_num_threads(1)
    loss, weights, sizes = train_one_update(threads)
    before, peak = process_bytes("VmSize"), process_bytes("VmPeak")
    limit = before + 2 * (peak - before) // 3
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    limited_loss, limited_weights, limited_sizes = train_one_update(threads)
    pairs = zip(weights, limited_weights, strict=True)
    difference = max(float((unlimited - limited).abs().max()) for unlimited, limited in pairs)
    results = {
        "losses": [loss, limited_loss],
        "difference": difference,
        "sizes": sizes,
        "limited_sizes": limited_sizes,
    }
    sys.stdout.write(json.dumps(results))


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is computed from /proc")
@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_batch_too_large_for_the_memory_gives_the_same_update_in_micro_batches(threads: int) -> None:
    # large blocks are returned to the system: else what the first update frees is memory for the second
    child = subprocess.run(
        [sys.executable, __file__, str(threads)],
        env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    results = json.loads(child.stdout)
    assert results["sizes"] == [ROWS * LENGTH] * 2
    micro_batch_size = results["limited_sizes"][-1]
    assert micro_batch_size < ROWS * LENGTH, "the limit had no effect"
    assert sum(results["limited_sizes"][-2 * (ROWS * LENGTH // micro_batch_size) :]) == 2 * ROWS * LENGTH
    assert results["losses"][1] == pytest.approx(results["losses"][0], rel=1e-5)
    assert results["difference"] < 1e-5


if __name__ == "__main__":
    compare_updates(int(sys.argv[1]))
