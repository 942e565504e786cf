"""The stable surface of the command line: outputs, exit codes, files."""

import base64
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

import tongsa
from command_line import run_command, set_flags
from tiny import SMALL, reversing, write_pairs
from tongsa import config
from tongsa.cli import COMMANDS

PROGRAM = [sys.executable, "-m", "tongsa.cli"]


def start_command(
    *arguments: object, cwd: Path, before: Callable[[], None] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command in another process, where a test needs one."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        check=False,
        preexec_fn=before,
    )


def test_translate_prints_one_line_per_line_in_order(trained: Path, tmp_path: Path) -> None:
    lines = ["a b c", "", "f", "   ", "🙂 한글 é a", "c c b a e d", "a\u2028b"]
    result = run_command("translate", trained, stdin="\n".join(lines) + "\n")
    assert result.code == 0, result.stderr
    outputs = result.stdout.split("\n")
    assert len(outputs) == len(lines) + 1
    assert outputs[0] == "다 나 가"
    assert outputs[1] == outputs[3] == ""
    assert len(outputs[5].split()) == 6
    (tmp_path / "in.txt").write_text("\n".join(lines), "utf-8")  # without a newline at the end
    assert run_command("translate", trained, "in.txt", cwd=tmp_path).stdout == result.stdout
    texts = [translation.text for translation in tongsa.load(trained, task="seq2seq").translate(lines)]
    assert [text.strip().replace("\u2028", " ") for text in texts] == outputs[:-1]


def test_translate_json_and_nbest(trained: Path) -> None:
    arguments = ["translate", trained, "--beam", 5, "--nbest", 3]
    first, second = map(json.loads, run_command(*arguments, "--json", stdin="a b\n\n").stdout.splitlines())
    assert first["text"] == "나 가" == first["nbest"][0]["text"]
    scores = [hypothesis["score"] for hypothesis in first["nbest"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert second["text"] == ""
    plain = run_command(*arguments, stdin="a b\n").stdout.rstrip("\n").split("\t")
    assert plain == [hypothesis["text"] for hypothesis in first["nbest"]]


def test_a_pipe_that_closes_early_is_not_an_error(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a b c\n" * 3000, "utf-8")
    command = f"cat in.txt | {' '.join(PROGRAM)} translate {trained} | head -2; echo ${{PIPESTATUS[1]}}"
    result = subprocess.run(["/bin/bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == ["다 나 가", "다 나 가", "0"]
    assert result.stderr == ""


def test_a_pipe_that_is_closed_before_the_first_line_is_not_an_error(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [*PROGRAM, "serve", "--keys", "keys.tsv", "--new-key", "alice"]
    result = subprocess.run(
        command, cwd=tmp_path, env=environment, stdout=write_end, stderr=subprocess.PIPE, check=False
    )
    os.close(write_end)
    assert result.returncode == 0, result.stderr
    assert b"BrokenPipeError" not in result.stderr


def test_evaluate_prints_a_json_object_that_agrees_with_python(trained: Path, tmp_path: Path) -> None:
    pairs = [*reversing(60, seed=9), ("a b", "not 그것")]
    write_pairs(tmp_path / "test.tsv", pairs)
    result = run_command("evaluate", trained, "--data", "test.tsv", "--json", cwd=tmp_path)
    assert result.code == 0, result.stderr
    report = json.loads(result.stdout)
    outputs = [
        translation.text
        for translation in tongsa.load(trained, task="seq2seq").translate([source for source, _ in pairs])
    ]
    matches = sum(output == target for output, (_, target) in zip(outputs, pairs, strict=True))
    assert report["exact_match"] == pytest.approx(100 * matches / len(pairs), abs=1e-3)
    assert matches < len(pairs)
    assert report["sentences"] == len(pairs)
    assert "tok:char" in report["signatures"]["bleu"]
    assert set(report["signatures"]) == {"bleu", "chrf", "exact_match", "perplexity"}
    assert report["bleu"] > 50
    assert report["chrf"] > 50
    assert 1 < report["perplexity"] < 3


def test_evaluate_metrics_chooses_the_metrics(trained: Path, tmp_path: Path) -> None:
    write_pairs(tmp_path / "test.tsv", reversing(10, seed=9))
    arguments = ["evaluate", trained, "--data", "test.tsv", "--metrics", "chrf", "wer", "--json"]
    report = json.loads(run_command(*arguments, cwd=tmp_path).stdout)
    assert set(report["signatures"]) == {"chrf", "wer", "perplexity"}


def test_training_on_two_files_from_python_writes_a_complete_run(tmp_path: Path) -> None:
    pairs = reversing(300)
    (tmp_path / "x.en").write_text("\n".join(source for source, _ in pairs), "utf-8")
    (tmp_path / "x.ko").write_text("\n".join(target for _, target in pairs), "utf-8")
    folder = tmp_path / "run"
    translator = tongsa.train(
        run=folder, data=[tmp_path / "x.en", tmp_path / "x.ko"], settings=[*SMALL, "training.steps=20"]
    )
    assert isinstance(translator, tongsa.Translator) and isinstance(translator("a b").text, str)
    names = {path.name for path in folder.iterdir()}
    assert {"run.toml", "journal.jsonl", "ledger.jsonl", "checkpoints", "model"} <= names
    files = {path.name for path in (folder / "model").iterdir()}
    assert files == {"model.toml", "weights.safetensors", "tokenizer.model", "profile.safetensors", "card.md"}
    totals = json.loads((folder / "ledger.jsonl").read_text("utf-8").splitlines()[-1])["totals"]
    assert totals["read"] == 300 == totals["kept"] + sum(totals["dropped"].values())


def test_a_time_budget_sets_the_steps_in_run_toml(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.tsv", reversing(500))
    arguments = ["--data", "pairs.tsv", "--run", "r", "--budget", "4s", *set_flags(*SMALL)]
    result = run_command("train", *arguments, cwd=tmp_path)
    assert result.code == 0, result.stderr
    settings = config.read_toml(tmp_path / "r" / "run.toml")["training"]
    assert 1 <= settings["steps"] < 100_000
    assert 1 <= settings["lr"]["warmup"] <= max(1, settings["steps"] // 8)
    assert settings["validate_every"] <= settings["steps"]
    assert (tmp_path / "r" / "model" / "weights.safetensors").exists()


def test_view_writes_a_page_with_the_translations(trained: Path, tmp_path: Path) -> None:
    result = run_command("view", trained, "a b c", "f e", "-o", "page.html", cwd=tmp_path)
    assert (result.code, result.stdout) == (0, "page.html\n"), result.stderr
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "다 나 가" in page
    assert "마 바" in page


def test_view_names_heads_by_samples_and_compares_runs(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("a b c\tc b a\n\nd e\te d\n", "utf-8")
    (tmp_path / "other").mkdir()
    shutil.copy(trained / "journal.jsonl", tmp_path / "other")
    arguments = ("view", trained, "f e", "-o", "page.html", "--samples", "dev.tsv", "--compare", "other")
    result = run_command(*arguments, cwd=tmp_path)
    assert result.code == 0, result.stderr
    page = (tmp_path / "page.html").read_text("utf-8")
    assert re.search('"sentences":[23]', page), "names of one sentence and two samples"
    assert '"run":1' in page
    missing = run_command("view", trained, "f e", "--samples", "none.tsv", cwd=tmp_path)
    assert missing.code == 2
    assert "--samples none.tsv" in missing.stderr


def test_trace_writes_a_page_with_every_tensor(trained: Path, tmp_path: Path) -> None:
    result = run_command("trace", trained, "a b c", "-o", "page.html", cwd=tmp_path)
    assert (result.code, result.stdout) == (0, "page.html\n"), result.stderr
    page = unpacked_panel((tmp_path / "page.html").read_text("utf-8"), "trace")
    assert "다 나 가" in page
    assert "decoder.layers.0.cross_attention.attention" in page
    forced = run_command("trace", trained, "a b c", "--target", "가", "--layers", "1", "-o", "-", cwd=tmp_path)
    assert '"is_forced":true' in unpacked_panel(forced.stdout, "trace"), forced.stderr


def unpacked_panel(html: str, panel: str) -> str:
    """Return the JSON of a panel that is compressed as a whole."""
    data = json.loads(html.partition('id="data">')[2].partition("</script>")[0])
    return zlib.decompress(base64.b64decode(data["panels"][panel]["packed"])).decode()


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_checkpoint(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.tsv", reversing(200))
    diverging = ["training.lr.schedule=constant", "training.lr.peak=1e6", "training.lr.warmup=1"]
    diverging += ["training.clip_grad_norm=0", "training.steps=200", "training.checkpoint_every=1"]
    arguments = ["--data", "pairs.tsv", "--run", "r", *set_flags(*SMALL, *diverging)]
    result = run_command("train", *arguments, cwd=tmp_path)
    assert result.code == 2, result.stderr
    assert "training.lr.peak" in result.stderr
    assert list((tmp_path / "r" / "checkpoints").iterdir())


def test_a_full_disk_during_a_checkpoint_loses_nothing(tmp_path: Path) -> None:
    """A limit on the size of a file stands for a full disk: a write fails in the middle."""
    write_pairs(tmp_path / "pairs.tsv", reversing(200))
    settings = set_flags(*SMALL, "training.steps=20", "training.checkpoint_every=5")

    def limit_file_size() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))

    arguments = ["train", "--data", "pairs.tsv", "--run", "r", *settings]
    result = start_command(*arguments, cwd=tmp_path, before=limit_file_size)
    assert result.returncode == 2, result.stderr
    assert "tongsa: r/checkpoints/" in result.stderr
    assert "Traceback" not in result.stderr
    resumed = run_command("train", "--resume", "r", cwd=tmp_path)
    assert resumed.code == 0, resumed.stderr
    assert not list((tmp_path / "r").rglob(".*"))


def test_help_is_complete_and_imports_no_torch(tmp_path: Path) -> None:
    code = "import sys; from tongsa.cli import main\ntry: main(['--help'])\nfinally: assert 'torch' not in sys.modules"
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    for command in COMMANDS:
        assert f"\n    {command}" in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_a_help_page_with_examples(command: str) -> None:
    result = run_command(command, "--help")
    assert result.code == 0
    assert f"usage: tongsa {command}" in result.stdout
    assert command == "demo" or f"\n  tongsa {command} " in result.stdout or f"| tongsa {command} " in result.stdout


def test_no_command_shows_the_help() -> None:
    result = run_command()
    assert result.code == 0
    assert result.stdout == run_command("--help").stdout
