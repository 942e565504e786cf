"""Remedies that error messages print are followed here, and the changed command succeeds."""

import shutil
from pathlib import Path

import pytest

from command_line import follow_remedy, printed_command, run_command, set_flags
from tiny import SMALL

QUICK = set_flags(*SMALL, "training.steps=2")


PLACEHOLDERS = {"FILE": "pairs.tsv", "OUT": "out.txt"}
FAILING_COMMANDS = {
    "no folder for the run": ["train", "--data", "pairs.tsv", *QUICK],
    "no workers": ["train", "--data", "pairs.tsv", "--run", "a", "--workers", "0", *QUICK],
    "unknown key": ["train", "--data", "pairs.tsv", "--run", "b", *QUICK, "--set", "training.step=2"],
    "data given as a recipe": ["train", "recipe.txt", "--run", "c", *QUICK],
    "normalize without rerank": ["score", "model", "pairs.tsv", "--normalize"],
    "rerank with a language model": ["score", "lm", "texts.txt", "--rerank"],
    "8 bits in another format": ["export", "model", "--to", "onnx", "--int8"],
    "no samples": ["sample", "lm", "--count", "0", "--max-tokens", "3"],
    "samples without tokens": ["sample", "lm", "--count", "2", "--max-tokens", "0"],
    "shortlist without candidates": ["shortlist", "model", "--data", "pairs.tsv", "--candidates", "0"],
    "shortlist of nothing": ["shortlist", "model", "--data", "pairs.tsv", "--always", "0"],
    "restart without an output file": ["translate", "model", "texts.txt", "--restart"],
    "temperature without sampling": ["translate", "model", "texts.txt", "--temperature", "2"],
    "setting without its table": ["translate", "model", "texts.txt", "--set", "min_tokens=2"],
    "beam for a language model": ["evaluate", "lm", "--data", "texts.txt", "--beam", "3"],
    "key without a file": ["serve", "--new-key", "alice"],
}


SLOW_CASES = {"8 bits in another format"}


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow if case in SLOW_CASES else ()) for case in FAILING_COMMANDS]
)
def test_a_failed_command_succeeds_after_its_remedy(case: str, folder: Path) -> None:
    arguments = FAILING_COMMANDS[case]
    failed = run_command(*arguments, cwd=folder)
    assert failed.code == 2, failed.stderr
    changed = follow_remedy(arguments, failed.error, PLACEHOLDERS | {"FILE": f"{case}.tsv"})
    assert changed != arguments
    result = run_command(*changed, cwd=folder)
    assert result.code == 0, f"{failed.error}\n{changed}\n{result.stderr}"


def test_resume_with_other_arguments_succeeds_without_them(folder: Path) -> None:
    assert run_command("train", "--data", "pairs.tsv", "--run", "done", *QUICK, cwd=folder).code == 0
    arguments = ["train", "--resume", "done", "--data", "pairs.tsv", "--dev", "pairs.tsv"]
    failed = run_command(*arguments, cwd=folder)
    assert failed.code == 2
    assert follow_remedy(arguments, failed.error) == ["train", "--resume", "done"]
    assert run_command("train", "--resume", "done", cwd=folder).code == 0


def test_a_second_run_in_a_folder_is_refused_and_can_be_resumed(folder: Path) -> None:
    arguments = ["train", "--data", "pairs.tsv", "--run", "twice", *QUICK]
    assert run_command(*arguments, cwd=folder).code == 0
    weights = (folder / "twice" / "model" / "weights.safetensors").read_bytes()
    failed = run_command(*arguments, cwd=folder)
    assert failed.code == 2
    assert "holds a run already" in failed.error
    assert run_command(*printed_command(failed.error), cwd=folder).code == 0
    assert (folder / "twice" / "model" / "weights.safetensors").read_bytes() == weights


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--data", "pairs.tsv", "--run", "next", *QUICK],
        ["shortlist", "model", "--data", "pairs.tsv"],
        ["export", "model", "--to", "ctranslate2", "--int8"],
    ],
    ids=lambda arguments: str(arguments[0]),
)
def test_the_next_command_that_is_printed_works(arguments: list[str], folder: Path, tmp_path: Path) -> None:
    for name in ("model", "pairs.tsv"):
        source = folder / name
        shutil.copytree(source, tmp_path / name) if source.is_dir() else shutil.copy(source, tmp_path)
    result = run_command(*arguments, cwd=tmp_path)
    assert result.code == 0, result.stderr
    following = run_command(*printed_command(result.error), cwd=tmp_path, stdin="a b\n\n")
    assert following.code == 0, following.stderr
    assert len(following.stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("message", "command"),
    [
        (
            "runs/a: holds a run already; resume it with: tongsa train --resume runs/a, or",
            ["train", "--resume", "runs/a"],
        ),
        ("Resume with tongsa train --resume runs/a.", ["train", "--resume", "runs/a"]),
        ("next: echo '…' | tongsa translate runs/a.b", ["translate", "runs/a.b"]),
        ("make it with (tongsa export 'my run' --to onnx)", ["export", "my run", "--to", "onnx"]),
        ("nothing to run", []),
    ],
)
def test_printed_commands_are_recognized(message: str, command: list[str]) -> None:
    assert printed_command(message) == command
