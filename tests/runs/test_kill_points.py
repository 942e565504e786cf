"""Killed at each system call that changes the file system in turn: the same command again ends with the same bytes.

The calls are those of a training with checkpoints, of a model that replaces another, of a journal, of a translation job
and of an export. A kill after a call is a kill before the next one, unless a write without fsync lies between them; the
attack tool (`make attack`) tries both.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from jobs import command, long_lines, write_model
from kill_points import count_calls, killed_before_call
from processes import saved_bytes
from tiny import SMALL, reversing, write_pairs
from tongsa import runs
from tongsa.bundle import load_bundle, save_bundle
from tongsa.cli import main
from tongsa.training.journal import Journal, read_journal

STEPS = 2
SETTINGS = [*SMALL, f"training.steps={STEPS}", "training.checkpoint_every=1", "training.keep_checkpoints=1"]
SETTINGS += ["training.validate_every=1", "training.validate_sentences=2", "training.average_last=2"]
SETTINGS += ["decoding.max_extra_tokens=3"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def kill_at_each_call(folder: Path, work: Callable[[Path], object], check: Callable[[Path], None]) -> list[str]:
    """Kill `work` at each of its calls, each in a folder of its own; repeat it, and check the end. Return the calls."""
    calls = count_calls(lambda: work(folder / "counted"))
    for count in range(1, len(calls) + 1):
        new = folder / str(count)
        assert killed_before_call(count, partial(work, new)), f"{len(calls)} calls, but not {count}"
        work(new)
        check(new)
    return calls


def test_a_training(tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.tsv", reversing(60))
    runs.train(data=pairs, run=tmp_path / "reference", settings=SETTINGS, quiet=True)
    expected = saved_bytes(tmp_path / "reference", STEPS)

    def train(folder: Path) -> None:
        run = folder / "run"
        if (run / "run.toml").exists():
            runs.resume(run, quiet=True)
        else:
            runs.train(data=pairs, run=run, settings=SETTINGS, quiet=True)

    def check(folder: Path) -> None:
        assert saved_bytes(folder / "run", STEPS) == expected
        assert [record["step"] for record in read_journal(folder / "run/journal.jsonl") if "loss" in record] == [1, 2]
        assert not [path for path in (folder / "run").rglob("*") if path.name.startswith(".")], "left behind"

    calls = kill_at_each_call(tmp_path, train, check)
    assert {"rename", "fsync", "mkdir"} <= set(calls)


def test_a_model_that_replaces_another(tmp_path: Path) -> None:
    """After the kill there is a complete model, the old or the new; nothing else is ever seen."""
    write_model(tmp_path / "old", seed=1)
    write_model(tmp_path / "new", seed=2)
    new = load_bundle(tmp_path / "new")
    sums = {load_bundle(tmp_path / name).weights_sha256 for name in ("old", "new")}

    def save(folder: Path) -> None:
        save_bundle(folder / "model", new, "")

    counted = write_model(tmp_path / "counted/model").parent
    calls = count_calls(lambda: save(counted))
    for count in range(1, len(calls) + 1):
        run = write_model(tmp_path / str(count) / "model").parent
        assert killed_before_call(count, partial(save, run))
        assert load_bundle(run).weights_sha256 in sums
        save(run)
        assert load_bundle(run).weights_sha256 == new.weights_sha256
        assert [path.name for path in run.iterdir()] == ["model"]


def test_a_journal(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "journal.jsonl").touch()
        for last, steps in ((-1, (1, 2, 3)), (2, (3, 4))):
            with Journal(folder / "journal.jsonl", last_step=last) as journal:
                for step in steps:
                    journal.write({"step": step})

    def check(folder: Path) -> None:
        assert [record["step"] for record in read_journal(folder / "journal.jsonl")] == [1, 2, 3, 4]

    kill_at_each_call(tmp_path, write, check)


def test_a_translation_job_and_an_export(tmp_path: Path) -> None:
    write_model(tmp_path / "model")
    (tmp_path / "in.txt").write_text(long_lines(60), "utf-8")
    assert main(command(tmp_path, "expected.txt")) == 0  # makes the export, where CTranslate2 is installed
    expected = (tmp_path / "expected.txt").read_bytes()

    def translate(folder: Path) -> None:
        if not (folder / "out.txt").exists():
            folder.mkdir(exist_ok=True)
            if not (folder / "model").exists():
                write_model(folder / "model")  # without an export: each folder makes its own
            output = ["-o", str(folder / "out.txt")]
            assert main(["translate", str(folder / "model"), str(tmp_path / "in.txt"), *output]) == 0

    def check(folder: Path) -> None:
        assert (folder / "out.txt").read_bytes() == expected

    calls = kill_at_each_call(tmp_path, translate, check)
    assert calls.count("fsync") > 10
