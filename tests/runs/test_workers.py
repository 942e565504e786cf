"""Any number of workers gives the same run: real processes, real sockets, both of torch's engines."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from torch.testing import assert_close

from tiny import SMALL, reversing, write_pairs
from tongsa.cli import worker_processes as launcher

STEPS = 12
SETTINGS = [
    *SMALL,
    f"training.steps={STEPS}",
    "training.grad_accumulation=4",
    "training.checkpoint_every=4",
    "training.keep_checkpoints=3",
    "training.validate_every=6",
    "training.validate_sentences=5",
    "training.optimizer=muon",
    "training.ema=0.9",
    "training.clip_grad_norm=1.0",
    "tokenizer.subword_regularization=0.3",
    "decoding.max_extra_tokens=3",
]


def train(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tongsa.cli", "train", *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=folder, env=environment, text=True, stderr=subprocess.PIPE)


def finished(process: "subprocess.Popen[str]") -> tuple[int, str]:
    _, messages = process.communicate(timeout=300)
    return process.returncode, messages


def begin(folder: Path, run: str, workers: int, *settings: str) -> "subprocess.Popen[str]":
    words = [word for setting in [*SETTINGS, *settings] for word in ("--set", setting)]
    return train(folder, "--data", "pairs.tsv", "--run", run, "--workers", str(workers), *words)


def losses(run: Path, count: int = STEPS) -> list[float]:
    """Of every update, then of every validation."""
    records = [json.loads(line) for line in (run / "journal.jsonl").read_text("utf-8").splitlines()]
    steps = [record for record in records if "loss" in record]
    assert [record["step"] for record in steps] == list(range(1, count + 1))
    return [record["loss"] for record in steps] + [r["validation"]["dev_loss"] for r in records if "validation" in r]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workers")
    write_pairs(folder / "pairs.tsv", reversing(400))
    code, messages = finished(begin(folder, "alone", 1))
    assert code == 0, messages
    return folder


def assert_same_run(one: Path, other: Path) -> None:
    assert_close(losses(one), losses(other), rtol=0, atol=1e-4)


slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("workers", "shard"),
    [(2, False), (4, False), (2, True), pytest.param(3, False, marks=slow), pytest.param(4, True, marks=slow)],
)
def test_workers_share_an_update_and_change_nothing(alone: Path, workers: int, shard: bool) -> None:
    run = alone / f"{workers}-{shard}"
    code, messages = finished(begin(alone, run.name, workers, f"training.shard={str(shard).lower()}"))
    assert code == 0, messages
    assert_same_run(alone / "alone", run)
    assert messages.count("done: 12 steps") == 1, "every worker speaks"
    assert not list(run.rglob("*.pt")) and not list(run.rglob("*.distcp")), "a pickle was written"
    if shard:
        assert len(list((run / "checkpoints" / f"{STEPS:09d}").glob("*.safetensors"))) == workers


@pytest.mark.parametrize(
    ("before", "after", "shard"),
    [
        (2, 1, False),
        (2, 4, True),
        pytest.param(1, 4, False, marks=slow),
        pytest.param(2, 4, False, marks=slow),
        pytest.param(2, 1, True, marks=slow),
    ],
)
def test_a_run_goes_on_on_another_number_of_workers(alone: Path, before: int, after: int, shard: bool) -> None:
    run = alone / f"{before}-to-{after}-{shard}"
    code, messages = finished(begin(alone, run.name, before, f"training.shard={str(shard).lower()}"))
    assert code == 0, messages
    for step in (8, 12):
        shutil.rmtree(run / "checkpoints" / f"{step:09d}")
    code, messages = finished(train(alone, "--resume", run.name, "--workers", str(after)))
    assert code == 0, messages
    assert_same_run(alone / "alone", run)


def test_a_snapshot_with_a_corrupted_or_a_lost_shard_is_passed_over_by_all_workers(alone: Path) -> None:
    code, messages = finished(begin(alone, "shards", 2, "training.shard=true"))
    assert code == 0, messages
    whole = (alone / "shards" / "model" / "weights.safetensors").read_bytes()
    newest, before = (alone / "shards" / "checkpoints" / f"{step:09d}" for step in (12, 8))
    _, shard = sorted(newest.glob("*.safetensors"))  # that of the second worker; the first reads its own alone
    content = bytearray(shard.read_bytes())
    content[-7] ^= 1
    shard.write_bytes(content)
    sorted(before.glob("*.safetensors"))[1].unlink()
    code, messages = finished(train(alone, "--resume", "shards", "--workers", "2"))
    assert code == 0, messages
    assert f"{newest.name}: damaged (the checksum of {shard.name} is wrong)" in messages
    assert f"{before.name}: damaged" in messages
    assert_same_run(alone / "alone", alone / "shards")
    assert (alone / "shards" / "model" / "weights.safetensors").read_bytes() == whole


def test_two_workers_killed_and_resumed_end_in_the_same_bytes(alone: Path) -> None:
    process = begin(alone, "whole", 2)
    code, messages = finished(process)
    assert code == 0, messages
    process = begin(alone, "killed", 2)
    journal = alone / "killed" / "journal.jsonl"
    while process.poll() is None and not (journal.exists() and '"step": 6' in journal.read_text("utf-8")):
        time.sleep(0.01)
    victim = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii").split()[-1]
    os.kill(int(victim), signal.SIGKILL)
    code, messages = finished(process)
    assert code == 1
    assert "was killed (SIGKILL)" in messages
    assert "--resume" in messages
    assert "Traceback" not in messages
    code, messages = finished(train(alone, "--resume", "killed", "--workers", "2"))
    assert code == 0, messages
    for name in ("model/weights.safetensors", f"checkpoints/{STEPS:09d}/state.safetensors"):
        assert (alone / "killed" / name).read_bytes() == (alone / "whole" / name).read_bytes(), name


def test_a_stop_asked_of_the_launcher_saves_in_all_workers(alone: Path) -> None:
    process = begin(alone, "stopped", 2, "training.checkpoint_every=1000")
    journal = alone / "stopped" / "journal.jsonl"
    while process.poll() is None and not (journal.exists() and '"step": 3' in journal.read_text("utf-8")):
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    code, messages = finished(process)
    assert code == 130, messages
    assert messages.count("go on with: tongsa train --resume stopped") == 1
    code, messages = finished(train(alone, "--resume", "stopped", "--workers", "2"))
    assert code == 0, messages
    assert_same_run(alone / "alone", alone / "stopped")


def test_a_mistake_is_told_once_with_exit_code_2(alone: Path) -> None:
    code, messages = finished(train(alone, "--data", "no.tsv", "--run", "no", "--workers", "2"))
    assert code == 2
    assert messages.count("no.tsv") == 1
    assert "Traceback" not in messages


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        (["exit 2", "sleep 0.3; exit 1"], 0),
        (["sleep 0.3; exit 2", "exit 1"], 0),  # the others may see it go before it has gone
        (["exit 2", "exit 1"], 0),
        (["exit 1", "exit 2"], 1),
        (["exit 2", "exit 2"], 0),
        (["sleep 0.3; exit 1", "kill -9 $$"], 1),
        (["exit 2", "sleep 0.3; kill -9 $$"], 1),
        (["exit 1", "sleep 0.3; exit 130"], 1),
        (["exit 0", "exit 0"], 0),
    ],
)
def test_the_worker_that_explains_the_end_is_named_whoever_ends_first(ends: list[str], told: int) -> None:
    assert launcher.wait_for_workers([subprocess.Popen(["/bin/sh", "-c", end]) for end in ends]) == told


def test_a_worker_that_does_not_stop_with_the_others_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "SHUTDOWN_TIMEOUT_SECONDS", 0.3)
    workers = [subprocess.Popen(["/bin/sh", "-c", end]) for end in ("exit 1", "sleep 600")]
    assert launcher.wait_for_workers(workers) == 0
    assert workers[1].returncode == -signal.SIGKILL


def test_more_workers_than_batches_in_an_update_are_refused(alone: Path) -> None:
    code, messages = finished(train(alone, "--resume", "alone", "--workers", "5"))
    assert code == 2
    assert "4 batches" in messages
    assert "take at most so many" in messages


def test_workers_that_keep_parts_of_a_model_need_equally_many_batches(alone: Path) -> None:
    shutil.copytree(alone / "alone", alone / "parts")
    settings = (alone / "parts" / "run.toml").read_text("utf-8")
    (alone / "parts" / "run.toml").write_text(settings.replace("shard = false", "shard = true"), "utf-8")
    code, messages = finished(train(alone, "--resume", "parts", "--workers", "3"))
    assert code == 2
    assert "take a divisor of it" in messages


def test_a_new_run_cuts_its_update_so_that_every_worker_has_a_batch(alone: Path) -> None:
    code, messages = finished(begin(alone, "cut", 2, "training.grad_accumulation=1", "training.steps=2"))
    assert code == 0, messages
    settings = (alone / "cut" / "run.toml").read_text("utf-8")
    assert "accumulate = 2\n" in settings
    assert "batch_tokens = 128\n" in settings


def test_the_same_command_again_goes_on(alone: Path) -> None:
    words = ["--data", "pairs.tsv", "--run", "again", "--resume-if-exists", *(w for s in SETTINGS for w in ("--set", s))]
    for _ in range(2):
        code, messages = finished(train(alone, *words))
        assert code == 0, messages
    assert "done: 12 steps" in messages
