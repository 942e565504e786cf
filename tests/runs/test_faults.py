"""Fifty faults at random moments: killed, stopped, out of disk, checkpoints torn, numbers lost. No byte differs."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tiny import SMALL, reversing, write_pairs
from tongsa.training import checkpoint

STEPS, EVERY, FAULTS = 1200, 5, 50
SETTINGS = [
    *SMALL,
    f"training.steps={STEPS}",
    f"training.checkpoint_every={EVERY}",
    "training.keep_checkpoints=3",
    "training.validate_every=60",
    "training.validate_sentences=5",
    "training.optimizer=muon",
    "training.ema=0.9",
    "tokenizer.subword_regularization=0.3",
    "decoding.max_extra_tokens=3",
]
POISON = """
import sys
import torch
from tongsa.training import loop

whole, left = loop._loss, [int(sys.argv.pop(1))]

def poisoned(*arguments):
    left[0] -= 1
    loss, plain = whole(*arguments)
    return (loss * torch.nan, plain * torch.nan) if left[0] in (0, -1) else (loss, plain)

loop._loss = poisoned
from tongsa.cli import main
sys.exit(main())
"""
"""A worker whose arithmetic fails twice in a row, as a faulty memory would have it."""


def command(run: Path) -> list[str]:
    if (run / "run.toml").exists():
        return ["train", "--resume", run.name]
    return ["train", "--data", "pairs.tsv", "--run", run.name, *(w for s in SETTINGS for w in ("--set", s))]


def start(run: Path, *before: str, limit: int | None = None) -> "subprocess.Popen[str]":
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit or 0, limit or 0))

    return subprocess.Popen(
        [sys.executable, *(before or ("-m", "tongsa.cli")), *command(run)],
        cwd=run.parent,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        text=True,
        stderr=subprocess.PIPE,
        preexec_fn=limited if limit else None,
    )


def steps(run: Path) -> list[int]:
    journal = run / "journal.jsonl"
    lines = journal.read_text("utf-8").splitlines() if journal.exists() else []
    return [int(line.split(",")[0].removeprefix('{"step": ')) for line in lines if '"loss"' in line]


def run_for(run: Path, process: "subprocess.Popen[str]", count: int) -> None:
    """Until so many more steps are in the journal."""
    began = None
    while process.poll() is None:
        now = max(steps(run), default=0)
        began = now if began is None else min(began, now)  # on resuming, the journal is taken back first
        if now >= began + count:
            return
        time.sleep(0.002)


def struck(number: signal.Signals) -> Callable[[Path, random.Random], None]:
    def strike(run: Path, chance: random.Random) -> None:
        process = start(run)
        run_for(run, process, chance.randint(1, 2 * EVERY))
        time.sleep(chance.random() * 0.02)
        process.send_signal(number)
        _, messages = process.communicate(timeout=120)
        assert process.returncode in {-number, 130}, f"it ended by itself: {messages}"
        saved = int(newest(run)[-1].name) if newest(run) else 0
        lost = max(steps(run), default=0) - saved
        assert lost <= (EVERY if number == signal.SIGKILL else 0), f"{lost} steps are lost"

    return strike


def full_disk(run: Path, chance: random.Random) -> None:
    """No file may grow beyond some size: the write of a journal, of pieces or of a snapshot fails in the middle."""
    small, large = chance.randrange(300, 3_000), chance.randrange(20_000, 400_000)
    process = start(run, limit=chance.choice([small, large]))
    _, messages = process.communicate(timeout=120)
    assert process.returncode == 2, messages
    assert "larger than the disk" in messages
    assert "Traceback" not in messages


def newest(run: Path) -> list[Path]:
    checkpoints = run / "checkpoints"
    return sorted(path for path in checkpoints.iterdir() if path.name.isdigit()) if checkpoints.exists() else []


def damaged(path: Path, damage: Callable[[bytes], bytes]) -> None:
    """The newest snapshot is whole before, and passed over after."""
    folder = path.parent.parent
    whole, remarks = checkpoint.latest_checkpoint(folder)
    assert whole is not None and not remarks and whole.progress.step == int(path.parent.name)
    path.write_bytes(damage(path.read_bytes()))
    found, remarks = checkpoint.latest_checkpoint(folder)
    assert found is not None and remarks and found.progress.step < whole.progress.step


def torn(run: Path, chance: random.Random) -> None:
    path = newest(run)[-1] / chance.choice(["state.safetensors", "progress.json"])
    damaged(path, lambda content: content[: chance.randrange(len(content))])


def corrupted(run: Path, chance: random.Random) -> None:
    def flipped(content: bytes) -> bytes:
        found = bytearray(content)
        found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
        return bytes(found)

    damaged(newest(run)[-1] / "state.safetensors", flipped)


def numbers_lost(run: Path, chance: random.Random) -> None:
    script = run.parent / "poison.py"
    script.write_text(POISON, "utf-8")
    process = start(run, str(script), str(chance.randint(1, 2 * EVERY)))
    _, messages = process.communicate(timeout=120)
    assert process.returncode == 2, messages
    assert "Traceback" not in messages
    assert "the loss is nan" in messages


def finish(run: Path) -> None:
    process = start(run)
    _, messages = process.communicate(timeout=600)
    assert process.returncode == 0, messages


KINDS_OF_FAULT = {
    "killed": struck(signal.SIGKILL),
    "stopped": struck(signal.SIGTERM),
    "full disk": full_disk,
    "torn": torn,
    "corrupted": corrupted,
    "numbers lost": numbers_lost,
}


def ready(run: Path) -> bool:
    """Whether there are a newest snapshot, which is whole, and one behind it."""
    return len(newest(run)) > 1 and not checkpoint.latest_checkpoint(run / "checkpoints")[1]


def bytes_of(run: Path) -> list[bytes]:
    return [
        (run / name).read_bytes() for name in ("model/weights.safetensors", f"checkpoints/{STEPS:09d}/state.safetensors")
    ]


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_fifty_faults_change_no_byte_and_lose_no_step_beyond_the_last_snapshot(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.tsv", reversing(400))
    undisturbed, run = tmp_path / "undisturbed", tmp_path / "faulty"
    finish(undisturbed)
    seed = int.from_bytes(os.urandom(4), "big")
    chance = random.Random(seed)
    kinds = [*KINDS_OF_FAULT] * -(-FAULTS // len(KINDS_OF_FAULT))
    chance.shuffle(kinds)
    for count, kind in enumerate(kinds):
        while kind in ("torn", "corrupted") and not ready(run):
            KINDS_OF_FAULT["stopped"](run, chance)
        before = newest(run)[-1:]
        KINDS_OF_FAULT[kind](run, chance)
        assert set(before) <= set(newest(run)) or len(newest(run)) == 3, (
            f"a snapshot was lost: seed {seed}, fault {count}, {kind}"
        )
    finish(run)
    assert bytes_of(run) == bytes_of(undisturbed), f"seed {seed}"
    assert steps(run) == list(range(1, STEPS + 1))
    records = [json.loads(line) for line in (run / "journal.jsonl").read_text("utf-8").splitlines()]
    assert len(records) == len({json.dumps(record, sort_keys=True) for record in records})
    shutil.rmtree(run)
