"""A run that was killed or stopped resumes to identical bytes: with real processes and real signals."""

import json
import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from processes import (
    UNLIMITED_STEPS,
    finish,
    finish_successfully,
    journal_steps,
    limit_steps,
    new_run,
    probe_moments,
    saved_bytes,
    start_training,
    train_reference,
    wait_for_step,
    write_recipe,
)
from tongsa.cli import main
from tongsa.errors import InputError
from tongsa.training import checkpoint

STEPS, CHECKPOINT_EVERY = 60, 5
SETTINGS = [
    f"training.steps={STEPS}",
    f"training.checkpoint_every={CHECKPOINT_EVERY}",
    "training.keep_checkpoints=2",
    "training.validate_every=15",
    "training.validate_sentences=10",
    "training.ema=0.9",
    "training.average_last=2",
    "tokenizer.subword_regularization=0.3",
    "training.lr.warmup=10",
    'training.probe=["a b", "c d e"]',
]


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recipe(tmp_path_factory.mktemp("resume"), SETTINGS)


@pytest.fixture(scope="module")
def reference(recipe: Path) -> Path:
    return train_reference(recipe, STEPS)


def assert_resumes_to_identical_bytes(recipe: Path, run: Path) -> None:
    """Resume with some steps to go, by the command line; compare with a run that was never interrupted."""
    steps = max(STEPS, max(journal_steps(run)) + CHECKPOINT_EVERY)
    limit_steps(run, steps)
    finish_successfully(start_training(run.parent, "--resume", run.name))
    assert saved_bytes(run, steps) == saved_bytes(train_reference(recipe, steps), steps)
    assert journal_steps(run) == list(range(1, steps + 1))
    assert probe_moments(run) == probe_moments(train_reference(recipe, steps)), "a probe was lost, or written twice"


@pytest.mark.parametrize(
    "kills",
    [1, pytest.param(3, marks=pytest.mark.slow)],  # slow: each kill starts another process
)
def test_resume_after_sigkill_gives_identical_bytes(recipe: Path, kills: int) -> None:
    generator = random.Random(os.urandom(8))
    run = recipe.parent / f"killed-{kills}"
    process = new_run(recipe, run.name, f"training.steps={UNLIMITED_STEPS}")
    for kill in range(kills):
        if kill:
            process = start_training(recipe.parent, "--resume", run.name)
        wait_for_step(run, generator.randint(2, 15) + max(journal_steps(run), default=0), process)
        time.sleep(generator.random() * 0.05)  # in the middle of an update, a validation or a checkpoint
        process.send_signal(signal.SIGKILL)
        assert finish(process)[0] == -signal.SIGKILL
    assert_resumes_to_identical_bytes(recipe, run)


@pytest.mark.parametrize(
    "signum",
    [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)],  # slow: the same handler
)
def test_a_stop_signal_saves_a_checkpoint_and_prints_how_to_resume(recipe: Path, signum: signal.Signals) -> None:
    run = recipe.parent / signum.name
    # the last assignment of a key counts: no checkpoint but the one of the signal
    process = new_run(
        recipe, run.name, f"training.steps={UNLIMITED_STEPS}", f"training.checkpoint_every={UNLIMITED_STEPS}"
    )
    wait_for_step(run, 20, process)
    process.send_signal(signum)
    code, messages = finish(process)
    assert code == 130, messages
    assert f"train --resume {run.name}" in messages
    (saved,) = (run / "checkpoints").iterdir()
    assert int(saved.name) == max(journal_steps(run)), "updates were lost"
    assert_resumes_to_identical_bytes(recipe, run)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) * 2 // 3] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [truncate, flip_bit, Path.unlink])
@pytest.mark.parametrize("name", ["state.safetensors", "progress.json"])
def test_a_damaged_checkpoint_is_skipped(reference: Path, tmp_path: Path, damage: object, name: str) -> None:
    shutil.copytree(reference / "checkpoints", tmp_path / "checkpoints")
    newest = max((tmp_path / "checkpoints").iterdir())
    damage(newest / name)  # type: ignore[operator]
    intact, messages = checkpoint.latest_checkpoint(tmp_path / "checkpoints")
    assert intact is not None
    assert intact.progress.step == STEPS - CHECKPOINT_EVERY
    assert str(newest) in messages[0]
    assert "damaged" in messages[0]


def test_a_checkpoint_of_another_format_is_refused(reference: Path, tmp_path: Path) -> None:
    shutil.copytree(reference / "checkpoints", tmp_path / "checkpoints")
    progress = max((tmp_path / "checkpoints").iterdir()) / "progress.json"
    record = json.loads(progress.read_text("utf-8"))
    del record["record_sha256"]  # format 1 had none
    progress.write_text(json.dumps(record | {"format": 1}), "utf-8")
    with pytest.raises(InputError, match="checkpoint format 1, but this tongsa reads format 2"):
        checkpoint.latest_checkpoint(tmp_path / "checkpoints")


def test_resume_after_a_truncated_checkpoint_gives_identical_bytes(
    reference: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(reference, run)
    truncate(run / "checkpoints" / f"{STEPS:09d}" / "state.safetensors")
    assert main(["train", "--resume", str(run)]) == 0
    assert "damaged" in capsys.readouterr().err
    assert saved_bytes(run, STEPS) == saved_bytes(reference, STEPS)


def test_resume_refuses_changed_data(reference: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    shutil.copytree(reference, run)
    pairs = reference.parent / "pairs.tsv"
    original = pairs.read_bytes()
    pairs.write_bytes(original + b"a\tb\n")
    try:
        assert main(["train", "--resume", str(run)]) == 2
    finally:
        pairs.write_bytes(original)
    assert "pairs.tsv: changed since this run" in capsys.readouterr().err
