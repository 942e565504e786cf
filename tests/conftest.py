"""Shared set-up: one torch thread per process, seeded hypothesis in CI, one trained model per test process."""

import os

# before torch is imported, and inherited by child processes: test processes already use all cores
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

from pathlib import Path

import pytest
import torch
from hypothesis import settings

import tongsa
from tiny import SMALL, reversing, write_pairs
from tongsa import runs

# Subprocesses start in temporary folders: with a relative PYTHONPATH they would import another installation.
os.environ["PYTHONPATH"] = str(Path(tongsa.__file__).parents[1])
torch.set_num_threads(1)
settings.register_profile("tongsa", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("tongsa")

TRAINED_SETTINGS = [
    *SMALL,
    "model.norm=pre",
    "model.dropout=0",
    "training.steps=500",
    "training.validate_every=250",
    "training.batch_tokens=512",
    "training.lr.schedule=linear",
    "training.lr.peak=8e-3",
    "training.lr.warmup=50",
]


@pytest.fixture(scope="session", name="trained")
def trained_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that translates and reverses sequences of six letters almost without errors. Do not modify it."""
    folder = tmp_path_factory.mktemp("trained")
    pairs = write_pairs(folder / "pairs.tsv", reversing(3000))
    runs.train(run=folder / "run", data=pairs, settings=TRAINED_SETTINGS, quiet=True)
    return folder / "run"
