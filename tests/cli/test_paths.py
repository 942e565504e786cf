"""Paths and streams that cannot be used end with one sentence and exit code 2, in every command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import run_command, set_flags
from tiny import SMALL
from tongsa import storage
from tongsa.errors import InputError
from tongsa.runs.reporting import ProgressDisplay

QUICK = set_flags(*SMALL, "training.steps=1")
INPUTS = [
    "train X --run new",
    "train --data X --run new",
    "train --data pairs.tsv --dev X --run new",
    "train --data pairs.tsv --test X --run new",
    "train --resume X",
    "train --data pairs.tsv --run new --set training.init_from=X",
    "doctor X",
    "doctor --data X",
    "translate X texts.txt",
    "translate model X",
    "translate model texts.txt --glossary X",
    "translate model texts.txt --ensemble X",
    "translate model texts.txt --lm X",
    "evaluate X --data pairs.tsv",
    "evaluate model --data X",
    "compare X model --data pairs.tsv",
    "compare model lm --data X",
    "score X pairs.tsv",
    "score model X",
    "view X text",
    "search-tree X text",
    "trace X text",
    "family X text",
    "classify X texts.txt",
    "sample X",
    "distil X --recipe recipe.toml --run new",
    "distil model X --recipe recipe.toml --run new",
    "distil model --recipe X --run new",
    "export X --to ctranslate2",
    "shortlist X --data pairs.tsv",
    "shortlist model --data X",
    "serve X",
]
"""Commands that read the file or folder X."""
BAD_INPUTS = ["folder", "missing", "missing/x", "broken", "loop", "n" * 300, "pairs.tsv/x", "latin1.tsv", ""]
OUTPUTS = [
    "doctor --data pairs.tsv -o X",
    "translate model texts.txt -o X",
    "evaluate model --data pairs.tsv -o X",
    "compare model lm --data pairs.tsv -o X",
    "compare model lm --data pairs.tsv --table X",
    "score model pairs.tsv -o X",
    "view model text -o X",
    "search-tree model text -o X",
    "trace model text -o X",
    "family model text -o X",
    "classify model texts.txt -o X",
    "sample lm -o X",
    "settings data -o X",
]
"""Commands that write the file X."""
BAD_OUTPUTS = {
    "folder": "a folder",
    "missing/x": "there is no folder missing",
    "pairs.tsv/x": "there is no folder pairs.tsv",
    "n" * 300: "too long",
    "": "empty",
}
FOLDERS = [
    "train --data pairs.tsv --run X",
    "distil model --recipe recipe.toml --run X",
    "demo --run X",
    "export model --to ctranslate2 -o X",
]
"""Commands that create the folder X."""
BAD_FOLDERS = ["texts.txt", "texts.txt/x", "n" * 300, ""]


@pytest.fixture(scope="module")
def paths(folder: Path) -> Path:
    (folder / "folder").mkdir()
    (folder / "broken").symlink_to("nowhere")
    (folder / "loop").symlink_to("loop")
    (folder / "latin1.tsv").write_bytes("schön\tgut\n".encode("latin-1"))
    (folder / "recipe.toml").write_text('[data]\ntrain = ["pairs.tsv"]\ndev = ["pairs.tsv"]\n', "utf-8")
    return folder


def assert_sentence(command: str, path: str, folder: Path, part: str = "") -> None:
    words = [word.replace("X", path) if word == "X" or word.endswith("=X") else word for word in command.split()]
    settings = QUICK if words[0] in ("train", "doctor", "distil", "demo") and "--resume" not in words else []
    result = run_command(*words, *settings, cwd=folder)
    assert result.code == 2, f"{words}: {result.stderr}"
    assert result.stdout == ""
    assert result.error.startswith("tongsa: ")
    assert part in result.error


@pytest.mark.parametrize("command", INPUTS)
def test_an_input_that_cannot_be_used_is_a_sentence(command: str, paths: Path) -> None:
    for path in BAD_INPUTS:
        if command.endswith("init_from=X") and not path:  # no initial model
            continue
        assert_sentence(command, path, paths)


@pytest.mark.parametrize("command", OUTPUTS)
def test_an_output_that_cannot_be_written_is_a_sentence(command: str, paths: Path) -> None:
    for path, part in BAD_OUTPUTS.items():
        assert_sentence(command, path, paths, part)


@pytest.mark.parametrize("command", FOLDERS)
def test_a_folder_that_cannot_be_created_is_a_sentence(command: str, paths: Path) -> None:
    for path in [*BAD_FOLDERS, *([".", ".."] if command.startswith("export") else [])]:
        assert_sentence(command, path, paths)


RESULTS = [
    "translate model texts.txt",
    "evaluate model --data pairs.tsv --metrics chrf",
    "score model pairs.tsv",
    "sample lm --count 2 --max-tokens 3",
    "settings training.lr",
    "view model text",
]


@pytest.mark.parametrize("command", RESULTS)
def test_output_files_replace_older_ones_and_have_the_printed_results(
    command: str, paths: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old.txt"
    old.write_text("old\n", "utf-8")
    printed = run_command(*command.split(), "-o", "-", cwd=paths)
    assert printed.code == 0, printed.stderr
    assert run_command(*command.split(), "-o", old, cwd=paths).code == 0
    written = old.read_text("utf-8")
    if command.startswith("evaluate"):  # prints the seconds
        assert written.splitlines()[0] == printed.stdout.splitlines()[0]
    else:
        assert written.rstrip("\n") == printed.stdout.rstrip("\n")
    assert [path.name for path in tmp_path.iterdir()] == ["old.txt"]


def test_a_pipe_is_written_or_refused_but_never_replaced(paths: Path, tmp_path: Path) -> None:
    """Devices are not tested: a mistake would replace /dev/null for everybody on the machine."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for command in ("settings training.lr", "sample lm --count 1 --max-tokens 3", "translate model texts.txt"):
        assert run_command(*command.split(), "-o", pipe, cwd=paths).code == 0
        assert os.read(reader, 10_000)
    with pytest.raises(InputError, match="cannot be replaced"):
        storage.write_text(pipe, "text")
    os.close(reader)
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_failed_command_keeps_the_older_output(paths: Path, tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("old\n", "utf-8")
    (tmp_path / "bad.tsv").write_bytes(b"a\tb\n\xff\n")
    result = run_command("score", "model", tmp_path / "bad.tsv", "-o", tmp_path / "old.txt", cwd=paths)
    assert result.code == 2
    assert (tmp_path / "old.txt").read_text("utf-8") == "old\n"
    assert {path.name for path in tmp_path.iterdir()} == {"old.txt", "bad.tsv"}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("--help > /dev/full", "standard output: the disk is full"),
        ("--help >&-", "standard output: closed"),
        ("sample lm --count 1 > /dev/full", "standard output: the disk is full"),
        ("score model <&-", "standard input: closed"),
        ("translate model <&-", "standard input: closed"),
        ("sample lm -o /dev/full", "/dev/full: the disk is full"),
    ],
)
def test_a_stream_that_is_closed_or_full_is_a_sentence(command: str, message: str, paths: Path) -> None:
    program = f"{sys.executable} -m tongsa {command}"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    result = subprocess.run(
        ["/bin/sh", "-c", program], cwd=paths, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith(f"tongsa: {message}")
    assert len(result.stderr.splitlines()) == 1


def test_the_remaining_time_is_visible_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    display = ProgressDisplay(1_000_000, 0)
    assert display.bar
    display.show(123_456, "step 123,456/1,000,000", "loss 10.123  ppl 22,026  123,456 tokens/s  and more than fits")
    with display.console.capture() as capture:
        display.console.print(display.bar.get_renderable(), no_wrap=True)
    (line,) = capture.get().splitlines()
    assert "step 123,456/1,000,000" in line
    assert "eta" in line and "--:--" in line
    assert "loss 10.123" in line
