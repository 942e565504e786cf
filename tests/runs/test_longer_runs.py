"""Runs that are continued beyond their end, and settings that a resumed run may or may not change."""

import shutil
import signal
from pathlib import Path

import pytest

from processes import (
    UNLIMITED_STEPS,
    finish,
    finish_successfully,
    journal_steps,
    limit_steps,
    saved_bytes,
    start_training,
    train_reference,
    wait_for_step,
    write_recipe,
)
from tongsa import config, runs
from tongsa.cli import main
from tongsa.errors import InputError
from tongsa.runs.recipe import parse_recipe
from tongsa.training.checkpoint import latest_checkpoint
from tongsa.training.journal import read_journal

STEPS, LONGER = 8, 16
SETTINGS = [
    f"training.steps={STEPS}",
    "training.checkpoint_every=4",
    "training.validate_every=4",
    "training.validate_sentences=5",
    "training.ema=0.9",
    "training.lr.schedule=constant",
    "training.lr.warmup=3",
    "tokenizer.subword_regularization=0.3",
    "decoding.max_extra_tokens=3",
]


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recipe(tmp_path_factory.mktemp("longer"), SETTINGS, pairs=120)


@pytest.fixture
def run(recipe: Path, tmp_path: Path) -> Path:
    """Return a finished run that may be changed."""
    return Path(shutil.copytree(train_reference(recipe, STEPS), tmp_path / "run"))


def training_settings(run: Path) -> config.Table:
    table: config.Table = config.read_toml(run / "run.toml")["training"]
    return table


@pytest.mark.parametrize("schedule", ["constant", "inverse-sqrt", "paper"])
def test_a_longer_run_has_the_bytes_of_an_uninterrupted_one(schedule: str, recipe: Path, tmp_path: Path) -> None:
    """The learning rate of these schedules does not depend on the number of steps, and step 8 is validated in both."""
    run, setting = tmp_path / "run", f"training.lr.schedule={schedule}"
    runs.train(recipe, run=run, settings=[setting], quiet=True)
    assert runs.resume(run, settings=[f"training.steps={LONGER}"], quiet=True).step == LONGER
    assert saved_bytes(run, LONGER) == saved_bytes(train_reference(recipe, LONGER, setting), LONGER)
    assert journal_steps(run) == list(range(1, LONGER + 1))
    assert (training_settings(run)["steps"], training_settings(run)["steps_changed_at"]) == (LONGER, [STEPS])


def test_a_decay_continues_as_in_a_run_of_the_new_length(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    runs.train(recipe, run=run, settings=["training.lr.schedule=linear"], quiet=True)
    assert main(["train", "--resume", str(run), "--set", f"training.steps={LONGER}"]) == 0
    resolved = parse_recipe(config.read_toml(run / "run.toml"))
    schedules = [resolved.training.lr.build(32, steps) for steps in (STEPS, LONGER)]
    rates = [record["lr"] for record in read_journal(run / "journal.jsonl") if "lr" in record]
    assert rates == [schedules[step > STEPS](step) for step in range(1, LONGER + 1)]
    message = f"{schedules[0](STEPS):.3g} at step {STEPS} and {schedules[1](STEPS + 1):.3g} after it"
    assert message in capsys.readouterr().err


def test_a_longer_run_that_is_killed_resumes_to_identical_bytes(recipe: Path, run: Path) -> None:
    process = start_training(recipe.parent, "--resume", str(run), "--set", f"training.steps={UNLIMITED_STEPS}")
    wait_for_step(run, STEPS + 3, process)
    process.send_signal(signal.SIGKILL)
    assert finish(process)[0] == -signal.SIGKILL
    steps = (max(journal_steps(run)) // 4 + 2) * 4
    limit_steps(run, steps)
    finish_successfully(start_training(recipe.parent, "--resume", str(run)))
    assert saved_bytes(run, steps) == saved_bytes(train_reference(recipe, steps), steps)


def test_a_finished_run_keeps_its_last_checkpoint_and_a_damaged_one_is_not_counted(run: Path) -> None:
    checkpoints = run / "checkpoints"
    assert [path.name for path in checkpoints.iterdir()] == [f"{STEPS:09d}"]
    shutil.copytree(checkpoints / f"{STEPS:09d}", checkpoints / f"{STEPS + 1:09d}")  # a step that is not saved again
    (checkpoints / f"{STEPS + 1:09d}" / "progress.json").write_text("{", "utf-8")
    (checkpoints / f".{STEPS + 3:09d}.incoming").mkdir()
    runs.resume(run, settings=[f"training.steps={LONGER}", "training.keep_checkpoints=2"], quiet=True)
    assert sorted(path.name for path in checkpoints.iterdir()) == [f"{step:09d}" for step in (LONGER - 4, LONGER)]
    runs.resume(run, settings=["training.keep_checkpoints=0"], quiet=True)
    saved, _ = latest_checkpoint(checkpoints)
    assert saved and [path.name for path in checkpoints.iterdir()] == [saved.path.name]


def test_a_run_that_stopped_early_can_be_longer(recipe: Path, tmp_path: Path) -> None:
    settings = ["training.patience=1", "training.validate_every=1", "training.lr.peak=0.3", "training.best_metric=loss"]
    stopped = runs.train(recipe, run=tmp_path / "run", settings=[*settings, "training.steps=60"], quiet=True).step
    assert stopped < 60
    assert runs.resume(tmp_path / "run", quiet=True).step == stopped
    assert runs.resume(tmp_path / "run", settings=["training.steps=61"], quiet=True).step > stopped


def test_more_time_gives_more_steps(run: Path) -> None:
    assert runs.resume(run, budget="1s", quiet=True).step == training_settings(run)["steps"] > STEPS


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["training.lr.peak=1e-4"], "training.lr cannot change during a run"),
        (["training.batch_tokens=9"], "training.batch_tokens cannot change during a run"),
        (["model.width=16"], "model.width cannot change during a run"),
        ([f"training.steps={STEPS - 1}"], f"the run is at step {STEPS} already"),
        (["training.patience=-1"], "training.patience: -1 is out of range. Write a whole number at least 0"),
    ],
)
def test_other_settings_are_refused_and_change_nothing(settings: list[str], message: str, run: Path) -> None:
    before = (run / "run.toml").read_bytes()
    with pytest.raises(InputError, match=message):
        runs.resume(run, settings=settings, quiet=True)
    assert (run / "run.toml").read_bytes() == before


def test_the_remedies_for_a_resumed_run_work(
    recipe: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "--resume", str(run), "--set", "model.width=16"]) == 2
    init_from = capsys.readouterr().err.split("--set ")[1].split(". ")[0]
    assert init_from == f"training.init_from={run}"
    assert main(["train", str(recipe), "--run", str(tmp_path / "new"), "--set", init_from]) == 0
    capsys.readouterr()
    assert main(["train", "--resume", str(run), "--set", f"training.steps={STEPS - 1}"]) == 2
    more = capsys.readouterr().err.split("--set ")[1].strip()
    assert main(["train", "--resume", str(run), "--set", more]) == 0
    capsys.readouterr()
    assert main(["train", "--resume", str(run)]) == 0
    longer = capsys.readouterr().err.split("To train longer: tongsa ")[1].splitlines()[0]
    assert main(longer.split()) == 0
    assert max(journal_steps(run)) == 4 * STEPS


def test_an_existing_run_keeps_its_settings_and_says_so(
    recipe: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", str(recipe), "--run", str(run), "--resume-if-exists", "--set"]
    assert main([*command, f"training.steps={STEPS}"]) == 0
    assert "keeps its settings" not in capsys.readouterr().err
    assert main([*command, "training.steps=99"]) == 0
    assert f"the run exists and keeps its settings: training.steps = {STEPS}" in capsys.readouterr().err


def test_a_budget_and_a_number_of_steps_exclude_each_other(recipe: Path, run: Path, tmp_path: Path) -> None:
    for start in (lambda **options: runs.train(recipe, run=tmp_path / "new", **options), runs.resume):
        arguments = (run,) if start is runs.resume else ()
        with pytest.raises(InputError, match=r"--budget 9s: chooses training\.steps, which is also set"):
            start(*arguments, settings=["training.steps=9"], budget="9s", quiet=True)
