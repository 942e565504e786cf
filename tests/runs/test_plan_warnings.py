"""Warnings before the first step and at validations, with remedies that work."""

import random
import re
from pathlib import Path
from typing import Any

from command_line import run_command, set_flags
from tiny import SMALL, reversing, write_pairs
from tongsa.runs.plan_warnings import overfitting_warning

MEMORIZED, TOO_FEW_STEPS, UNREAD, OVERFITTING = (
    "the model memorizes a small corpus",
    "too few to learn",
    "that read the training data once",
    "overfitting:",
)


def warnings(*arguments: object, cwd: Path) -> str:
    result = run_command("train", *arguments, cwd=cwd)
    assert result.code == 0, result.stderr
    return result.stderr


def test_a_plan_that_does_not_read_the_data_names_the_steps_that_do(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.tsv", reversing(700))
    command = ["--data", "pairs.tsv", *set_flags(*SMALL, "training.batch_tokens=1024")]
    stderr = warnings(*command, "--run", "a", *set_flags("training.steps=1"), cwd=tmp_path)
    assert UNREAD in stderr
    (remedy,) = re.findall(r"Give --set (training.steps=\d+)", stderr)
    assert UNREAD not in warnings(*command, "--run", "b", *set_flags(remedy), cwd=tmp_path)


def test_too_little_data_can_start_from_a_trained_model(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.tsv", reversing(40))
    stderr = warnings("--data", "pairs.tsv", "--run", "a", *set_flags(*SMALL, "training.steps=9"), cwd=tmp_path)
    assert MEMORIZED in stderr
    (remedy,) = re.findall(r"--set (training.init_from=)RUN", stderr)
    command = ["--data", "pairs.tsv", "--run", "b", *set_flags(f"{remedy}a", "training.steps=1")]
    assert "training.init_from=RUN" not in warnings(*command, cwd=tmp_path), "the remedy was followed"


def test_a_budget_of_seconds_is_too_short(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.tsv", reversing(40))
    stderr = warnings("--data", "pairs.tsv", "--run", "a", "--budget", "0.01s", *set_flags(*SMALL), cwd=tmp_path)
    assert f"training.steps: 1 fit into the time budget, {TOO_FEW_STEPS}" in stderr


def journal(*losses: tuple[float, float]) -> list[dict[str, Any]]:
    """Return the records of a run with these train and dev losses, one update before each validation."""
    records: list[dict[str, Any]] = []
    for step, (train_loss, dev_loss) in enumerate(losses, 1):
        records += [{"step": step, "loss": train_loss}, {"step": step, "validation": {"dev_loss": dev_loss}}]
    return records


def test_overfitting_is_said_once_at_the_validation_where_it_begins() -> None:
    losses = [(4.0, 4.1), (3.0, 3.5), (2.0, 3.6), (1.5, 3.9), (1.0, 4.4)]
    said = [overfitting_warning(journal(*losses[:count])) for count in range(1, 6)]
    assert [bool(warning) for warning in said] == [False, False, False, True, False], "one rise may be noise"
    assert "3.500 at step 2, now 3.900" in str(said[3])


def test_a_rising_dev_loss_alone_is_not_overfitting() -> None:
    assert overfitting_warning(journal((3.0, 3.5), (3.2, 3.9))) is None, "diverging: the train loss rises, too"
    assert overfitting_warning(journal((3.0, 3.5), (2.9, 3.51))) is None, "noise"
    assert overfitting_warning(journal((3.0, 3.5))) is None
    assert overfitting_warning([]) is None


def test_a_classifier_of_random_labels_overfits_and_says_so(tmp_path: Path) -> None:
    generator = random.Random(1)
    texts = [" ".join(generator.choices("abcdefgh", k=6)) for _ in range(120)]
    write_pairs(tmp_path / "labels.tsv", [(text, generator.choice(["yes", "no"])) for text in texts])
    settings = ["model.kind=transformer_classifier", "model.width=32", "model.layers=1", "model.heads=2"]
    settings += [
        "training.steps=80",
        "training.validate_every=20",
        "training.label_smoothing=0",
        "model.dropout=0",
        "training.threads=1",
        "tokenizer.model=char",
    ]
    settings += [
        "training.ema=0",
        "training.optimizer=adam",
        "training.lr.peak=1e-2",
        "training.best_metric=loss",
        "data.dev_fraction=0.3",
    ]
    stderr = warnings("--data", "labels.tsv", "--run", "a", *set_flags(*settings), cwd=tmp_path)
    assert stderr.count(OVERFITTING) == 1
    assert "early stopping (training.patience)" in stderr
    stopped = warnings(
        *("--data", "labels.tsv", "--run", "b"), *set_flags(*settings, "training.patience=1"), cwd=tmp_path
    )
    assert "early stopping at step" in stopped
