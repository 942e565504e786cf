"""One thread: tests must not depend on how many cores there are, and small products are faster so."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

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


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learnt to reverse and translate six letters, nearly always rightly."""
    folder = tmp_path_factory.mktemp("trained")
    pairs = write_pairs(folder / "pairs.tsv", reversing(3000))
    settings = [*SMALL, "training.steps=1200", "training.validate_every=600", "training.batch_tokens=512"]
    settings += [
        "training.lr.schedule=linear",
        "training.lr.peak=4e-3",
        "training.lr.warmup=50",
        "model.norm=pre",
    ]
    runs.train(run=folder / "run", data=pairs, settings=settings, quiet=True)
    return folder / "run"
