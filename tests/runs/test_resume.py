"""Killed and resumed gives the same bytes: with real processes and real signals."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tiny import SMALL, reversing, write_pairs

COMMAND = [sys.executable, "-m", "tongsa.cli", "train"]
STEPS = 60


def settings(*more: str) -> list[str]:
    assignments = [
        *SMALL,
        f"training.steps={STEPS}",
        "training.checkpoint_every=5",
        "training.validate_every=15",
        "training.validate_sentences=10",
        "training.ema=0.9",
        "training.average_last=2",
        "tokenizer.subword_regularization=0.3",
        "training.lr.warmup=10",
        *more,
    ]
    return [word for assignment in assignments for word in ("--set", assignment)]


def start(*arguments: str, cwd: Path) -> "subprocess.Popen[str]":
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen([*COMMAND, *arguments], cwd=cwd, env=environment, text=True, stderr=subprocess.PIPE)


def finish(process: "subprocess.Popen[str]") -> tuple[int, str]:
    _, messages = process.communicate(timeout=300)
    return process.returncode, messages


def wait_for(folder: Path, step: int, process: "subprocess.Popen[str]") -> None:
    """Until the journal has reached a step; then the caller strikes at once."""
    journal = folder / "journal.jsonl"
    while process.poll() is None:
        lines = journal.read_text("utf-8").splitlines() if journal.exists() else []
        if any(f'"step": {step}' in line for line in lines):
            return
        time.sleep(0.002)


def bytes_of(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in [*(folder / "model").iterdir(), folder / "checkpoints" / f"{STEPS:09d}" / "state.safetensors"]
        if path.name != "card.md"
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write_pairs(folder / "pairs.tsv", reversing(400))
    code, messages = finish(start("--data", "pairs.tsv", "--run", "whole", *settings(), cwd=folder))
    assert code == 0, messages
    return folder


def test_killed_at_random_moments_and_resumed_a_run_ends_in_the_same_bytes(undisturbed: Path) -> None:
    generator = random.Random(os.urandom(8))
    moments = sorted(generator.sample(range(2, STEPS - 5), 3))
    run = undisturbed / "killed"
    process = start("--data", "pairs.tsv", "--run", "killed", *settings(), cwd=undisturbed)
    for moment in moments:
        wait_for(run, moment, process)
        time.sleep(generator.random() * 0.05)  # in the middle of a step, a validation, a snapshot
        process.send_signal(signal.SIGKILL)
        assert finish(process)[0] == -signal.SIGKILL, f"over before it was killed at {moment}"
        process = start("--resume", "killed", cwd=undisturbed)
    code, messages = finish(process)
    assert code == 0, messages
    assert bytes_of(run) == bytes_of(undisturbed / "whole"), f"killed at {moments}"
    records = [json.loads(line) for line in (run / "journal.jsonl").read_text("utf-8").splitlines()]
    assert [record["step"] for record in records if "loss" in record] == list(range(1, STEPS + 1))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_saves_says_how_to_go_on_and_does(undisturbed: Path, number: signal.Signals) -> None:
    run = undisturbed / number.name
    process = start(
        "--data", "pairs.tsv", "--run", number.name, *settings("training.checkpoint_every=1000"), cwd=undisturbed
    )
    wait_for(run, 20, process)
    process.send_signal(number)
    code, messages = finish(process)
    assert code == 130
    assert f"tongsa train --resume {number.name}" in messages
    (saved,) = (run / "checkpoints").iterdir()
    assert 20 <= int(saved.name) <= 25, "the work since the last snapshot was lost"
    code, messages = finish(start("--resume", number.name, cwd=undisturbed))
    assert code == 0, messages
    assert bytes_of(run) == bytes_of(undisturbed / "whole")


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) * 2 // 3] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("harm", [cut_in_half, flip_a_bit, Path.unlink])
@pytest.mark.parametrize("name", ["state.safetensors", "progress.json"])
def test_a_damaged_snapshot_is_recognised_and_the_one_before_it_used(
    undisturbed: Path, harm: object, name: str
) -> None:
    from tongsa.training import checkpoint

    copied = undisturbed / "damaged"
    shutil.copytree(undisturbed / "whole" / "checkpoints", copied)
    newest = max(copied.iterdir())
    harm(newest / name)  # type: ignore[operator]
    found, remarks = checkpoint.latest_checkpoint(copied)
    shutil.rmtree(copied)
    assert found is not None
    assert found.progress.step == STEPS - 5
    assert str(newest) in remarks[0]
    assert "damaged" in remarks[0]


def test_a_run_over_a_torn_snapshot_ends_in_the_same_bytes(undisturbed: Path) -> None:
    shutil.copytree(undisturbed / "whole", undisturbed / "torn")
    cut_in_half(undisturbed / "torn" / "checkpoints" / f"{STEPS:09d}" / "state.safetensors")
    code, messages = finish(start("--resume", "torn", cwd=undisturbed))
    assert code == 0, messages
    assert "damaged" in messages
    assert bytes_of(undisturbed / "torn") == bytes_of(undisturbed / "whole")


def test_a_run_does_not_go_on_with_other_data(undisturbed: Path) -> None:
    shutil.copytree(undisturbed / "whole", undisturbed / "other")
    pairs = undisturbed / "pairs.tsv"
    original = pairs.read_bytes()
    pairs.write_bytes(original + b"a\tb\n")
    code, messages = finish(start("--resume", "other", cwd=undisturbed))
    pairs.write_bytes(original)
    assert code == 2
    assert "pairs.tsv: changed since this run began" in messages
