"""`tongsa export`: the files that it writes and replaces, and its errors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from export.bundles import LABELS, file_hashes, random_bundle, save_run, transformer
from tongsa import storage
from tongsa.cli import main
from tongsa.models.rnn_lm import RNNLMConfig
from tongsa.models.structured_self_attention import StructuredSelfAttentionConfig

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


def run_command(*arguments: object, cwd: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tongsa.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, encoding="utf-8", check=False)


def test_export_is_a_folder_of_the_run_with_the_hash_of_its_weights(tmp_path: Path) -> None:
    save_run(tmp_path / "달리기", transformer())
    result = run_command("export", "달리기", "--to", "ctranslate2", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "달리기/ctranslate2\n"
    assert "tongsa.cli translate 달리기" in result.stderr
    metadata = json.loads((tmp_path / "달리기" / "ctranslate2" / "tongsa.json").read_text("utf-8"))
    assert metadata["weights_sha256"] == storage.file_sha256(tmp_path / "달리기" / "model" / "weights.safetensors")
    assert [file.name for file in (tmp_path / "달리기").iterdir() if file.name.startswith(".")] == []


def test_only_an_older_export_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = save_run(tmp_path / "run", transformer())
    (tmp_path / "mine").mkdir()
    assert main(["export", "run", "--to", "ctranslate2", "-o", "mine"]) == 0
    before = file_hashes(tmp_path / "mine")
    save_run(tmp_path / "run", transformer(seed=2))
    assert main(["export", "run", "--to", "ctranslate2", "--int8", "-o", "mine"]) == 0
    after = file_hashes(tmp_path / "mine")
    assert after.keys() == before.keys()
    assert after["model.bin"] != before["model.bin"]
    (tmp_path / "diary").mkdir()
    (tmp_path / "diary" / "monday.txt").write_text("rain", "utf-8")
    for target in ("diary", "run", "run/model", "diary/monday.txt"):
        capsys.readouterr()
        assert main(["export", "run", "--to", "ctranslate2", "-o", target]) == 2
        assert capsys.readouterr().err.startswith(
            f"tongsa: {target}: exists and is not an export. Choose another folder"
        )
    assert (tmp_path / "diary" / "monday.txt").read_text("utf-8") == "rain"
    assert (run / "model" / "model.toml").is_file()


def test_failed_export_leaves_the_older_export_unchanged(tmp_path: Path) -> None:
    run = save_run(tmp_path / "run", transformer())
    assert main(["export", str(run), "--to", "ctranslate2"]) == 0
    before = file_hashes(run / "ctranslate2")
    save_run(run, transformer(norm_kind="batch"))
    result = run_command("export", run, "--to", "ctranslate2", cwd=tmp_path)
    assert result.returncode == 2
    assert "model.norm_kind = 'batch'" in result.stderr
    assert "Traceback" not in result.stderr
    assert file_hashes(run / "ctranslate2") == before
    assert {entry.name for entry in run.iterdir()} == {"model", "ctranslate2"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere", "--to", "onnx"), "nowhere: no such folder"),
        (("run", "--to", "huggingface"), "'rnn_lm': Hugging Face supports only 'transformer'. Export with --to onnx"),
        (("reviews", "--to", "ctranslate2"), "'structured_self_attention': CTranslate2 supports only 'transformer'"),
        (("reviews", "--to", "huggingface"), "'structured_self_attention': Hugging Face supports only 'transformer'"),
        (("run", "--to", "huggingface", "--int8"), "--int8: not available with --to huggingface"),
        (("run", "--to", "tflite"), "unknown value"),
        (("run",), "--to"),
    ],
)
def test_invalid_input_is_an_error(
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    save_run(tmp_path / "run", random_bundle("rnn_lm", RNNLMConfig(width=8, layers=1)))
    save_run(
        tmp_path / "reviews",
        random_bundle("structured_self_attention", StructuredSelfAttentionConfig(width=8, hidden=8), target=LABELS),
    )
    try:
        code = main(["export", *arguments])
    except SystemExit as error:
        code = int(error.code or 0)
    assert code == 2
    assert message in capsys.readouterr().err
    assert [{entry.name for entry in (tmp_path / run).iterdir()} for run in ("run", "reviews")] == [{"model"}] * 2
