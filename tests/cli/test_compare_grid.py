"""`tongsa compare RECIPE --vary … --seeds N` trains what is missing and compares the settings."""

import json
from pathlib import Path

import pytest

from command_line import CommandResult, run_command
from tiny import reversing, write_pairs

RECIPE = """
[data]
train = ["train.tsv"]
dev = ["test.tsv"]
test = ["test.tsv"]
metrics = ["chrf"]
[tokenizer]
vocab_size = 300
[model]
width = 16
ffn_width = 16
heads = 2
encoder_layers = 1
decoder_layers = 1
[training]
steps = 2
batch_tokens = 256
threads = 1
precision = "fp32"
[decoding]
beam = 1
max_extra_tokens = 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_pairs(tmp_path / "train.tsv", reversing(60))
    write_pairs(tmp_path / "test.tsv", reversing(20, seed=7))
    (tmp_path / "recipe.toml").write_text(RECIPE, "utf-8")
    return tmp_path


def compare(folder: Path, *arguments: object) -> CommandResult:
    return run_command("compare", "recipe.toml", *arguments, "-o", "norm.html", cwd=folder)


def words_of(text: str) -> str:
    return " ".join(text.split())


def test_a_recipe_is_trained_once_and_its_settings_are_compared_over_seeds(folder: Path) -> None:
    grid = ["--vary", "model.norm=pre,post", "--seeds", 2, "--json"]
    first = compare(folder, *grid)
    assert first.code == 0, first.stderr
    before, after = "depends on how much the sentences differ", "(from the outputs of norm=pre,seed=1, if"
    said = words_of(first.stderr)
    assert said.index(before) < said.index("norm=pre,seed=1: chrf") < said.index(after)
    assert "differences between seeds come on top" in said and said.count("found in four of five cases") == 1
    data = json.loads(first.stdout)
    assert [setting["name"] for setting in data["settings"]] == ["norm=pre", "norm=post"]
    assert [len(setting["systems"]) for setting in data["settings"]] == [2, 2]
    assert data["test"]["sentences"] == 20  # the test set of the recipe
    assert data["differences"]["keys"] == ["model.norm", "training.seed"]
    assert data["metrics"][0]["pairs"][0]["covers_seeds"]
    assert data["systems"][0]["steps"] == 2 and data["systems"][0]["memory_bytes"] > 1e6
    assert data["slices"][-1]["of"] == "norm=pre,seed=1" and (folder / "norm.html").is_file()
    again = compare(folder, *grid)
    assert "all have finished" in again.stderr and "sentences in" not in again.stderr
    assert again.stdout == first.stdout
    assert "four of five cases" not in again.stderr  # nothing is trained: the result says it


def test_a_run_that_fails_is_said_and_the_others_are_compared(folder: Path) -> None:
    theirs = "".join("가 나\n" for _ in range(20))
    (folder / "theirs.txt").write_text(theirs, "utf-8")
    diverging = ["training.clip_grad_norm=0", "training.lr.schedule=linear", "training.lr.warmup=1", "training.steps=4"]
    settings = [argument for setting in diverging for argument in ("--set", setting)]
    result = compare(folder, "theirs.txt", "--vary", "training.lr.peak=1e-3,1e6", *settings)
    assert result.code == 1, result.stderr
    assert "1 of 2 runs failed; the others are complete." in result.stderr
    said = words_of(result.stderr)
    assert said.index("(from the outputs of theirs, if") < said.index("peak=1e-3,seed=1: chrf")
    assert "theirs" in result.stdout and "peak=1e-3,seed=1" in result.stdout


def test_outputs_that_do_not_fit_are_refused_before_the_training(folder: Path) -> None:
    (folder / "theirs.txt").write_text("가\n", "utf-8")
    result = compare(folder, "theirs.txt", "--seeds", 2)
    assert result.code == 2 and "theirs.txt: 1 lines, but the test set" in result.stderr
    assert not list(folder.glob("norm/seed=*"))
