"""Exact resume of each kind of model; tests/runs/test_resume.py does it with real signals."""

import random
import shutil
from pathlib import Path

import pytest

from tiny import CONFIGS, kind_of, reversing, write_pairs
from tongsa import config, runs, storage
from tongsa.interface import Task

STEPS = 6


def write_data(folder: Path, task: Task) -> Path:
    pairs, generator = reversing(80), random.Random(3)
    if task == "language_model":
        storage.write_text(folder / "data.txt", "\n".join(target for _, target in pairs) + "\n")
        return folder / "data.txt"
    if task == "classification":
        pairs = [(source, generator.choice(["가", "나"])) for source, _ in pairs]
    return write_pairs(folder / "data.tsv", pairs)


def write_recipe(name: str, folder: Path) -> Path:
    data = write_data(folder, CONFIGS[name].task)
    tables = {
        "data": {"train": str(data), "max_tokens": 40},
        "tokenizer": {"vocab_size": 300},
        "model": {"kind": kind_of(name)} | config.to_table(CONFIGS[name]),
        "training": {
            "steps": STEPS,
            "checkpoint_every": STEPS // 2,
            "keep_checkpoints": 2,
            "validate_every": 2,
            "validate_sentences": 3,
            "batch_tokens": 128,
            "optimizer": "muon",
            "ema": 0.9,
            "precision": "fp32",
            "threads": 1,
            "lr": {"warmup": 2},
        },
        "decoding": {"max_extra_tokens": 3},
    }
    storage.write_text(folder / "recipe.toml", config.dump_toml(tables))
    return folder / "recipe.toml"


@pytest.mark.parametrize("name", CONFIGS)
def test_resume_gives_identical_bytes(name: str, tmp_path: Path) -> None:
    run, last = tmp_path / "run", f"{STEPS:09d}"
    runs.train(write_recipe(name, tmp_path), run=run, quiet=True)
    weights = (run / "model" / "weights.safetensors").read_bytes()
    state = (run / "checkpoints" / last / "state.safetensors").read_bytes()
    shutil.rmtree(run / "checkpoints" / last)
    runs.resume(run, quiet=True)
    assert (run / "checkpoints" / last / "state.safetensors").read_bytes() == state
    assert (run / "model" / "weights.safetensors").read_bytes() == weights
