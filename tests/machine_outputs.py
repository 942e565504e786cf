"""Outputs of a small training and of a given model on one machine, as JSON: run with other instruction sets.

Usage: python machine_outputs.py MODEL CHECKPOINTED_RUN PAIRS FOLDER THREADS
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

import torch

from tiny import SMALL, reversing
from tongsa import runs, storage
from tongsa.bundle import load_bundle
from tongsa.runs.run import open_run

STEPS = 20
SETTINGS = [*SMALL, f"training.steps={STEPS}", "training.checkpoint_every=10", "training.keep_checkpoints=2"]
SETTINGS += ["training.batch_tokens=2048", "training.validate_every=10", "decoding.max_extra_tokens=3"]
"""A batch of 2,048 tokens is split into two, which two threads compute in parallel."""


def main(model: Path, interrupted: Path, pairs: Path, folder: Path, threads: int) -> None:
    torch.set_num_threads(threads)
    settings = [setting for setting in SETTINGS if not setting.startswith("training.threads=")]
    settings.append(f"training.threads={threads}")
    runs.train(data=pairs, run=folder / "run", settings=settings, quiet=True)
    resumed = Path(shutil.copytree(interrupted, folder / "resumed"))
    step = runs.resume(resumed, quiet=True).step
    translator, texts = load_bundle(model).translator(), [source for source, _ in reversing(200, seed=9)]
    results = translator.translate(texts)
    state = f"checkpoints/{STEPS:09d}/state.safetensors"
    outputs = {
        "capability": torch.backends.cpu.get_cpu_capability(),
        "tokenizer": storage.file_sha256(folder / "run/tokenizer/source.model"),
        "dev set": sorted(map(str, open_run(folder / "run").data.dev)),
        "initial weights": _digest(open_run(folder / "run").bundle.model.state_dict()),
        "trained weights": storage.file_sha256(folder / "run" / state),
        "resumed weights": storage.file_sha256(resumed / state),
        "resumed step": step,
        "translations": [result.text for result in results],
        "scores": [result.score for result in results],
        "loaded weights": _digest(translator.model.state_dict()),
    }
    json.dump(outputs, sys.stdout)


def _digest(tensors: dict[str, torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(name.encode())
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    model, interrupted, pairs, folder = map(Path, sys.argv[1:5])
    main(model, interrupted, pairs, folder, int(sys.argv[5]))
