"""Training with several workers equals training with one: real processes and sockets, DDP and FSDP2."""

import os
import shutil
import signal
import subprocess
import tomllib
from pathlib import Path

import pytest
from torch.testing import assert_close

from processes import (
    UNLIMITED_STEPS,
    finish,
    finish_successfully,
    journal_losses,
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
from tongsa import runs
from tongsa.cli import worker_processes

slow = pytest.mark.slow  # several processes, each of which imports torch
STEPS = 12
SETTINGS = [
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
    "training.probe=a b c",
]


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recipe(tmp_path_factory.mktemp("workers"), SETTINGS)


@pytest.fixture(scope="module")
def reference(recipe: Path) -> Path:
    return train_reference(recipe, STEPS)


def assert_same_losses(run: Path, reference: Path) -> None:
    """Compare all updates and validations. The order of summation differs, so the last digits may."""
    steps = journal_steps(run)
    assert steps == journal_steps(reference)
    moments = [(step, 0) for step in (0, 10, 20, 50, 100, 200) if step < max(steps)] + [(max(steps), 0)]
    assert probe_moments(run) == probe_moments(reference) == moments, "only rank 0 writes"
    assert_close(journal_losses(run), journal_losses(reference), rtol=0, atol=1e-4)


def assert_no_pickle(run: Path) -> None:
    assert not list(run.rglob("*.pt")) and not list(run.rglob("*.distcp")), "a pickle was written"


def test_two_workers_give_the_bytes_of_one_process(recipe: Path) -> None:
    """An update has two batches by default: a sum of two has one order, so not even the rounding may differ."""
    settings = ["training.grad_accumulation=1", "training.batch_tokens=1100", "training.optimizer=adam"]
    messages = finish_successfully(new_run(recipe, "two", *settings, workers=2))
    run, single = recipe.parent / "two", train_reference(recipe, STEPS, *settings)
    assert saved_bytes(run, STEPS) == saved_bytes(single, STEPS)
    assert journal_losses(run) == journal_losses(single)
    assert messages.count("12 steps") == 1, "only rank 0 prints"
    assert "an update of 1,100 tokens is split into 2 batches of 550; threads and workers share them" in messages
    assert_no_pickle(run)


@pytest.mark.parametrize("workers", [2, pytest.param(4, marks=slow)])
def test_a_sharded_run_has_the_losses_of_one_process_and_resumes_unsharded(
    recipe: Path, reference: Path, workers: int
) -> None:
    run = recipe.parent / f"sharded-{workers}"
    finish_successfully(new_run(recipe, run.name, "training.shard=true", workers=workers))
    assert_same_losses(run, reference)
    assert len(list((run / "checkpoints" / f"{STEPS:09d}").glob("*.safetensors"))) == workers
    assert_no_pickle(run)
    for step in (8, 12):
        shutil.rmtree(run / "checkpoints" / f"{step:09d}")
    runs.resume(run, quiet=True)
    assert_same_losses(run, reference)


@slow
@pytest.mark.parametrize("workers", [2, 3, 4])
def test_any_number_of_workers_gives_the_same_losses(recipe: Path, reference: Path, workers: int) -> None:
    messages = finish_successfully(new_run(recipe, f"ddp-{workers}", workers=workers))
    assert_same_losses(recipe.parent / f"ddp-{workers}", reference)
    assert messages.count("12 steps") == 1, "only rank 0 prints"


@slow
@pytest.mark.parametrize(
    ("workers", "resumed_workers", "shard"), [(2, 1, False), (1, 4, False), (2, 4, False), (2, 4, True)]
)
def test_a_run_resumes_with_another_number_of_workers(
    recipe: Path, reference: Path, workers: int, resumed_workers: int, shard: bool
) -> None:
    run = recipe.parent / f"{workers}-to-{resumed_workers}-{shard}"
    finish_successfully(new_run(recipe, run.name, f"training.shard={str(shard).lower()}", workers=workers))
    for step in (8, 12):
        shutil.rmtree(run / "checkpoints" / f"{step:09d}")
    finish_successfully(start_training(recipe.parent, "--resume", run.name, "--workers", str(resumed_workers)))
    assert_same_losses(run, reference)


@slow
def test_all_workers_skip_a_checkpoint_with_a_damaged_or_missing_shard(recipe: Path, reference: Path) -> None:
    run = recipe.parent / "shards"
    finish_successfully(new_run(recipe, run.name, "training.shard=true", workers=2))
    weights = (run / "model" / "weights.safetensors").read_bytes()
    newest, previous = (run / "checkpoints" / f"{step:09d}" for step in (12, 8))
    _, shard = sorted(newest.glob("*.safetensors"))  # that of rank 1, which rank 0 does not need
    content = bytearray(shard.read_bytes())
    content[-7] ^= 1
    shard.write_bytes(content)
    sorted(previous.glob("*.safetensors"))[1].unlink()
    messages = finish_successfully(start_training(recipe.parent, "--resume", run.name, "--workers", "2"))
    assert f"{newest.name}: damaged (the checksum of {shard.name} is wrong)" in messages
    assert f"{previous.name}: damaged" in messages
    assert_same_losses(run, reference)
    assert (run / "model" / "weights.safetensors").read_bytes() == weights


@slow
def test_two_workers_resume_to_identical_bytes_after_one_was_killed(recipe: Path) -> None:
    run = recipe.parent / "killed"
    process = new_run(recipe, run.name, f"training.steps={UNLIMITED_STEPS}", workers=2)
    wait_for_step(run, 6, process)
    worker = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii").split()[-1]
    os.kill(int(worker), signal.SIGKILL)
    code, messages = finish(process)
    assert code == 1
    assert "was killed (SIGKILL)" in messages
    assert "--resume" in messages
    assert "Traceback" not in messages
    steps = max(journal_steps(run)) + 4
    limit_steps(run, steps)
    finish_successfully(start_training(recipe.parent, "--resume", run.name, "--workers", "2"))
    finish_successfully(new_run(recipe, "not-killed", f"training.steps={steps}", workers=2))
    assert saved_bytes(run, steps) == saved_bytes(recipe.parent / "not-killed", steps)


@slow
def test_a_stop_signal_to_the_launcher_saves_and_ends_all_workers(recipe: Path) -> None:
    run = recipe.parent / "stopped"
    unlimited = [f"training.steps={UNLIMITED_STEPS}", f"training.checkpoint_every={UNLIMITED_STEPS}"]
    process = new_run(recipe, run.name, *unlimited, workers=2)
    wait_for_step(run, 3, process)
    process.send_signal(signal.SIGTERM)
    code, messages = finish(process)
    assert code == 130, messages
    assert messages.count("train --resume stopped") == 1
    steps = max(journal_steps(run)) + 4
    limit_steps(run, steps)
    finish_successfully(start_training(recipe.parent, "--resume", run.name, "--workers", "2"))
    assert_same_losses(run, train_reference(recipe, steps))


@slow
def test_wrong_input_is_reported_once_with_exit_code_2(recipe: Path) -> None:
    code, messages = finish(new_run(recipe, "no", "data.train=no.tsv", workers=2))
    assert code == 2, messages
    assert messages.count("no.tsv") == 1
    assert "Traceback" not in messages


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (["exit 2", "sleep 0.3; exit 1"], 0),
        (["sleep 0.3; exit 2", "exit 1"], 0),  # others may notice the loss before the process has ended
        (["exit 2", "exit 1"], 0),
        (["exit 1", "exit 2"], 1),
        (["exit 2", "exit 2"], 0),
        (["sleep 0.3; exit 1", "kill -9 $$"], 1),
        (["exit 2", "sleep 0.3; kill -9 $$"], 1),
        (["exit 1", "sleep 0.3; exit 130"], 1),
        (["exit 0", "exit 0"], 0),
    ],
)
def test_the_launcher_names_the_worker_that_caused_the_end(ends: list[str], expected: int) -> None:
    assert worker_processes.wait_for_workers([subprocess.Popen(["/bin/sh", "-c", end]) for end in ends]) == expected


def test_a_worker_that_does_not_stop_with_the_others_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_processes, "SHUTDOWN_TIMEOUT_SECONDS", 0.3)
    workers = [subprocess.Popen(["/bin/sh", "-c", end]) for end in ("exit 1", "sleep 600")]
    assert worker_processes.wait_for_workers(workers) == 0
    assert workers[1].returncode == -signal.SIGKILL


@slow
@pytest.mark.parametrize(("workers", "shard"), [(5, False), (3, True)])
def test_a_number_of_workers_that_does_not_fit_the_update_is_refused(
    recipe: Path, reference: Path, workers: int, shard: bool
) -> None:
    """At most one worker per batch; sharded ranks compute in lockstep and need equally many batches."""
    run = recipe.parent / f"refused-{workers}"
    shutil.copytree(reference, run)
    settings = (run / "run.toml").read_text("utf-8")
    (run / "run.toml").write_text(settings.replace("shard = false", f"shard = {str(shard).lower()}"), "utf-8")
    code, messages = finish(start_training(recipe.parent, "--resume", run.name, "--workers", str(workers)))
    assert code == 2, messages
    assert "4 batches" in messages
    assert "training.grad_accumulation" in messages
    assert "Traceback" not in messages


@slow
def test_a_new_run_divides_its_update_so_that_each_worker_has_a_batch(recipe: Path) -> None:
    settings = ["training.grad_accumulation=1", "training.batch_tokens=256", "training.steps=2"]
    finish_successfully(new_run(recipe, "divided", *settings, workers=2))
    training = tomllib.loads((recipe.parent / "divided" / "run.toml").read_text("utf-8"))["training"]
    assert (training["grad_accumulation"], training["batch_tokens"]) == (2, 128)


def test_resume_if_exists_continues_the_run_with_its_first_settings(recipe: Path) -> None:
    run = recipe.parent / "again"
    runs.train(recipe, run=run, settings=["training.steps=4"], resume_if_exists=True, quiet=True)
    progress = runs.train(recipe, run=run, resume_if_exists=True, quiet=True)
    assert progress.step == 4
    assert journal_steps(run) == [1, 2, 3, 4]
