"""Fifty random faults (kills, stops, full disks, damaged checkpoints, NaN losses) change no byte of the result."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from processes import ENVIRONMENT, finish_successfully, journal_steps, saved_bytes, start_training, write_recipe
from tongsa.training import checkpoint
from tongsa.training.checkpoint_files import DamagedCheckpointError, read_record

STEPS, CHECKPOINT_EVERY, FAULTS = 1200, 5, 50
SETTINGS = [
    f"training.steps={STEPS}",
    f"training.checkpoint_every={CHECKPOINT_EVERY}",
    "training.keep_checkpoints=3",
    "training.validate_every=60",
    "training.validate_sentences=5",
    "training.optimizer=muon",
    "training.ema=0.9",
    "tokenizer.subword_regularization=0.3",
    "decoding.max_extra_tokens=3",
]
NAN_SCRIPT = """
import sys
import torch
from tongsa.training import loop

batch_loss, countdown = loop._batch_loss, [int(sys.argv.pop(1))]

def nan_loss(*arguments):
    countdown[0] -= 1
    loss, plain = batch_loss(*arguments)
    return (loss * torch.nan, plain * torch.nan) if countdown[0] in (0, -1) else (loss, plain)

loop._batch_loss = nan_loss
from tongsa.cli import main
sys.exit(main())
"""
"""Training whose loss is NaN twice in a row, as with faulty memory."""


def start(run: Path, *program: str, max_file_bytes: int | None = None) -> "subprocess.Popen[str]":
    """Start or resume the run, with a limit on the size of files."""

    def limit_file_size() -> None:
        if max_file_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))

    is_new = not (run / "run.toml").exists()
    arguments = [str(run.parent / "recipe.toml"), "--run", run.name] if is_new else ["--resume", run.name]
    return subprocess.Popen(
        [sys.executable, *(program or ("-m", "tongsa.cli")), "train", *arguments],
        cwd=run.parent,
        env=ENVIRONMENT,
        text=True,
        stderr=subprocess.PIPE,
        preexec_fn=limit_file_size,
    )


def wait_for_updates(run: Path, process: "subprocess.Popen[str]", count: int) -> None:
    """Wait until the journal has this many more updates."""
    first = None
    while process.poll() is None:
        last = max(journal_steps(run), default=0)
        first = last if first is None else min(first, last)  # resuming first truncates the journal
        if last >= first + count:
            return
        time.sleep(0.002)


def send_signal(signum: signal.Signals) -> Callable[[Path, random.Random], None]:
    def fault(run: Path, generator: random.Random) -> None:
        process = start(run)
        wait_for_updates(run, process, generator.randint(1, 2 * CHECKPOINT_EVERY))
        time.sleep(generator.random() * 0.02)
        process.send_signal(signum)
        _, messages = process.communicate(timeout=120)
        assert process.returncode in {-signum, 130}, f"it ended by itself: {messages}"
        saved = int(checkpoint_folders(run)[-1].name) if checkpoint_folders(run) else 0
        lost = max(journal_steps(run), default=0) - saved
        assert lost <= (CHECKPOINT_EVERY if signum == signal.SIGKILL else 0), f"{lost} steps are lost"

    return fault


def fill_disk(run: Path, generator: random.Random) -> None:
    """Limit the size of files: writing the journal, the tokenizer or a checkpoint fails in the middle."""
    small, large = generator.randrange(300, 3_000), generator.randrange(20_000, 400_000)
    process = start(run, max_file_bytes=generator.choice([small, large]))
    _, messages = process.communicate(timeout=120)
    assert process.returncode == 2, messages
    assert "larger than the disk" in messages
    assert "Traceback" not in messages


def checkpoint_folders(run: Path) -> list[Path]:
    checkpoints = run / "checkpoints"
    return sorted(path for path in checkpoints.iterdir() if path.name.isdigit()) if checkpoints.exists() else []


def damage_file(path: Path, damage: Callable[[bytes], bytes]) -> None:
    """Damage the newest checkpoint, which was intact; afterwards the one before it is used."""
    folder = path.parent.parent
    intact, messages = checkpoint.latest_checkpoint(folder)
    assert intact is not None and not messages and intact.progress.step == int(path.parent.name)
    path.write_bytes(damage(path.read_bytes()))
    previous, messages = checkpoint.latest_checkpoint(folder)
    assert previous is not None and messages and previous.progress.step < intact.progress.step


def truncate_checkpoint(run: Path, generator: random.Random) -> None:
    path = checkpoint_folders(run)[-1] / generator.choice(["state.safetensors", "progress.json"])
    damage_file(path, lambda content: content[: generator.randrange(len(content))])


def flip_bit_of_checkpoint(run: Path, generator: random.Random) -> None:
    def flip_bit(content: bytes) -> bytes:
        flipped = bytearray(content)
        flipped[generator.randrange(len(flipped))] ^= 1 << generator.randrange(8)
        return bytes(flipped)

    damage_file(checkpoint_folders(run)[-1] / "state.safetensors", flip_bit)


def return_nan(run: Path, generator: random.Random) -> None:
    script = run.parent / "nan_loss.py"
    script.write_text(NAN_SCRIPT, "utf-8")
    process = start(run, str(script), str(generator.randint(1, 2 * CHECKPOINT_EVERY)))
    _, messages = process.communicate(timeout=120)
    assert process.returncode == 2, messages
    assert "Traceback" not in messages
    assert "the loss is nan" in messages


KINDS_OF_FAULT = {
    "kill": send_signal(signal.SIGKILL),
    "stop": send_signal(signal.SIGTERM),
    "full disk": fill_disk,
    "truncated checkpoint": truncate_checkpoint,
    "flipped bit": flip_bit_of_checkpoint,
    "nan": return_nan,
}


def can_damage(run: Path) -> bool:
    """Return whether the two newest checkpoints are intact: one may be damaged, the other is needed to resume."""
    folders = checkpoint_folders(run)[-2:]
    return len(folders) == 2 and all(is_intact(folder) for folder in folders)


def is_intact(folder: Path) -> bool:
    try:
        read_record(folder)
    except DamagedCheckpointError:
        return False
    return True


@pytest.mark.slow  # fifty processes, one after another
@pytest.mark.timeout(3000)
def test_fifty_faults_change_no_byte_and_lose_no_step_before_the_last_checkpoint(tmp_path: Path) -> None:
    write_recipe(tmp_path, SETTINGS)
    undisturbed, run = tmp_path / "undisturbed", tmp_path / "faulty"
    finish_successfully(start(undisturbed))
    seed = int.from_bytes(os.urandom(4), "big")
    generator = random.Random(seed)
    kinds = [*KINDS_OF_FAULT] * -(-FAULTS // len(KINDS_OF_FAULT))
    generator.shuffle(kinds)
    for count, kind in enumerate(kinds):
        while kind in ("truncated checkpoint", "flipped bit") and not can_damage(run):
            KINDS_OF_FAULT["stop"](run, generator)
        before = [folder for folder in checkpoint_folders(run) if is_intact(folder)][-1:]  # resume deletes the others
        KINDS_OF_FAULT[kind](run, generator)
        assert set(before) <= set(checkpoint_folders(run)) or len(checkpoint_folders(run)) == 3, (
            f"a checkpoint was lost: seed {seed}, fault {count}, {kind}"
        )
    finish_successfully(start_training(tmp_path, "--resume", run.name))
    assert saved_bytes(run, STEPS) == saved_bytes(undisturbed, STEPS), f"seed {seed}"
    assert journal_steps(run) == list(range(1, STEPS + 1))
    records = [json.loads(line) for line in (run / "journal.jsonl").read_text("utf-8").splitlines()]
    assert len(records) == len({json.dumps(record, sort_keys=True) for record in records})
