"""`tongsa export`, once in a real second process: what it writes, what it replaces, what it refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from export.bundles import LABELS, everything, saved, shaken, transformer
from tongsa import storage
from tongsa.cli import main
from tongsa.models.rnn_lm import RNNLMConfig
from tongsa.models.structured_self_attention import StructuredSelfAttentionConfig

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


def tongsa(*arguments: object, cwd: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tongsa.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, encoding="utf-8", check=False)


def test_the_folder_stands_beside_the_model_and_names_its_weights(tmp_path: Path) -> None:
    saved(tmp_path / "달리기", transformer())
    done = tongsa("export", "달리기", "--to", "ctranslate2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "달리기/ctranslate2\n"
    assert "next: tongsa translate 달리기 takes it by itself" in done.stderr
    made = json.loads((tmp_path / "달리기" / "ctranslate2" / "tongsa.json").read_text("utf-8"))
    assert made["weights"] == storage.file_sha256(tmp_path / "달리기" / "model" / "weights.safetensors")
    assert [file.name for file in (tmp_path / "달리기").iterdir() if file.name.startswith(".")] == []


def test_an_older_export_is_replaced_and_nothing_else_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = saved(tmp_path / "run", transformer())
    (tmp_path / "mine").mkdir()
    assert main(["export", "run", "--to", "ctranslate2", "-o", "mine"]) == 0
    before = everything(tmp_path / "mine")
    saved(tmp_path / "run", transformer(seed=2))
    assert main(["export", "run", "--to", "ctranslate2", "--int8", "-o", "mine"]) == 0
    after = everything(tmp_path / "mine")
    assert after.keys() == before.keys()
    assert after["model.bin"] != before["model.bin"]
    (tmp_path / "diary").mkdir()
    (tmp_path / "diary" / "monday.txt").write_text("rain", "utf-8")
    for there in ("diary", "run", "run/model", "diary/monday.txt"):
        capsys.readouterr()
        assert main(["export", "run", "--to", "ctranslate2", "-o", there]) == 2
        assert capsys.readouterr().err.startswith(f"tongsa: {there}: holds something else than an export; name another")
    assert (tmp_path / "diary" / "monday.txt").read_text("utf-8") == "rain"
    assert (run / "model" / "model.toml").is_file()


def test_a_refused_model_leaves_the_older_export_as_it_was(tmp_path: Path) -> None:
    run = saved(tmp_path / "run", transformer())
    assert main(["export", str(run), "--to", "ctranslate2"]) == 0
    before = everything(run / "ctranslate2")
    saved(run, transformer(norm_kind="batch"))
    done = tongsa("export", run, "--to", "ctranslate2", cwd=tmp_path)
    assert done.returncode == 2
    assert "model.norm_kind = 'batch'" in done.stderr
    assert "Traceback" not in done.stderr
    assert everything(run / "ctranslate2") == before
    assert {entry.name for entry in run.iterdir()} == {"model", "ctranslate2"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere", "--to", "onnx"), "nowhere: no such folder"),
        (("run", "--to", "huggingface"), "'language_model', only 'transformer'; try --to onnx"),
        (("reviews", "--to", "ctranslate2"), "'self_attentive', only 'transformer'; try --to onnx"),
        (("reviews", "--to", "huggingface"), "'self_attentive', only 'transformer'; try --to onnx"),
        (("run", "--to", "huggingface", "--int8"), "--int8 goes with --to ctranslate2"),
        (("run", "--to", "tflite"), "invalid choice"),
        (("run",), "--to"),
    ],
)
def test_bad_input_gets_a_sentence(
    arguments: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "run", shaken("rnn_lm", RNNLMConfig(width=8, layers=1)))
    saved(
        tmp_path / "reviews",
        shaken("structured_self_attention", StructuredSelfAttentionConfig(width=8, hidden=8), target=LABELS),
    )
    try:
        code = main(["export", *arguments])
    except SystemExit as left:
        code = int(left.code or 0)
    assert code == 2
    assert sentence in capsys.readouterr().err
    assert [{entry.name for entry in (tmp_path / run).iterdir()} for run in ("run", "reviews")] == [{"model"}] * 2
