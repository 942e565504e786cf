"""The stable surface, in real second processes: outputs, exit codes, sentences."""

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tongsa
from tiny import SMALL, reversing, write_pairs
from tongsa import config

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


def run(
    *arguments: object, cwd: Path, text: str = "", before: Callable[[], None] | None = None
) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tongsa.cli", *map(str, arguments)]
    return subprocess.run(
        command,
        cwd=cwd,
        env=ENVIRONMENT,
        input=text,
        capture_output=True,
        encoding="utf-8",
        check=False,
        preexec_fn=before,
    )


def sets(*assignments: str) -> list[str]:
    return [word for assignment in assignments for word in ("--set", assignment)]


def test_translate_gives_one_line_for_each_line_in_order(trained: Path, tmp_path: Path) -> None:
    lines = ["a b c", "", "f", "   ", "🙂 한글 é a", "c c b a e d", "a\u2028b"]
    done = run("translate", trained, cwd=tmp_path, text="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stderr
    outputs = done.stdout.split("\n")
    assert len(outputs) == len(lines) + 1
    assert outputs[0] == "다 나 가"
    assert outputs[1] == outputs[3] == ""
    assert len(outputs[5].split()) == 6
    (tmp_path / "in.txt").write_text("\n".join(lines), "utf-8")  # no newline at the end of the file
    assert run("translate", trained, "in.txt", cwd=tmp_path).stdout == done.stdout
    assert [one.text for one in tongsa.load(trained).translate(lines)] == outputs[:-1]


def test_translate_json_and_nbest(trained: Path, tmp_path: Path) -> None:
    done = run("translate", trained, "--beam", 5, "--nbest", 3, "--json", cwd=tmp_path, text="a b\n\n")
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert first["text"] == "나 가" == first["nbest"][0]["text"]
    scores = [one["score"] for one in first["nbest"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert second["text"] == ""
    plain = (
        run("translate", trained, "--beam", 5, "--nbest", 3, cwd=tmp_path, text="a b\n").stdout.rstrip("\n").split("\t")
    )
    assert plain == [one["text"] for one in first["nbest"]]


def test_a_pipe_that_closes_early_is_no_error(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a b c\n" * 3000, "utf-8")
    command = f"cat in.txt | {sys.executable} -m tongsa.cli translate {trained} | head -2; echo ${{PIPESTATUS[1]}}"
    done = subprocess.run(
        ["/bin/bash", "-c", command], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["다 나 가", "다 나 가", "0"]
    assert done.stderr == ""


def test_a_reader_that_is_gone_before_the_first_line_is_no_error(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "tongsa.cli", "serve", "--keys", "keys.tsv", "--new-key", "alice"]
    done = subprocess.run(command, cwd=tmp_path, env=buffered, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    assert done.returncode == 0, done.stderr
    assert b"BrokenPipeError" not in done.stderr


def test_evaluate_prints_one_json_object_that_agrees_with_python(trained: Path, tmp_path: Path) -> None:
    pairs = [*reversing(60, seed=9), ("a b", "not 그것")]
    write_pairs(tmp_path / "test.tsv", pairs)
    done = run("evaluate", trained, "--pairs", "test.tsv", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    scores = json.loads(done.stdout)
    outputs = [one.text for one in tongsa.load(trained).translate([source for source, _ in pairs])]
    same = sum(output == target for output, (_, target) in zip(outputs, pairs, strict=True))
    assert scores["exact_match"] == pytest.approx(100 * same / len(pairs), abs=1e-3)
    assert same < len(pairs)
    assert scores["sentences"] == len(pairs)
    assert "tok:char" in scores["signatures"]["bleu"]
    assert set(scores["signatures"]) == {"bleu", "chrf", "exact_match", "perplexity"}
    assert scores["bleu"] > 50
    assert scores["chrf"] > 50
    assert 1 < scores["perplexity"] < 3


def test_train_from_two_files_in_python_and_its_folder(tmp_path: Path) -> None:
    pairs = reversing(300)
    (tmp_path / "x.en").write_text("\n".join(source for source, _ in pairs), "utf-8")
    (tmp_path / "x.ko").write_text("\n".join(target for _, target in pairs), "utf-8")
    folder = tmp_path / "run"
    translator = tongsa.train(
        run=folder, data=[tmp_path / "x.en", tmp_path / "x.ko"], settings=[*SMALL, "training.steps=20"]
    )
    assert isinstance(translator("a b").text, str)
    names = {path.name for path in folder.iterdir()}
    assert {"run.toml", "journal.jsonl", "ledger.jsonl", "checkpoints", "model"} <= names
    assert {path.name for path in (folder / "model").iterdir()} == {
        "model.toml",
        "weights.safetensors",
        "tokenizer.model",
        "card.md",
    }
    ledger = json.loads((folder / "ledger.jsonl").read_text("utf-8").splitlines()[-1])["totals"]
    assert ledger["read"] == 300 == ledger["kept"] + sum(ledger["dropped"].values())


def test_a_budget_fixes_the_steps_in_run_toml_and_keeps_to_the_time(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.tsv", reversing(500))
    done = run("train", "--pairs", "pairs.tsv", "--run", "r", "--budget", "12s", *sets(*SMALL), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    settings = config.read_toml(tmp_path / "r" / "run.toml")["training"]
    assert 20 < settings["steps"] < 100_000
    assert 1 <= settings["rate"]["warmup"] <= settings["steps"] // 8
    assert settings["validate_every"] <= settings["steps"]
    assert (tmp_path / "r" / "model" / "weights.safetensors").exists()


BAD = {
    "a recipe that is not there": (["train", "none.toml", "--run", "r"], "none.toml: no such file"),
    "no folder for the run": (["train", "--pairs", "good.tsv"], "--run is missing"),
    "nothing to learn from": (["train", "--run", "r"], "give a recipe"),
    "a file that is not there": (["train", "--pairs", "none.tsv", "--run", "r"], "none.tsv: no such file"),
    "an empty corpus": (["train", "--pairs", "empty.tsv", "--run", "r"], "empty.tsv: no usable pair"),
    "a corpus without tabs": (["train", "--pairs", "tabless.tsv", "--run", "r"], "3 no tab"),
    "sides of different length": (["train", "--pairs", "a.de", "a.en", "--run", "r"], "2 lines"),
    "an unknown key": (
        ["train", "--pairs", "good.tsv", "--run", "r", *sets("training.step=4")],
        "did you mean 'steps'?",
    ),
    "a wrong value": (
        ["train", "--pairs", "good.tsv", "--run", "r", *sets("training.steps=many")],
        "not a whole number",
    ),
    "a wrong budget": (["train", "--pairs", "good.tsv", "--run", "r", "--budget", "soon"], "--budget soon"),
    "too few pieces": (["train", "--pairs", "good.tsv", "--run", "r", *sets("tokenizer.vocab_size=20")], "size = 20"),
    "a device that is not there": (
        ["train", "--pairs", "good.tsv", "--run", "r", *sets("training.device=cuda:9")],
        "cuda:9",
    ),
    "dev without pairs": (["train", "--dev", "good.tsv", "--run", "r"], "--dev goes with --pairs"),
    "a run that is not there": (["train", "--resume", "nowhere"], "nowhere: no run here"),
    "resume with a recipe": (["train", "x.toml", "--resume", "nowhere"], "leave out recipe"),
    "a model that is not there": (["translate", "nowhere"], "nowhere: no such folder"),
    "a folder without a model": (["translate", "."], "no model here"),
    "a folder as a file": (["train", "--pairs", ".", "--run", "r"], ".: is a folder"),
    "scores without data": (["evaluate", "MODEL", "--pairs", "none.tsv"], "none.tsv: no such file"),
    "text that is not UTF-8": (["translate", "MODEL", "latin1.txt"], "latin1.txt:2: not UTF-8"),
    "a beam of nothing": (["translate", "MODEL", "good.tsv", "--beam", "0"], "beam 0"),
    "nothing to look at": (["view", "MODEL", "  "], "nothing to look at"),
    "more than the beam holds": (["translate", "MODEL", "good.tsv", "--beam", "2", "--nbest", "3"], "nbest 3"),
    "pairs in no gzip": (["train", "--pairs", "bad.tsv.gz", "--run", "r"], "bad.tsv.gz:1: damaged gzip"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_gets_a_sentence_and_exit_code_2(
    what: str, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tongsa.cli import main

    arguments, sentence = BAD[what]
    write_pairs(tmp_path / "good.tsv", reversing(50))
    (tmp_path / "empty.tsv").write_text("", "utf-8")
    (tmp_path / "tabless.tsv").write_text("a\nb\nc\n", "utf-8")
    (tmp_path / "a.de").write_text("eins\nzwei\n", "utf-8")
    (tmp_path / "a.en").write_text("one\n", "utf-8")
    (tmp_path / "latin1.txt").write_bytes("gut\nschön\n".encode("latin-1"))
    (tmp_path / "bad.tsv.gz").write_bytes(b"no gzip at all")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        code = main([str(trained) if word == "MODEL" else word for word in arguments])
    finally:
        os.chdir(before)
    said = capsys.readouterr().err
    assert code == 2
    assert sentence in said
    assert said.splitlines()[-1].startswith("tongsa: ")


def test_view_writes_a_page_of_what_was_looked_at(trained: Path, tmp_path: Path) -> None:
    done = run("view", trained, "a b c", "f e", "-o", "page.html", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "page.html\n"), done.stderr
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "다 나 가" in page
    assert "마 바" in page


def test_a_second_run_in_the_same_folder_is_refused(trained: Path, tmp_path: Path) -> None:
    write_pairs(tmp_path / "good.tsv", reversing(50))
    weights = (trained / "model" / "weights.safetensors").read_bytes()
    done = run("train", "--pairs", "good.tsv", "--run", trained, cwd=tmp_path)
    assert done.returncode == 2
    assert "holds a run already" in done.stderr
    assert (trained / "model" / "weights.safetensors").read_bytes() == weights


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_good_snapshot(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.tsv", reversing(200))
    wild = ["training.lr.schedule=constant", "training.lr.peak=1e30", "training.lr.warmup=1", "training.clip_grad_norm=0"]
    steps = ["training.steps=200", "training.checkpoint_every=1"]
    done = run("train", "--pairs", "pairs.tsv", "--run", "r", *sets(*SMALL, *wild, *steps), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "The last good snapshot" in done.stderr
    assert "training.lr.peak" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "r" / "checkpoints").iterdir())


def test_a_full_disk_during_a_snapshot_loses_nothing(tmp_path: Path) -> None:
    """The limit on the size of a file stands for the end of the disk: writing fails in the middle, for real."""
    write_pairs(tmp_path / "pairs.tsv", reversing(200))
    common = ["--pairs", "pairs.tsv", "--run", "r", *sets(*SMALL, "training.steps=40", "training.checkpoint_every=10")]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))

    done = run("train", *common, cwd=tmp_path, before=limit)
    assert done.returncode == 2, done.stderr
    assert "What was saved before is intact" in done.stderr
    assert "Traceback" not in done.stderr
    again = run("train", "--resume", "r", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert not list((tmp_path / "r").rglob(".*"))


def harmed(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained / "model", tmp_path / "model")
    return tmp_path / "model"


def test_a_damaged_bundle_is_recognised(trained: Path, tmp_path: Path) -> None:
    model = harmed(trained, tmp_path)
    content = bytearray((model / "weights.safetensors").read_bytes())
    content[-5] ^= 4
    (model / "weights.safetensors").write_bytes(content)
    done = run("translate", model, cwd=tmp_path, text="a\n")
    assert done.returncode == 2
    assert "weights.safetensors: damaged (its checksum is wrong)" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("format = 1", "format = 99", "written by a newer tongsa"),
        ("format = 1\n", "", "no format in it"),
        ('kind = "transformer"', 'kind = "perceptron"', "unknown kind 'perceptron'"),
        ("width = 32", "width = 64", "damaged"),
        ("width = 32", "wide = 32", "unknown key"),
        ("[decoding]", "[decode]", "damaged"),
        ("format = 1", "format = ", "not valid TOML"),
        ("jamo = false", "", "damaged"),
    ],
)
def test_a_changed_description_is_recognised(trained: Path, tmp_path: Path, old: str, new: str, sentence: str) -> None:
    from tongsa.errors import InputError

    model = harmed(trained, tmp_path)
    text = (model / "model.toml").read_text("utf-8")
    assert old in text
    (model / "model.toml").write_text(text.replace(old, new), "utf-8")
    with pytest.raises(InputError, match=sentence):
        tongsa.load(model)


def test_help_is_a_page_to_read(tmp_path: Path) -> None:
    done = run("--help", cwd=tmp_path)
    assert done.returncode == 0
    for verb in ("demo", "train", "translate", "evaluate", "view"):
        assert f"tongsa {verb}" in done.stdout
    assert run("train", "--help", cwd=tmp_path).stdout.count("tongsa train") >= 4
    assert run(cwd=tmp_path).returncode == 2
