"""torch.compile: the same gradients, and exact resume."""

import shutil
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from tiny import SIZE, SMALL, reversing, write_pairs
from tongsa import runs
from tongsa.batch import Batch, pad
from tongsa.models.transformer.seq2seq import TransformerConfig
from tongsa.tokenization.special import BOS
from tongsa.training import journal
from tongsa.training.config import TrainingConfig
from tongsa.training.distributed import SINGLE_PROCESS
from tongsa.training.loop import compute_gradient
from tongsa.training.loss import TrainingModel

pytestmark = [
    pytest.mark.slow,  # the compiler takes most of a minute
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),  # of torch's compiler
]


def test_a_compiled_model_has_the_same_gradients() -> None:
    config = TrainingConfig(steps=3, precision="fp32", device="cpu", compile=True)
    model = TransformerConfig(width=16, ffn_width=32, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0)
    gradients = []
    for compiled in (False, True):
        torch.manual_seed(3)
        wrapped = SINGLE_PROCESS.wrap_model(
            TrainingModel(model.build(SIZE, SIZE), config), torch.device("cpu"), shard=False, compiled=compiled
        )
        for length in (4, 7):  # one graph for both lengths
            rows = [[4 + row, *range(5, 4 + length)] for row in range(length)]
            batch = Batch(pad(rows), pad([[BOS, *row[:-1]] for row in rows]), pad(rows))
            compute_gradient(wrapped.train(), [[batch]], 1, config)
        gradients.append({name: value.grad for name, value in wrapped.named_parameters()})
    assert_close(gradients[1], gradients[0])


def test_a_compiled_run_with_dropout_learns_and_resumes_to_identical_bytes(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.tsv", reversing(200))
    settings = [*SMALL, "training.compile=true", "training.steps=12", "training.checkpoint_every=6"]
    settings += ["training.keep_checkpoints=2"]
    run = tmp_path / "run"
    runs.train(data=pairs, run=run, settings=settings, quiet=True)
    losses = [record["loss"] for record in journal.read_journal(run / "journal.jsonl") if "loss" in record]
    assert losses[-1] < losses[0]
    last = run / "checkpoints" / f"{12:09d}"
    state = (last / "state.safetensors").read_bytes()
    shutil.rmtree(last)
    runs.resume(run, quiet=True)
    assert (last / "state.safetensors").read_bytes() == state
