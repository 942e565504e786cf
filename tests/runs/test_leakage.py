"""`tongsa evaluate` and the end of training report test lines that are in the training files."""

import json
import shutil
from pathlib import Path

import pytest

from command_line import CommandResult, run_command, set_flags
from tiny import SMALL, reversing, write_pairs

TRAIN = ["train", "--run", "runs/a", *set_flags(*SMALL, "training.steps=1")]
PAIRS = list(dict(reversing(400)).items())


@pytest.fixture(name="project", scope="module")
def project_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run that was trained on 60 pairs, and a test set of which half is in them."""
    folder = tmp_path_factory.mktemp("project")
    write_pairs(folder / "train.tsv", PAIRS[:60])
    other_target = [(PAIRS[50][0], "another target")]
    write_pairs(folder / "test.tsv", [*PAIRS[100:104], *PAIRS[5:10], *other_target])
    write_pairs(folder / "clean.tsv", PAIRS[100:110])
    result = run_command(*TRAIN, "--data", "train.tsv", *set_flags("data.test=test.tsv"), cwd=folder)
    assert result.code == 0, result.stderr
    return folder


def evaluate(*arguments: object, cwd: Path) -> tuple[CommandResult, dict[str, object]]:
    result = run_command("evaluate", *arguments, "--beam", 1, "--json", cwd=cwd)
    assert result.code == 0, result.stderr
    leakage: dict[str, object] = json.loads(result.stdout)["leakage"]
    return result, leakage


def test_leaked_lines_are_reported_line_against_line(project: Path) -> None:
    result, leakage = evaluate("runs/a", "--data", "test.tsv", cwd=project)
    assert leakage["numbers"] == {"lines": 10, "same": 5, "same_source": 1, "share": 0.5}
    assert leakage["level"] == "fault"
    assert "5 of 10 lines of test (50.0 %) are also in train; 1 more sources" in result.stderr
    assert "test.tsv:5: " in result.stderr and "= train.tsv:6" in result.stderr
    result, leakage = evaluate("runs/a", "--data", "clean.tsv", cwd=project)
    assert (leakage["level"], result.stderr) == ("ok", "")


def test_scores_of_a_training_say_how_much_leaked(project: Path) -> None:
    leakage = json.loads((project / "runs/a/scores.json").read_text("utf-8"))["test"]["leakage"]
    assert leakage["level"] == "fault"
    assert 3 <= leakage["numbers"]["same"] <= 5  # some of the five may be in dev


def test_training_files_are_found_from_another_folder(project: Path) -> None:
    _, leakage = evaluate("a", "--data", "../test.tsv", cwd=project / "runs")
    assert leakage["level"] == "fault"


def test_missing_training_files_are_a_remark_not_an_error(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "runs/a", tmp_path / "a")
    result, leakage = evaluate("a", "--data", project / "test.tsv", cwd=tmp_path)
    assert leakage["level"] == "remark"
    assert "not checked: train.tsv: no such file" in result.stderr
    (tmp_path / "a/run.toml").unlink()
    result, _ = evaluate("a/model", "--data", project / "test.tsv", cwd=tmp_path)
    assert "not checked: a: no run.toml" in result.stderr


def test_the_data_of_the_initial_model_count(project: Path) -> None:
    write_pairs(project / "own.tsv", PAIRS[200:240])
    arguments = ["train", "--data", "own.tsv", "--run", "runs/b", *set_flags("training.init_from=runs/a")]
    assert run_command(*arguments, *set_flags("training.steps=1", "training.threads=1"), cwd=project).code == 0
    _, leakage = evaluate("runs/b", "--data", "test.tsv", cwd=project)
    assert leakage["level"] == "fault"
