"""Training runs in child processes: start one, wait for a step, stop it, compare it with an undisturbed run."""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import tongsa
from tiny import SMALL, reversing, write_pairs
from tongsa import config, runs, storage
from tongsa.training.journal import read_journal

UNLIMITED_STEPS = 1_000_000
"""A run with so many steps does not end before the test stops it, however slow the test process is."""
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(tongsa.__file__).parents[1])}
"""Children import the same tongsa as the tests."""


def write_recipe(folder: Path, settings: Sequence[str], pairs: int = 400) -> Path:
    """Write pairs.tsv and recipe.toml: the small model of `tiny` with these settings on top."""
    table: config.Table = {}
    for assignment in [*SMALL, f"data.train={write_pairs(folder / 'pairs.tsv', reversing(pairs))}", *settings]:
        config.override(table, assignment)
    storage.write_text(folder / "recipe.toml", config.dump_toml(table))
    return folder / "recipe.toml"


def start_training(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tongsa.cli", "train", *arguments]
    return subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, text=True, stderr=subprocess.PIPE)


def new_run(recipe: Path, run: str, *settings: str, workers: int = 1) -> "subprocess.Popen[str]":
    """Start `tongsa train` in the recipe's folder."""
    words = [word for setting in settings for word in ("--set", setting)]
    workers_option = ["--workers", str(workers)] if workers > 1 else []
    return start_training(recipe.parent, str(recipe), "--run", run, *workers_option, *words)


def finish(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Wait for a process; return its exit code and its messages."""
    _, messages = process.communicate(timeout=500)
    return process.returncode, messages


def finish_successfully(process: "subprocess.Popen[str]") -> str:
    code, messages = finish(process)
    assert code == 0, messages
    return messages


def journal_steps(run: Path) -> list[int]:
    return [record["step"] for record in read_journal(run / "journal.jsonl") if "loss" in record]


def journal_losses(run: Path) -> list[float]:
    """Return the losses of all updates, then those of all validations."""
    records = read_journal(run / "journal.jsonl")
    updates = [record["loss"] for record in records if "loss" in record]
    return updates + [record["validation"]["dev_loss"] for record in records if "validation" in record]


def probe_moments(run: Path) -> list[tuple[int, int]]:
    """Return step and sentence of each probe."""
    return [(record["step"], record["sentence"]) for record in read_journal(run / "probes.jsonl")]


def wait_for_step(run: Path, step: int, process: "subprocess.Popen[str]") -> None:
    """Wait until the journal has reached a step."""
    while max(journal_steps(run), default=0) < step:
        assert process.poll() is None, f"it ended before step {step}: {finish(process)[1]}"
        time.sleep(0.005)


def limit_steps(run: Path, steps: int) -> None:
    """Let a run that was started with UNLIMITED_STEPS end at this step."""
    settings = (run / "run.toml").read_text("utf-8")
    assert f"steps = {UNLIMITED_STEPS}\n" in settings
    (run / "run.toml").write_text(settings.replace(f"steps = {UNLIMITED_STEPS}\n", f"steps = {steps}\n"), "utf-8")


def train_reference(recipe: Path, steps: int, *settings: str) -> Path:
    """Train an undisturbed run with this many steps in the test process, once per recipe and settings."""
    digest = hashlib.sha256(" ".join(settings).encode()).hexdigest()[:8]
    run = recipe.parent / f"reference-{steps}-{digest}"
    if not run.exists():
        runs.train(recipe, run=run, settings=[f"training.steps={steps}", *settings], quiet=True)
    return run


def saved_bytes(run: Path, steps: int) -> dict[str, str]:
    """Return a checksum of each file of the model and of the last checkpoint's state."""
    paths = [*(run / "model").iterdir(), run / "checkpoints" / f"{steps:09d}" / "state.safetensors"]
    return {path.name: storage.file_sha256(path) for path in paths if path.name != "card.md"}  # it tells the time
