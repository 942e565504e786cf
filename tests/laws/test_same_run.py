"""Every kind goes on from a snapshot to the same bytes; tests/experiment/test_resume.py does it with real signals."""

import random
import shutil
from pathlib import Path

import pytest

from tiny import CONFIGS, kind_of, reversing, write_pairs
from tongsa import config, runs, storage

STEPS = 6


def rows(task: str) -> list[tuple[str, str]]:
    pairs, generator = reversing(80), random.Random(3)
    return [(source, generator.choice(["가", "나"])) for source, _ in pairs] if task == "classification" else pairs


def recipe(name: str, folder: Path) -> Path:
    task = CONFIGS[name].task
    data = write_pairs(folder / "data.tsv", rows(task))
    if task == "language_model":
        data = folder / "data.txt"
        data.write_text("\n".join(target for _, target in rows(task)) + "\n", "utf-8")
    tables = {
        "data": {"train": str(data), "max_tokens": 40},
        "tokenizer": {"vocab_size": 300},
        "model": {"kind": kind_of(name)} | config.to_table(CONFIGS[name]),
        "training": {
            "steps": STEPS,
            "checkpoint_every": STEPS // 2,
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
def test_a_run_goes_on_to_the_same_bytes(name: str, tmp_path: Path) -> None:
    run, last = tmp_path / "run", f"{STEPS:09d}"
    runs.train(recipe(name, tmp_path), run=run, quiet=True)
    weights = (run / "model" / "weights.safetensors").read_bytes()
    state = (run / "checkpoints" / last / "state.safetensors").read_bytes()
    shutil.rmtree(run / "checkpoints" / last)
    runs.resume(run, quiet=True)
    assert (run / "checkpoints" / last / "state.safetensors").read_bytes() == state
    assert (run / "model" / "weights.safetensors").read_bytes() == weights
